import GRDB
public import RepriseCore
import RepriseJournal
import Synchronization

/// Time in the background.
extension Chains: AppLife {
    /// The app is in the background: chains run until shortly before the end of the granted time,
    /// or until all are idle.
    ///
    /// Then no task starts any more, running tasks are cancelled and keep their checkpoints, and
    /// more time is requested from the system if a chain needs it.
    ///
    /// - Parameter granted: how long the app may run.
    public func background(granted: Duration) async {
        await enter(.background(granted: granted))()
    }

    /// The app is in the foreground: chains run without a time limit.
    public func foreground() async { await enter(.foreground)() }

    /// Does nothing: memory does not grow with a backlog.
    public func memoryPressure() async {}

    /// Runs chains within a background slot.
    ///
    /// Returns when all chains are idle or the time is over; the slot is complete then.
    ///
    /// - Parameter slot: the system's slot.
    public func slot(_ slot: any BackgroundSlot) async {
        let life = slots.begin(isSlot: true)
        defer { slots.endSlot() }
        engine.budget.set(until: nil)
        await setGate()
        let isDone = await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await slot.expired()
                return false
            }
            group.addTask { [self] in
                await spend(until: nil, life)
                return true
            }
            let first = await group.next() ?? false
            group.cancelAll()
            return first
        }
        await pause(life)
        await slot.complete(success: isDone)
    }

    /// Waits until the time is over or all chains are idle.
    private func spend(until end: Duration?, _ life: Int) async {
        let clock = configuration.timekeeper
        let budget = engine.budget
        let timer = end.map { end in
            Task {
                try? await clock.sleep(until: end)
                budget.ring()
            }
        }
        while slots.isNow(life), !Task.isCancelled {
            let rings = budget.rings
            if let end, clock.uptime() >= end { break }
            if await isIdle() { break }
            await budget.wait(beyond: rings)
        }
        timer?.cancel()
    }

    /// Whether nothing runs, and nothing could.
    private func isIdle() async -> Bool {
        // A result that nobody was shown before the app is frozen would be shown at its next start.
        guard await engine.isIdle, engine.notifications.isQuiet else { return false }
        let hasWork = try? await journal.read { db in
            try Bool.fetchOne(
                db,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM entry WHERE kind IN (?, ?) AND state = 0)
                    OR EXISTS (SELECT 1 FROM entry WHERE state = 3 AND kind IN (?, ?))
                    """, arguments: [Self.kind, Self.commandKind, Self.kind, Self.commandKind])
        }
        return hasWork == false
    }

    /// Stops, if the time that is over is that which is being spent.
    private func pause(_ life: Int) async {
        guard slots.stop(life) else { return }
        await setGate()
        guard slots.isNow(life) else { return }
        await engine.interrupt(grace: configuration.stopGrace)
        await requestSlot()
    }

    /// Sets the gate for tasks; of two concurrent calls the last one checks again.
    func setGate() async {
        while true {
            let isOpen = slots.isOpen
            if isOpen {
                await journal.setReady(Self.budgetReadiness)
            } else {
                await journal.setNotReady(Self.budgetReadiness)
            }
            if slots.isOpen == isOpen { return }
        }
    }

    /// Requests a slot from the system, if a chain could use it.
    private func requestSlot() async {
        guard let scheduler = slots.scheduler else { return }
        guard let need = try? await journal.read({ try SlotNeed.read($0) }) else { return }
        let request = BackgroundRequest(
            id: configuration.slotID,
            kind: .processing(needsNetwork: need.network, needsPower: need.power),
            earliest: need.earliest)
        // A refused request is no failure: the chains continue with the app.
        try? await scheduler.submit(request)
    }
}

extension Chains: AppLifeFollower {
    package func enter(_ phase: AppPhase) -> @Sendable () async -> Void {
        switch phase {
        case .foreground:
            slots.begin()
            engine.budget.set(until: nil)
            return { [self] in await setGate() }
        case .background(let granted):
            // A launch into a slot has the slot's time limit.
            guard !slots.isInSlot else { return {} }
            let end = configuration.timekeeper.uptime() + granted
            engine.budget.set(until: end)
            let life = slots.begin(opens: false)
            return { [self] in
                await spend(until: end - min(configuration.margin, granted / 2), life)
                await pause(life)
            }
        }
    }
}

/// The conditions that waiting chains need of a slot.
struct SlotNeed: Sendable {
    var network: Bool
    var power: Bool
    var earliest: WallTime?

    /// - Returns: nil if no chain waits for time.
    static func read(_ db: Database) throws -> SlotNeed? {
        // Ready or interrupted: it can use time at once. Held by conditions: when those hold.
        // Delayed: then.
        let isReady =
            try Bool.fetchOne(
                db,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM entry WHERE state IN (0, 3) AND kind IN (?, ?))
                    """, arguments: [Chains.kind, Chains.commandKind]) ?? false
        let needs = try Int.fetchAll(
            db,
            sql: """
                SELECT DISTINCT c.needs FROM chain AS c WHERE c.state IN (1, 4, 5) AND EXISTS
                (SELECT 1 FROM chainTask AS t WHERE t.chain = c.seq
                AND (t.state = 1 OR t.undo = 1 OR t.hold = 'conditions')) LIMIT 8
                """)
        let due = try Int64.fetchOne(
            db,
            sql: "SELECT MIN(due) FROM entry WHERE state = 2 AND kind IN (?, ?)",
            arguments: [Chains.kind, Chains.commandKind])
        guard isReady || !needs.isEmpty || due != nil else { return nil }
        // Request what all have in common: a chain that needs less must not wait for more.
        let common = needs.isEmpty ? 0 : needs.reduce(7, &)
        return SlotNeed(
            network: common & 3 != 0, power: common & 4 != 0,
            earliest: isReady || !needs.isEmpty ? nil : due.map { WallTime(milliseconds: $0) })
    }
}

/// The scheduler, the current grant of time, and whether tasks may begin.
final class SlotRequests: Sendable {
    private struct State {
        var scheduler: (any BackgroundScheduler)?
        var life = 0
        var slots = 0
        var isOpen = true
    }

    private let state = Mutex(State())

    var scheduler: (any BackgroundScheduler)? { state.withLock { $0.scheduler } }

    func set(_ scheduler: (any BackgroundScheduler)?) {
        state.withLock { $0.scheduler = scheduler }
    }

    /// - Parameters:
    ///   - isSlot: whether it is a slot that was requested.
    ///   - opens: whether tasks may begin that could not before.
    /// - Returns: the number of this grant.
    @discardableResult
    func begin(isSlot: Bool = false, opens: Bool = true) -> Int {
        state.withLock { state in
            state.life += 1
            if isSlot { state.slots += 1 }
            if opens { state.isOpen = true }
            return state.life
        }
    }

    /// Lets no task begin any more, if this grant is the current one.
    func stop(_ life: Int) -> Bool {
        state.withLock { state in
            guard state.life == life else { return false }
            state.isOpen = false
            return true
        }
    }

    /// Whether tasks may begin.
    var isOpen: Bool { state.withLock { $0.isOpen } }

    func endSlot() { state.withLock { $0.slots -= 1 } }

    var isInSlot: Bool { state.withLock { $0.slots > 0 } }

    func isNow(_ life: Int) -> Bool { state.withLock { $0.life == life } }
}
