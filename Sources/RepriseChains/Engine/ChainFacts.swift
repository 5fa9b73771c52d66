package import RepriseCore

/// The external facts of a decision, at its moment.
package struct ChainFacts {
    package var wall: () -> WallTime
    /// The journal's time, which no clock that jumps takes ahead.
    package var now: () -> WallTime
    /// Whether the journal trusts its clock.
    package var mayExpire: () -> Bool
    package var conditions: DeviceConditions
    package var isOpen: (Readiness) -> Bool
    package var hasWorker: (String) -> Bool
    package var jitter: () -> Double

    package init(
        wall: @escaping () -> WallTime, now: @escaping () -> WallTime,
        mayExpire: @escaping () -> Bool, conditions: DeviceConditions,
        isOpen: @escaping (Readiness) -> Bool, hasWorker: @escaping (String) -> Bool,
        jitter: @escaping () -> Double
    ) {
        (self.wall, self.now, self.mayExpire) = (wall, now, mayExpire)
        (self.conditions, self.isOpen) = (conditions, isOpen)
        (self.hasWorker, self.jitter) = (hasWorker, jitter)
    }

    /// Waits whose event came before their row existed.
    package func overdue(in chain: LiveChain) -> [Int] {
        chain.held.filter { place in
            guard let hold = chain.tasks[place].hold else { return false }
            if hold == "conditions" { return chain.row.constraints.areMet(by: conditions) }
            guard hold.hasPrefix("readiness:") else { return false }
            return isOpen(Readiness(String(hold.dropFirst("readiness:".count))))
        }
    }
}

/// Why a worker was cancelled.
package enum ChainStop: Sendable { case machine, conditions, late, budget }

/// An attempt at a task that has ended.
package struct ChainAttempt: Sendable {
    /// Which attempt it was, through all its intents.
    package var attempts: Int
    /// Of this intent.
    package var ofEntry: Int
    package var started: WallTime?
    package var stop: ChainStop?

    package init(attempts: Int, ofEntry: Int, started: WallTime?, stop: ChainStop?) {
        (self.attempts, self.ofEntry) = (attempts, ofEntry)
        (self.started, self.stop) = (started, stop)
    }
}

extension ChainPlan {
    /// Evaluates the app's definition for a stored chain, with what it has decided.
    ///
    /// - Throws: `ChainRow.Broken` if it cannot be read; else why this version of the app cannot
    ///   continue it.
    package static func of(
        _ row: ChainRow, _ tasks: [TaskRow], _ definition: (any ChainDefinition)?,
        _ hasWorker: (String) -> Bool
    ) throws -> ChainPlan {
        guard let definition else {
            throw RepriseError(.unavailable, "No chain named \(row.definition) is registered.")
        }
        guard ChainJSON.isJSON(row.input) else {
            throw ChainRow.Broken(description: "its input is no JSON")
        }
        let decisions = tasks.decisions
        for (task, json) in decisions where !ChainJSON.isJSON(json) {
            throw ChainRow.Broken(description: "the decision of \(task) is no JSON")
        }
        let plan = try definition.plan(for: row.input).deciding(decisions)
        let isCompatible =
            definition.version != row.version && definition.compatibleWith.contains(row.version)
        guard plan.hash == row.hash || isCompatible else {
            throw RepriseError(
                .unavailable,
                "The definition of \(row.definition) has changed: version \(row.version) had "
                    + "another shape than version \(definition.version).",
                remedy: "Declare it compatibleWith \(row.version), or cancel the chain.")
        }
        if let missing = plan.missingWorker(hasWorker) { throw missing }
        return plan
    }

    /// Why it cannot be continued.
    func missingWorker(_ hasWorker: (String) -> Bool) -> RepriseError? {
        workers.sorted().first { !hasWorker($0) }.map {
            RepriseError(.unavailable, "No worker named \($0) is registered.")
        }
    }
}
