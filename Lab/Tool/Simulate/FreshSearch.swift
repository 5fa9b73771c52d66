import RepriseCommandLine
import RepriseCore
import RepriseSimulator
import Synchronization

/// Plays seeds that nobody has played, of every workload in turn, and goes on behind what it finds.
struct FreshSearch: Sendable {
    /// A run that violated an invariant, and how to see it again.
    struct Find: Encodable, Sendable {
        var seed: UInt64
        var promise: String
        var violation: String
        var replay: String
    }

    /// What came of one workload.
    struct Result: Encodable, Sendable {
        var workload: String
        /// The first of its seeds; the others follow it.
        var from: UInt64
        var schedules = 0
        var milliseconds: Int64 = 0
        var schedulesPerSecond: Double {
            1_000 * Double(schedules) / Double(max(milliseconds, 1))
        }
        var finds: [Find] = []

        private enum CodingKeys: CodingKey {
            case workload, from, schedules, milliseconds, finds
        }
    }

    struct Report: Encodable {
        var base: UInt64
        var holds: Bool
        var tier: String
        var threads: Int
        var workloads: [Result]
    }

    let workloads: [any Workload]
    let base: UInt64
    /// How long all of it lasts; nil: until ``count`` seeds of each were played.
    let budget: Duration?
    let count: UInt64?
    let mutation: Mutation?
    let tier: Tier
    let jobs: Int
    let isQuiet: Bool

    /// A workload has its turn for about so long.
    private static let turn: Duration = .seconds(15)
    /// So many are shown of a workload; then it is played no more.
    private static let most = 5

    /// A base that leaves room for a long search, and is short enough to be read aloud.
    static func draw() -> UInt64 { UInt64.random(in: 1..<1_000_000) * 1_000_000 }

    func run() async throws -> Report {
        var results = workloads.map { Result(workload: $0.name, from: base) }
        try say("Fresh seeds from \(base) on, of \(workloads.map(\.name).joined(separator: ", "))")
        let rounds = budget.map { max(1, Int($0 / (Self.turn * workloads.count))) } ?? 1
        let slice = budget.map { $0 / (rounds * workloads.count) }
        for round in 1...rounds {
            for index in workloads.indices
            where !Task.isCancelled && results[index].finds.count < Self.most {
                try await play(workloads[index], for: slice, &results[index])
            }
            if round < rounds, !Task.isCancelled { try say("") }
        }
        let holds = results.allSatisfy(\.finds.isEmpty)
        if !isQuiet { try StandardOutput.write(sum(results, holds)) }
        return Report(
            base: base, holds: holds, tier: tier.name, threads: jobs, workloads: results)
    }

    /// One turn of a workload; it goes on behind what violates an invariant.
    private func play(
        _ workload: any Workload, for slice: Duration?, _ result: inout Result
    ) async throws {
        let end = slice.map { ContinuousClock.now + $0 }
        repeat {
            let first = base + UInt64(result.schedules)
            let last = count.map { base + $0 } ?? .max
            guard first < last, !Task.isCancelled else { break }
            let began = ContinuousClock.now
            let report = await campaign(workload, first..<last, until: end)
            result.milliseconds += (ContinuousClock.now - began).milliseconds
            result.schedules += report.schedules
            guard let seed = report.failure?.schedule.seed else { break }
            guard
                let detection = workload.detection(
                    of: mutation, seeds: seed..<seed + 1, tier: tier)
            else { continue }
            let find = Find(
                seed: seed, promise: detection.violation.invariant.rawValue,
                violation: detection.violation.what,
                replay: detection.replay(of: workload, mutation: mutation, tier: tier))
            result.finds.append(find)
            try say(Self.told(find, Terminal.output))
        } while result.finds.count < Self.most && end.map { ContinuousClock.now < $0 } ?? true
        try say(line(result, Terminal.output))
    }

    private func campaign(
        _ workload: any Workload, _ seeds: Range<UInt64>, until end: ContinuousClock.Instant?
    ) async -> CampaignReport {
        let stop = SearchStop()
        let campaign = Campaign(
            workload: workload, seeds: seeds, mutation: mutation, tier: tier, jobs: jobs
        ) { stop.isRaised || end.map { ContinuousClock.now >= $0 } ?? false }
        return await withTaskCancellationHandler {
            await campaign.run()
        } onCancel: {
            stop.raise()
        }
    }

    // MARK: For people

    private func say(_ text: String) throws {
        if !isQuiet { try StandardOutput.write(text) }
    }

    private func line(_ result: Result, _ terminal: Terminal) -> String {
        let disposition =
            result.finds.isEmpty
            ? terminal.paint("holds ", .green) : terminal.paint("BROKEN", .red)
        return result.workload.left(11) + disposition + "  " + result.schedules.grouped.right(11)
            + " schedules  " + Int(result.schedulesPerSecond).grouped.right(7)
            + "/s on \(jobs) threads"
    }

    private static func told(_ find: Find, _ terminal: Terminal) -> String {
        terminal.paint("Seed \(find.seed)", .bold) + ": violated invariant, \(find.promise): "
            + "\(find.violation)\nReplay: \(find.replay)"
    }

    private func sum(_ results: [Result], _ holds: Bool) -> String {
        let total = results.reduce(0) { $0 + $1.schedules }
        var lines = [
            "",
            "\(total.grouped) schedules (\(tier.name)) from seed \(base) on: "
                + (holds ? "all invariants held." : "invariants were violated."),
        ]
        lines += results.flatMap(\.finds).map { "Replay: \($0.replay)" }
        lines.append("The same seeds again: reprise-lab simulate --fresh --from \(base) …")
        return lines.joined(separator: "\n")
    }
}
