package import RepriseCore
import Synchronization

/// A lease that this gateway has.
package final class HeldLease: Sendable {
    private let machine: Mutex<LeaseMachine>
    private let clock: any Timekeeper
    package let grant: Int64

    fileprivate init(_ machine: LeaseMachine, _ grant: Int64, _ clock: any Timekeeper) {
        self.machine = Mutex(machine)
        self.grant = grant
        self.clock = clock
    }

    /// Whether this gateway may act by it: asked before each act.
    package var isCurrent: Bool {
        machine.withLock { $0.grant(now: clock.uptime()) } == grant
    }

    fileprivate func change<Value: Sendable>(
        _ body: (inout sending LeaseMachine) -> sending Value
    ) -> Value {
        machine.withLock { body(&$0) }
    }
}

/// The leases that a gateway wants, and has.
///
/// ```swift
/// await leases.hold(.apns) { lease in
///     while lease.isCurrent, let push = await next() { await send(push) }
/// }
/// ```
package final class ClusterLeases: Sendable {
    private let holder = Int64.random(in: .min ... .max)
    private let submit: CommandSubmission
    private let seen: @Sendable (LeaseRole) -> Lease?
    private let clock: any Timekeeper
    private let held = Mutex<[LeaseRole: HeldLease]>([:])

    /// - Parameters:
    ///   - submit: see ``ClusterReplica/submit(_:)``.
    ///   - seen: who has a lease, as far as the journal is applied here.
    ///   - clock: counts the time in which the machine sleeps, too.
    package init(
        submit: @escaping CommandSubmission, seen: @escaping @Sendable (LeaseRole) -> Lease?,
        clock: any Timekeeper
    ) {
        self.submit = submit
        self.seen = seen
        self.clock = clock
    }

    /// The grant by which this gateway may act in a role now.
    package func grant(of role: LeaseRole) -> Int64? {
        guard let lease = held.withLock({ $0[role] }), lease.isCurrent else { return nil }
        return lease.grant
    }

    /// How many this gateway has.
    package var count: Int { held.withLock { $0.values.count { $0.isCurrent } } }

    /// Runs `body` whenever this gateway gets the lease, until the task is cancelled or `body`
    /// returns by itself; then gives it back.
    ///
    /// `body` is cancelled once the lease is lost, and called again with the next.
    package func hold(
        _ role: LeaseRole, _ body: @escaping @Sendable (HeldLease) async -> Void
    ) async {
        var machine = LeaseMachine(now: clock.uptime(), jitter: .random(in: 0..<1))
        while !Task.isCancelled {
            if machine.next(seen(role), now: clock.uptime()) == .claim {
                let asked = clock.uptime()
                if let answer = await ask(role, .claim) { machine.answered(answer, asked: asked) }
            }
            if let grant = machine.grant(now: clock.uptime()) {
                let lease = HeldLease(machine, grant, clock)
                held.withLock { $0[role] = lease }
                let isDone = await act(lease, role, body)
                held.withLock { $0[role] = nil }
                machine = lease.change { $0 }
                machine.released()
                if isDone || Task.isCancelled {
                    // Best effort: otherwise it ends by itself.
                    _ = await Task { await ask(role, .release(grant: grant)) }.value
                    return
                }
            }
            try? await clock.sleep(for: ClusterLimits.leaseLook)
        }
    }

    /// - Returns: whether `body` has returned by itself.
    private func act(
        _ lease: HeldLease, _ role: LeaseRole,
        _ body: @escaping @Sendable (HeldLease) async -> Void
    ) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await body(lease)
                return !Task.isCancelled
            }
            group.addTask {
                await self.keep(lease, role)
                return false
            }
            let isDone = await group.next() ?? false
            group.cancelAll()
            return isDone
        }
    }

    /// Renews the lease until it is lost.
    private func keep(_ lease: HeldLease, _ role: LeaseRole) async {
        while lease.isCurrent, !Task.isCancelled {
            let now = clock.uptime()
            if case .renew(let grant)? = lease.change({ $0.next(seen(role), now: now) }),
                let answer = await ask(role, .renew(grant: grant))
            {
                lease.change { $0.answered(answer, asked: now) }
            }
            try? await clock.sleep(for: ClusterLimits.leaseLook)
        }
    }

    /// - Returns: the grant, or nil in it if it was refused; nil if nobody knows.
    private func ask(_ role: LeaseRole, _ operation: LeaseRequest.Operation) async -> Int64?? {
        let outcomes = try? await submit([.lease(LeaseRequest(role, by: holder, operation))])
        guard case .leased(let grant)? = outcomes?.first else { return .none }
        return .some(grant)
    }
}
