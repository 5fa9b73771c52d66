import RepriseCore
import RepriseJournal

/// The tasks whose workers run: each with its entry, its timers, and why it has to stop.
struct RunningTasks: Sendable {
    struct Running {
        /// Tells it from an abandoned run of the same task, which may still end.
        let number: Int
        let delivery: EntryDelivery
        let task: Task<Void, Never>
        let started: WallTime
        let attempts: Int
        fileprivate var stop: ChainStop?
        fileprivate var timers: [Alarm] = []

        init(
            _ number: Int, _ delivery: EntryDelivery, _ task: Task<Void, Never>,
            since started: WallTime, attempts: Int
        ) {
            (self.number, self.delivery, self.task) = (number, delivery, task)
            (self.started, self.attempts) = (started, attempts)
        }

        var attempt: ChainAttempt {
            ChainAttempt(
                attempts: attempts, ofEntry: delivery.entry.attempt, started: started, stop: stop)
        }
    }

    private var tasks: [TaskKey: Running] = [:]
    private var newest = 0

    var isEmpty: Bool { tasks.isEmpty }
    var keys: [TaskKey] { Array(tasks.keys) }

    func contains(_ key: TaskKey) -> Bool { tasks[key] != nil }

    /// - Returns: the number of the next run.
    mutating func number() -> Int {
        newest += 1
        return newest
    }

    mutating func add(_ running: Running, as key: TaskKey) { tasks[key] = running }

    /// - Returns: nil if this run was given up.
    mutating func remove(_ key: TaskKey, _ number: Int) -> Running? {
        tasks[key]?.number == number ? remove(key) : nil
    }

    /// - Returns: nil if it was given up.
    mutating func remove(_ key: TaskKey) -> Running? {
        let running = tasks.removeValue(forKey: key)
        for timer in running?.timers ?? [] { timer.cancel() }
        return running
    }

    /// - Returns: their entries.
    mutating func removeAll() -> [EntryDelivery] {
        defer { tasks = [:] }
        for timer in tasks.values.flatMap(\.timers) { timer.cancel() }
        return tasks.values.map(\.delivery)
    }

    /// Calls `call` after a time, unless the task ends before.
    mutating func alarm(
        _ key: TaskKey, after wait: Duration, on clock: any Timekeeper,
        _ call: @escaping @Sendable () -> Void
    ) {
        let timer = Alarm(clock)
        timer.set(clock.uptime() + max(wait, .zero), call: call)
        tasks[key]?.timers.append(timer)
    }

    /// Cancels its worker; the first reason counts.
    mutating func stop(_ key: TaskKey, _ reason: ChainStop) {
        guard let running = tasks[key] else { return }
        if running.stop == nil { tasks[key]?.stop = reason }
        running.task.cancel()
    }

    /// Cancels a worker that is late; one that was told of the end of its time or of lost
    /// conditions, and ignores that, has its deadline still.
    ///
    /// - Returns: false if it does not run, or its end is decided.
    mutating func stopLate(_ key: TaskKey) -> Bool {
        guard let running = tasks[key] else { return false }
        switch running.stop {
        case .machine, .late: return false
        case nil, .budget, .conditions: break
        }
        tasks[key]?.stop = .late
        running.task.cancel()
        return true
    }

    mutating func stopAll(_ reason: ChainStop) { for key in keys { stop(key, reason) } }
}
