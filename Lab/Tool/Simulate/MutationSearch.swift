import RepriseCommandLine
import RepriseCore
import RepriseSimulator
import Synchronization

/// Plays each wrong driver until the workload that should detect it does.
struct MutationSearch: Sendable {
    /// Which seed detects a mutation first, and of which invariant; nil: none did.
    struct Disposition: Encodable, Sendable {
        var mutation: String
        var workload: String
        var schedules: Int
        var seed: UInt64?
        var promise: String?
    }

    struct Report: Encodable {
        var detected: Int
        var dispositions: [Disposition]

        private enum CodingKeys: String, CodingKey {
            case detected = "convicted"
            case dispositions = "verdicts"
        }
    }

    let workloads: [any Workload]
    let seeds: Range<UInt64>
    let tier: Tier
    let jobs: Int
    let isQuiet: Bool

    /// In the order in which `--list` has them.
    func run() async throws -> Report {
        let interrupted = Mutex(false)
        var dispositions: [Disposition] = []
        for mutation in Mutation.allCases where !Task.isCancelled {
            guard let workload = workloads.first(where: { $0.name == mutation.workload }) else {
                continue
            }
            let campaign = Campaign(
                workload: workload, seeds: seeds, mutation: mutation, tier: tier, jobs: jobs
            ) { interrupted.withLock { $0 } }
            let report = await withTaskCancellationHandler {
                await campaign.run()
            } onCancel: {
                interrupted.withLock { $0 = true }
            }
            guard !Task.isCancelled else { break }
            let disposition = Disposition(
                mutation: mutation.rawValue, workload: workload.name, schedules: report.schedules,
                seed: report.failure?.schedule.seed,
                promise: report.failure?.violation.invariant.rawValue)
            dispositions.append(disposition)
            if !isQuiet { try StandardOutput.write(disposition.text(Terminal.output)) }
        }
        let detected = dispositions.count { $0.seed != nil }
        if !isQuiet { try StandardOutput.write(Self.sum(dispositions, detected)) }
        return Report(detected: detected, dispositions: dispositions)
    }

    private static func sum(_ dispositions: [Disposition], _ detected: Int) -> String {
        let latest = dispositions.compactMap(\.seed).max()
        return "\n\(detected) of \(dispositions.count) detected"
            + (latest.map { ", the latest at seed \($0)." } ?? ".")
    }
}

extension MutationSearch.Disposition {
    fileprivate func text(_ terminal: Terminal) -> String {
        let found = seed.map { "seed \($0)".left(11) + (promise ?? "") }
        return mutation.left(33) + workload.left(17)
            + (found ?? terminal.paint("NOT DETECTED by \(schedules) seeds", .red))
    }
}
