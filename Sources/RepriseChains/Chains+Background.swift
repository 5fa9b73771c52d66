import Foundation
package import GRDB
public import RepriseCore
import RepriseJournal
import Synchronization

/// Time in the background.
extension Chains: AppLife {
    /// The app is in the background: chains run until shortly before the end of the granted time,
    /// or until all are idle.
    ///
    /// A task that is tried again within that time is waited for. Then no task starts any more,
    /// running tasks are cancelled and keep their checkpoints, and more time is requested from the
    /// system if a chain needs it.
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
        await engine.schedules.reviewUntilWritten()
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
        let changes = engine.changes
        let timer = end.map { end in
            Task {
                try? await clock.sleep(until: end)
                changes.notifyAll()
            }
        }
        await changes.wait(isCancellable: true) {
            if let end, clock.uptime() >= end { return true }
            guard slots.isNow(life) else { return true }
            return await isIdle(until: end)
        }
        timer?.cancel()
    }

    /// Whether nothing runs, and nothing could before `end`.
    private func isIdle(until end: Duration?) async -> Bool {
        // A result that nobody was shown before the app is frozen would be shown at its next start.
        guard await engine.isIdle, engine.notifications.isQuiet else { return false }
        let now = journal.now
        let retries = end.map { end in
            let rest = min(end - configuration.timekeeper.uptime(), .seconds(3_600))
            return now.advanced(by: rest)
        }
        let hasWork = try? await journal.read {
            try SlotNeed.hasWork(at: now, retriedBefore: retries, $0)
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
        // A refused request is no failure: the chains continue with the app.
        try? await scheduler.submit(need.request(configuration.slotID))
    }
}

extension Chains: AppLifeFollower {
    package func enter(_ phase: AppPhase) -> @Sendable () async -> Void {
        switch phase {
        case .foreground:
            slots.begin()
            engine.budget.set(until: nil)
            return { [self] in
                await setGate()
                await engine.schedules.reviewUntilWritten()
            }
        case .background(let granted):
            // A launch into a slot has the slot's time limit.
            guard !slots.isInSlot else { return {} }
            let end = configuration.timekeeper.uptime() + granted
            engine.budget.set(until: end)
            let life = slots.begin(opens: granted > .zero)
            return { [self] in
                await setGate()
                await spend(until: end - min(configuration.margin, granted / 2), life)
                await pause(life)
            }
        }
    }
}

/// The conditions that waiting chains need of a slot.
package struct SlotNeed: Sendable {
    var network: Bool
    var power: Bool
    var earliest: WallTime?

    /// The request for it, under this name.
    package func request(_ id: String) -> BackgroundRequest {
        BackgroundRequest(
            id: id, kind: .processing(needsNetwork: network, needsPower: power), earliest: earliest)
    }

    /// Whether a task or a command is ready, due or in flight, or a task is tried again before
    /// `moment`.
    package static func hasWork(
        at now: WallTime, retriedBefore moment: WallTime?, _ db: Database
    ) throws -> Bool {
        // The journal wakes what is due at once, and perhaps has not yet.
        try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM entry WHERE kind IN (?, ?) AND state = 0)
                OR EXISTS (SELECT 1 FROM entry WHERE state = 3 AND kind IN (?, ?))
                OR EXISTS (SELECT 1 FROM entry WHERE state = 2 AND kind = ? AND due < ?)
                OR EXISTS (SELECT 1 FROM entry WHERE state = 2 AND kind IN (?, ?) AND due <= ?)
                """,
            arguments: [
                Chains.kind, Chains.commandKind, Chains.kind, Chains.commandKind, Chains.kind,
                moment?.milliseconds ?? 0, Chains.kind, Chains.commandKind, now.milliseconds,
            ]) ?? false
    }

    /// - Returns: nil if no chain waits for time.
    package static func read(_ db: Database) throws -> SlotNeed? {
        // Ready or interrupted: it can use time at once. Held by conditions: when those hold.
        // Delayed, as a task that has failed: then.
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
                (SELECT 1 FROM chainTask AS t LEFT JOIN entry AS e ON e.id = t.entry
                WHERE t.chain = c.seq AND (t.hold = 'conditions'
                OR (t.state = 1 OR t.undo = 1) AND e.state IS NOT 2)) LIMIT 8
                """)
        let first = try Row.fetchOne(
            db,
            sql: """
                SELECT e.due, e.kind, e.payload, s.needs
                FROM entry AS e LEFT JOIN chainSchedule AS s ON s.entry = e.id
                WHERE e.state = 2 AND e.kind IN (?, ?) ORDER BY e.due LIMIT 1
                """,
            arguments: [Chains.kind, Chains.commandKind])
        let due = first.flatMap { Int64.fromDatabaseValue($0[0]) }
        guard isReady || !needs.isEmpty || due != nil else { return nil }
        // Request what all have in common: a chain that needs less must not wait for more. If all
        // are delayed, what the next one needs.
        let delayed = try isReady ? nil : first.flatMap { try Self.needs(of: $0, db) }
        let common = needs.isEmpty ? delayed ?? 0 : needs.reduce(7, &)
        return SlotNeed(
            network: common & 3 != 0, power: common & 4 != 0,
            earliest: isReady || !needs.isEmpty ? nil : due.map { WallTime(milliseconds: $0) })
    }

    /// What a delayed entry needs: the next run of a schedule, or another attempt at a task.
    private static func needs(of entry: Row, _ db: Database) throws -> Int? {
        if let scheduled = Int.fromDatabaseValue(entry["needs"]) { return scheduled }
        guard String.fromDatabaseValue(entry["kind"]) == Chains.kind,
            let payload = Data.fromDatabaseValue(entry["payload"]),
            let intent = try? ChainJSON.decode(IntentPayload.self, from: [UInt8](payload))
        else { return nil }
        return try Int.fetchOne(
            db, sql: "SELECT needs FROM chain WHERE seq = ?", arguments: [intent.chain])
    }
}

/// The scheduler, the current grant of time, and whether tasks may begin.
package final class SlotRequests: Sendable {
    private struct State {
        var scheduler: (any BackgroundScheduler)?
        var life = 0
        var slots = 0
        var isOpen = true
    }

    private let state = Mutex(State())

    package init() {}

    var scheduler: (any BackgroundScheduler)? { state.withLock { $0.scheduler } }

    func set(_ scheduler: (any BackgroundScheduler)?) {
        state.withLock { $0.scheduler = scheduler }
    }

    /// - Parameters:
    ///   - isSlot: whether it is a slot that was requested.
    ///   - opens: whether tasks may begin that could not before.
    /// - Returns: the number of this grant.
    @discardableResult
    package func begin(isSlot: Bool = false, opens: Bool = true) -> Int {
        state.withLock { state in
            state.life += 1
            if isSlot { state.slots += 1 }
            if opens { state.isOpen = true }
            return state.life
        }
    }

    /// Lets no task begin any more, if this grant is the current one.
    package func stop(_ life: Int) -> Bool {
        state.withLock { state in
            guard state.life == life else { return false }
            state.isOpen = false
            return true
        }
    }

    /// Whether tasks may begin.
    package var isOpen: Bool { state.withLock { $0.isOpen } }

    package func endSlot() { state.withLock { $0.slots -= 1 } }

    package var isInSlot: Bool { state.withLock { $0.slots > 0 } }

    package func isNow(_ life: Int) -> Bool { state.withLock { $0.life == life } }
}
