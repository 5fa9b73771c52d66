import Crypto
package import RepriseCore
import RepriseWire

/// What the entries of a span of the journal's time came to at a gateway: see ``ResultChecks``.
package struct ResultCheck: Hashable, Sendable {
    package var first: Int64
    package var last: Int64
    /// 32 bytes.
    package var digest: [UInt8]
    /// Of the gateway, for people.
    package var name: String
    /// The version of its SQLite; nil if it does not say.
    package var sqlite: String?

    /// In front of the version: former versions print it as a part of the name.
    private static let separator = " with SQLite "

    package init(
        first: Int64, last: Int64, digest: [UInt8], name: String, sqlite: String? = nil
    ) {
        (self.first, self.last, self.digest, self.name) = (first, last, digest, name)
        self.sqlite = sqlite
    }

    /// The same, with names of a length that people are shown.
    package var shortened: Self {
        var check = self
        check.name = name.limited(to: ClusterLimits.nameBytes)
        check.sqlite = sqlite?.limited(to: ClusterLimits.nameBytes)
        return check
    }

    func write(to writer: inout BinaryWriter) {
        writer.write(first)
        writer.write(last)
        writer.writeRaw(digest)
        writer.write(name + (sqlite.map { Self.separator + $0 } ?? ""))
    }

    init(from reader: inout BinaryReader) throws {
        first = try reader.integer()
        last = try reader.integer()
        digest = try reader.raw(32)
        name = try reader.text()
        guard let mark = name.ranges(of: Self.separator).last else { return }
        sqlite = String(name[mark.upperBound...])
        name = String(name[..<mark.lowerBound])
    }
}

/// A gateway that cannot apply an entry.
package struct StuckReport: Hashable, Sendable {
    package var sequence: Int64
    package var reason: String
    /// Of the gateway, for people.
    package var name: String

    package init(sequence: Int64, reason: String, name: String) {
        (self.sequence, self.reason, self.name) = (sequence, reason, name)
    }

    /// The same, with a name and a reason of a length that people are shown.
    package var shortened: Self {
        Self(
            sequence: sequence, reason: reason.limited(to: ClusterLimits.reasonBytes),
            name: name.limited(to: ClusterLimits.nameBytes))
    }

    func write(to writer: inout BinaryWriter) {
        writer.write(sequence)
        writer.write(reason)
        writer.write(name)
    }

    init(from reader: inout BinaryReader) throws {
        sequence = try reader.integer()
        reason = try reader.text()
        name = try reader.text()
    }

    /// An entry outside of all sessions: it never counts, and tells people.
    package func entry(_ clock: WallTime, _ base: JournalPosition) -> [UInt8] {
        ClusterEntry(
            session: .max, n: 1, clock: clock, base: base, commands: [.stuck(self)]
        ).bytes
    }
}

extension AppliedEntry {
    /// What it came to, as far as it is the same at every gateway.
    func write(to writer: inout BinaryWriter) {
        writer.write(sequence)
        writer.write(time)
        switch disposition {
        case .accepted: writer.write(UInt8(0))
        case .opened: writer.write(UInt8(1))
        case .ignored(let reason): writer.write(reason.tag)
        }
        for outcome in outcomes { outcome.write(to: &writer) }
    }
}

extension AdmissionMachine.Reason {
    fileprivate var tag: UInt8 {
        switch self {
        case .duplicate: 2
        case .early: 3
        case .unknownSession: 4
        case .stale: 5
        case .otherPast: 6
        case .noEntry: 7
        }
    }
}

extension CommandOutcome {
    fileprivate func write(to writer: inout BinaryWriter) {
        switch self {
        case .nothing: writer.write(UInt8(0))
        case .published(let results):
            writer.write(UInt8(1))
            for result in results { result.write(to: &writer) }
        case .arrived(let arrival, let forgotten):
            writer.write(UInt8(2))
            writer.write(arrival.generation.sequence)
            writer.write(arrival.generation.place)
            writer.write(forgotten?.device.device.text) { $0.write($1) }
        case .leased(let grant):
            writer.write(UInt8(3))
            writer.write(grant) { $0.write($1) }
        case .marked(let grant):
            writer.write(UInt8(4))
            writer.write(grant)
        case .hashed: writer.write(UInt8(5))
        case .checked: writer.write(UInt8(6))
        case .trimmed(let channel, let more):
            writer.write(UInt8(7))
            writer.write(channel.text)
            writer.write(more)
        case .forgot(let more):
            writer.write(UInt8(10))
            writer.write(more)
        case .changed(_, let effects):
            writer.write(UInt8(8))
            effects.write(to: &writer)
        case .refused(let error):
            writer.write(UInt8(9))
            writer.write(error.code.description)
        }
    }
}

extension AccountEffects {
    /// Without the dismissals, which the gateway that pushes queues.
    fileprivate func write(to writer: inout BinaryWriter) {
        writer.write(access) {
            $0.write($1.channel.text)
            $0.write($1.user?.text) { $0.write($1) }
        }
        writer.write(unread) {
            $0.write($1.user.text)
            $0.write($1.channel.text)
        }
        writer.write(moved) {
            $0.write($1.channel.text)
            $0.write($1.position.user.text)
            $0.write($1.position.read)
            $0.write($1.position.delivered)
        }
    }
}

extension AppendResult {
    fileprivate func write(to writer: inout BinaryWriter) {
        switch self {
        case .stored, .buried:
            forEachEvent { event in
                writer.write(UInt8(0))
                writer.write(event.seq)
                writer.write(event.prev)
                writer.write(event.time)
                writer.write(event.isDeleted)
            }
        case .duplicate(let seq):
            writer.write(UInt8(1))
            writer.write(seq)
        case .refused(let code, _):
            writer.write(UInt8(2))
            writer.write(code.name)
        }
    }
}
