package import RepriseCore

/// What one gateway at a time does for its cluster.
package enum LeaseRole: UInt8, CaseIterable, Sendable {
    case housekeeping = 1
    case apns = 2
    case webPush = 3
    case base = 4
}

/// The holder of a lease, as far as the journal is applied.
package struct Lease: Hashable, Sendable {
    /// The holder's random number.
    package var holder: Int64
    /// The sequence of the entry that granted it: what the holder asks for carries it, and is
    /// refused once another has the lease.
    package var grant: Int64
    /// By the journal's time; then another may have it.
    package var expires: WallTime

    package init(holder: Int64, grant: Int64, expires: WallTime) {
        self.holder = holder
        self.grant = grant
        self.expires = expires
    }
}

/// What a gateway asks of a lease.
package struct LeaseRequest: Hashable, Sendable {
    package enum Operation: Hashable, Sendable {
        case claim
        case renew(grant: Int64)
        case release(grant: Int64)
    }

    package var role: LeaseRole
    package var holder: Int64
    package var operation: Operation

    package init(_ role: LeaseRole, by holder: Int64, _ operation: Operation) {
        (self.role, self.holder, self.operation) = (role, holder, operation)
    }

    func write(to writer: inout BinaryWriter) {
        writer.write(role.rawValue)
        writer.write(holder)
        switch operation {
        case .claim: writer.write(UInt8(0))
        case .renew(let grant):
            writer.write(UInt8(1))
            writer.write(grant)
        case .release(let grant):
            writer.write(UInt8(2))
            writer.write(grant)
        }
    }

    init(from reader: inout BinaryReader) throws {
        let number = try reader.byte()
        guard let role = LeaseRole(rawValue: number) else {
            throw ClusterEntry.unknown("a lease \(number)")
        }
        self.role = role
        holder = try reader.integer()
        switch try reader.byte() {
        case 0: operation = .claim
        case 1: operation = .renew(grant: try reader.integer())
        case 2: operation = .release(grant: try reader.integer())
        case let other: throw ClusterEntry.unknown("a request for a lease \(other)")
        }
    }
}

/// Decides when a gateway asks for a lease, and how long it may act by it.
///
/// The journal says who has it. Clocks differ, so each gateway measures by its own uptime: a lease
/// that it has not seen change for ``ClusterLimits/leaseTime`` is free; a holder acts for
/// ``ClusterLimits/leaseActs`` since it *sent* its last granted request, which is shorter.
package struct LeaseMachine: Sendable {
    package enum Action: Hashable, Sendable {
        case claim
        case renew(grant: Int64)
    }

    private var seen: Lease?
    private var seenSince: Duration
    private let freeAfter: Duration
    private var grant: Int64?
    private var actsUntil: Duration
    private var askedAt: Duration

    /// - Parameters:
    ///   - now: the uptime.
    ///   - jitter: from 0 up to 1, so that not all claim a free lease at the same moment.
    package init(now: Duration, jitter: Double) {
        seenSince = now
        freeAfter = ClusterLimits.leaseTime + ClusterLimits.leaseJitter * jitter
        (actsUntil, askedAt) = (now, now)
    }

    /// The grant by which this gateway may act now.
    package func grant(now: Duration) -> Int64? { now < actsUntil ? grant : nil }

    /// Called every ``ClusterLimits/leaseLook``, unless a request is under way.
    ///
    /// - Parameters:
    ///   - lease: the journal's, as far as it is applied here; nil if nobody has it.
    ///   - now: the uptime.
    /// - Returns: what to ask for.
    package mutating func next(_ lease: Lease?, now: Duration) -> Action? {
        if lease != seen { (seen, seenSince) = (lease, now) }
        if let grant = grant(now: now) {
            return now - askedAt >= ClusterLimits.leaseRenewal ? .renew(grant: grant) : nil
        }
        grant = nil
        return lease == nil || now - seenSince >= freeAfter ? .claim : nil
    }

    /// A request was granted or refused; one that is not answered changes nothing.
    ///
    /// - Parameters:
    ///   - grant: the granted lease's; nil if it was refused.
    ///   - asked: when the request was sent.
    package mutating func answered(_ grant: Int64?, asked: Duration) {
        self.grant = grant
        askedAt = asked
        actsUntil = asked + ClusterLimits.leaseActs
    }

    /// It is given back.
    package mutating func released() { grant = nil }
}
