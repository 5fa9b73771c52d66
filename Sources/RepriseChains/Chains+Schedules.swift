import RepriseCore
import RepriseJournal

/// Chains that run again and again.
extension Chains {
    /// Lets a chain run again and again from now on; returns once that is durable.
    ///
    /// Say it at each launch: a schedule that is there as it is stays as it is. One of this name
    /// that differs is changed, and a run under way goes on: an interval of another length counts
    /// from the last run, another calendar rule and a rule of another kind from now. May be called
    /// before `run`.
    ///
    /// Each run is a chain of this name. It begins while the client runs, in the foreground or in
    /// background time, for which the system is asked. One at a time runs: a time that comes
    /// meanwhile is skipped. However many times were missed, one run makes up for them.
    ///
    /// ```swift
    /// try await client.chains.schedule(
    ///     tidyUp, input: 30, name: "tidy-up",
    ///     runs: .calendar(Schedule(.daily, at: [TimeOfDay(3, 0)])))
    /// ```
    ///
    /// - Parameters:
    ///   - chain: one of the configured definitions.
    ///   - input: of each run, at most 262,144 bytes as JSON.
    ///   - name: 1 to 64 bytes, the same at each launch; at most 100 schedules.
    ///   - schedule: when.
    ///   - constraints: the device conditions that each run needs.
    ///   - deadline: for each run, from its start; then it fails.
    /// - Returns: what became of it.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`, `.unknownWorker`,
    ///   `.badConfiguration` if the definition is not configured, `.full`, and what the journal
    ///   throws.
    /// - SeeAlso: docs/chains/periodic.md.
    @discardableResult
    public func schedule<Input: Codable & Sendable>(
        _ chain: Chain<Input>, input: Input, name: String, runs schedule: ChainSchedule,
        constraints: ChainConstraints = ChainConstraints(), deadline: Duration? = nil
    ) async throws -> ChainScheduleChange {
        try schedule.check()
        let json = try checked(input, of: chain, name: name)
        _ = try checked(try chain.plan(for: json), of: chain.name)
        let new = NewSchedule(
            name: name, definition: chain.name, rule: schedule, input: json,
            constraints: constraints, deadline: deadline)
        let zone = configuration.zone()
        // A slot may wait for the time that is withdrawn.
        defer { engine.changes.notifyAll() }
        return try await journal.write { [journal] db in
            try ChainSchedules.save(new, in: zone, db, journal)
        }
    }

    /// Removes a schedule; returns once that is durable.
    ///
    /// A run under way goes on: it is a chain like others, and its name finds it.
    ///
    /// - Parameter name: of the schedule.
    /// - Returns: whether there was one.
    /// - Throws: what the journal throws.
    @discardableResult
    public func unschedule(_ name: String) async throws -> Bool {
        defer { engine.changes.notifyAll() }
        return try await journal.write { [journal] db in
            try ChainSchedules.remove(name, db, journal)
        }
    }

    /// All schedules, with the next time and how the last run ended.
    ///
    /// - Returns: them, by name.
    /// - Throws: what the journal throws.
    public func schedules() async throws -> [ChainScheduleStatus] {
        try await journal.read { db in try ChainScheduleStatus.list(db) }
    }
}
