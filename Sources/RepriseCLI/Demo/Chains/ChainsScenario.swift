import RepriseCore

/// One scenario of the demo `chains`: its actions on the phone, and its expected results.
struct ChainsScenario: Sendable {
    let name: String
    let title: String
    /// The chains' plan; its name in ``ChainsPlan``.
    let plan: String
    var chains = 1
    /// How each chain has to end, where that is not by success.
    var ends: [Int: String] = [:]
    /// The tasks that Reprise may repeat: those in flight at a kill.
    var again = 0
    /// The effects that have to be there, in whatever order; nil: those of the plan, for each chain
    /// that succeeds.
    var effects: [String]?
    /// Chains that wait at the end.
    var waiting = 0
    /// Whether the case study covers it, so that its code can run.
    var isOfSeed = true
    /// Whether the app's data is on a small disk of its own, where that is possible.
    var isOnSmallDisk = false
    /// How long the app may run in the background.
    var backgroundSeconds = 30
    /// Bytes of files that the tasks write, beside the bookkeeping; nil: not distinguishable.
    var fileBytes: Int? = 0
    /// The actions.
    let play: @Sendable (ChainsScenarioRunner) async throws -> Void

    /// How a chain has to end.
    func end(of chain: Int) -> String { ends[chain] ?? "succeeded" }
}

/// A scenario, and what the apps have made of it.
struct ChainsResult: Sendable {
    let scenario: ChainsScenario
    let runs: [ChainsRun]

    func run(_ algorithm: ChainsAlgorithm) -> ChainsRun? {
        runs.first { $0.algorithm == algorithm }
    }

    /// Chains that have not come to their end.
    func lost(_ run: ChainsRun) -> Int {
        (0..<scenario.chains).count { chain in
            run.states[chain] != scenario.end(of: chain) || run.states[chain] == "quarantined"
        }
    }

    /// The bytes written, without the tasks' own files.
    func written(_ run: ChainsRun) -> Int? {
        guard let files = scenario.fileBytes, let written = run.written else { return nil }
        return max(0, written - files)
    }

    /// Promises that Reprise has broken; empty: it has kept them.
    var faults: [String] {
        guard let run = run(.reprise) else { return ["Reprise was not asked."] }
        var faults = run.notes.faults
        for chain in 0..<scenario.chains where run.states[chain] != scenario.end(of: chain) {
            faults.append(
                "Chain \(chain) is \(run.states[chain] ?? "unknown"), not \(scenario.end(of: chain))."
            )
        }
        if run.repeated > scenario.again {
            faults.append("\(run.repeated) tasks were done again, at most \(scenario.again) may.")
        }
        for (label, lines) in Dictionary(grouping: run.done, by: \.label)
        where Set(lines.map(\.key)).count > 1 {
            faults.append("\(label) was done with two keys.")
        }
        let wanted = Set(effects)
        let seen = Set(run.done.map(\.label))
        if wanted != seen {
            faults.append(
                "\(wanted.subtracting(seen).count) effects are missing, "
                    + "\(seen.subtracting(wanted).count) should not be there.")
        }
        if let ledger = run.ledger, !ledger.isBalanced || ledger.pending != scenario.waiting {
            faults.append("The ledger does not add up, or \(ledger.pending) entries wait.")
        }
        return faults
    }

    var isKept: Bool { faults.isEmpty }

    private var effects: [String] {
        if let effects = scenario.effects { return effects }
        let plan = ChainsPlan.named(scenario.plan).effects
        return (0..<scenario.chains).flatMap { chain in plan.map { "\(chain).\($0)" } }
    }
}
