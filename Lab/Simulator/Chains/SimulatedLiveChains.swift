import RepriseChains
import RepriseCore

/// The chains in memory.
final class SimulatedLiveChains {
    private(set) var all: [Int64: LiveChain] = [:]
    private let app: SimulatedChainsApp
    private let journal: SimulatedJournal
    private let mutation: Mutation?

    init(_ simulation: Simulation, _ app: SimulatedChainsApp, _ journal: SimulatedJournal) {
        (self.app, self.journal, mutation) = (app, journal, simulation.mutation)
    }

    subscript(_ seq: Int64) -> LiveChain? { all[seq] }

    func remove(_ seq: Int64) { all[seq] = nil }

    func removeAll() { all = [:] }

    /// The chain, which is read if it is not in memory.
    func chain(_ seq: Int64) throws -> LiveChain? {
        if let chain = all[seq] { return chain }
        guard let (row, tasks) = try journal.read({ try ChainReading.load(seq, shipping($0).db) })
        else { return nil }
        let made = Result { try plan(for: row, tasks) }
        if case .failure(let error as ChainRow.Broken) = made { throw error }
        let chain = LiveChain(row: row, tasks: tasks, plan: made)
        if chain.rebuilt != nil { chain.rebuilt?.version = app.version }
        chain.notifies = app.device.notifies
        all[seq] = chain
        return chain
    }

    func readDeadlines(of chains: [Int64]) {
        for seq in chains {
            let found = try? journal.read { try ChainReading.deadlines(seq, shipping($0).db) }
            if let found { all[seq]?.calendarSet(found) }
        }
    }

    private func plan(for row: ChainRow, _ tasks: [TaskRow]) throws -> ChainPlan {
        if mutation == .chainDefinitionUnchecked {
            let definition = ChainsScript.chain(version: app.version)
            let plan = try definition.plan(for: row.input).deciding(tasks.decisions)
            if plan.workers.isSubset(of: app.workers) { return plan }
        }
        return try ChainPlan.of(row, tasks, app.definition) { app.workers.contains($0) }
    }
}
