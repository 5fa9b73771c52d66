import RepriseCommandLine
import RepriseCore
import RepriseSimulator
import Synchronization

/// Plays one workload after the other, and tells what was met.
struct SimulationSearch: Sendable {
    let workloads: [any Workload]
    let from: UInt64
    /// nil: until the time is up.
    let count: UInt64?
    /// For each workload.
    let budget: Duration?
    let mutation: Mutation?
    let tier: Tier
    let jobs: Int
    let isQuiet: Bool

    func run() async throws -> [SimulationResult] {
        var results: [SimulationResult] = []
        for workload in workloads where !Task.isCancelled {
            let result = try await search(workload)
            results.append(result)
            if !isQuiet { try StandardOutput.write(result.text(Terminal.output)) }
        }
        return results
    }

    private func search(_ workload: any Workload) async throws -> SimulationResult {
        let began = ContinuousClock.now
        let budget = budget
        let stop = SearchStop()
        var campaign = Campaign(
            workload: workload, seeds: from..<(count.map { from + $0 } ?? .max),
            mutation: mutation, tier: tier, jobs: jobs)
        campaign.isOver = {
            stop.isRaised || budget.map { ContinuousClock.now - began >= $0 } ?? false
        }
        let progress = SearchProgress(name: workload.name, count: count, budget: budget)
        let report = await withTaskCancellationHandler { [campaign, isQuiet] in
            await campaign.run { report in if !isQuiet { progress.show(report) } }
        } onCancel: {
            stop.raise()
        }
        if !isQuiet { Terminal.error.replaceLine("") }
        var result = SimulationResult(
            workload: workload.name, report: report, took: .now - began, tier: tier.name,
            jobs: jobs)
        if let failure = report.failure {
            let seed = failure.schedule.seed
            result.detection = workload.detection(
                of: mutation, seeds: seed..<seed + 1, tier: tier)
            result.replay = result.detection?.replay(
                of: workload, mutation: mutation, tier: tier)
        }
        return result
    }
}

/// Says once that it is enough.
final class SearchStop: Sendable {
    private let raised = Mutex(false)

    var isRaised: Bool { raised.withLock { $0 } }

    func raise() { raised.withLock { $0 = true } }
}

/// One line that is replaced, at most ten times a second.
private final class SearchProgress: Sendable {
    private let name: String
    private let count: UInt64?
    private let budget: Duration?
    private let began = ContinuousClock.now
    private let shown = Mutex(ContinuousClock.now)

    init(name: String, count: UInt64?, budget: Duration?) {
        self.name = name
        self.count = count
        self.budget = budget
    }

    func show(_ report: CampaignReport) {
        let now = ContinuousClock.now
        let isDue = shown.withLock { last in
            guard now - last > .milliseconds(100) else { return false }
            last = now
            return true
        }
        guard isDue else { return }
        let took = now - began
        let share =
            count.map { Double(report.schedules) / Double($0) }
            ?? budget.map { took.inSeconds / $0.inSeconds } ?? 0
        let rate = Int(Double(report.schedules) / max(took.inSeconds, 1e-9))
        Terminal.error.replaceLine(
            "\(name): \(report.schedules.grouped) schedules, \(rate.grouped)/s, "
                + "\(Int(100 * share)) %")
    }
}
