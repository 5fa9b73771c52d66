import Foundation
import RepriseCore
import Synchronization

/// Plays many seeds of a workload, on as many threads as asked for, until one violates an invariant
/// or the time is up.
///
/// ```swift
/// let campaign = Campaign(workload: GatesWorkload(), seeds: 1..<10_001)
/// let report = await campaign.run { progress in print(progress.schedules) }
/// ```
package struct Campaign: Sendable {
    package let workload: any Workload
    package let seeds: Range<UInt64>
    package var mutation: Mutation?
    package var tier: Tier
    package var jobs: Int
    /// Asked before each schedule but the first; true ends the campaign.
    package var isOver: @Sendable () -> Bool

    /// What the threads share.
    private final class Shared: Sendable {
        let state: Mutex<(next: UInt64, report: CampaignReport)>

        init(next: UInt64) { state = Mutex((next, CampaignReport())) }
    }

    package init(
        workload: any Workload, seeds: Range<UInt64>, mutation: Mutation? = nil,
        tier: Tier = .model, jobs: Int = 1, isOver: @escaping @Sendable () -> Bool = { false }
    ) {
        self.workload = workload
        self.seeds = seeds
        self.mutation = mutation
        self.tier = tier
        self.jobs = max(1, jobs)
        self.isOver = isOver
    }

    /// Plays; `progress` hears of each schedule, from any thread.
    package func run(progress: @escaping @Sendable (CampaignReport) -> Void = { _ in }) async
        -> CampaignReport
    {
        let shared = Shared(next: seeds.lowerBound)
        await withDiscardingTaskGroup { group in
            for job in 0..<jobs {
                group.addTask {
                    while let seed = take(from: shared) {
                        let outcome = workload.run(
                            workload.schedule(seed: seed), mutation: mutation,
                            tier: tier.part(job))
                        let report = shared.state.withLock { state in
                            state.report.add(outcome)
                            return state.report
                        }
                        progress(report)
                    }
                }
            }
        }
        return shared.state.withLock { $0.report }
    }

    private func take(from shared: Shared) -> UInt64? {
        let isEnough = isOver()
        return shared.state.withLock { state in
            guard !isEnough || state.next == seeds.lowerBound, state.next < seeds.upperBound,
                state.report.failure == nil
            else { return nil }
            defer { state.next += 1 }
            return state.next
        }
    }
}

/// What a campaign has met.
package struct CampaignReport: Sendable {
    /// The least, the most and the sum of something.
    package struct Spread: Hashable, Sendable {
        package private(set) var least = Int.max
        package private(set) var most = Int.min
        package private(set) var sum = 0

        mutating func add(_ value: Int) {
            least = min(least, value)
            most = max(most, value)
            sum += value
        }
    }

    package private(set) var schedules = 0
    package private(set) var steps = 0
    package private(set) var devices = Spread()
    package private(set) var messages = Spread()
    package private(set) var faults = Spread()
    /// Virtual time in seconds.
    package private(set) var virtualSeconds = Spread()
    /// In how many schedules each kind of fault took effect.
    package private(set) var schedulesWith: [Fault.Kind: Int] = [:]
    /// In how many schedules there was each of what not all have.
    package private(set) var schedulesHaving: [Feature: Int] = [:]
    /// The failing schedule with the least seed.
    package private(set) var failure: (schedule: FaultSchedule, violation: Violation)?

    mutating func add(_ outcome: RunOutcome) {
        schedules += 1
        steps += outcome.steps
        devices.add(outcome.schedule.devices)
        messages.add(outcome.schedule.messages)
        faults.add(outcome.schedule.faults.count)
        virtualSeconds.add(Int(outcome.lasted.components.seconds))
        for kind in Fault.Kind.allCases where outcome.faultsMet[kind] != nil {
            schedulesWith[kind, default: 0] += 1
        }
        for feature in outcome.featuresMet { schedulesHaving[feature, default: 0] += 1 }
        if let violation = outcome.violation { fail(outcome.schedule, violation) }
    }

    private mutating func fail(_ schedule: FaultSchedule, _ violation: Violation) {
        if let failure, failure.schedule.seed < schedule.seed { return }
        failure = (schedule, violation)
    }
}

extension Tier {
    /// A folder of its own for each thread.
    func part(_ job: Int) -> Tier {
        switch self {
        case .model: self
        case .real(let folder): .real(folder.appendingPathComponent("\(job)"))
        case .compared(let folder): .compared(folder.appendingPathComponent("\(job)"))
        }
    }
}
