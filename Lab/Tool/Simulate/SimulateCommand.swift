import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseSimulator

/// `reprise-lab simulate`: searches for a schedule that violates an invariant, and shrinks it.
struct SimulateCommand: AsyncParsableCommand {
    enum TierName: String, ExpressibleByArgument, CaseIterable {
        case model, real, compared
    }

    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Search in virtual time for a violated invariant.",
        discussion: """
            Runs devices and servers, made of the shipping code, in virtual time. Each
            seed is a schedule: at least 2 devices, 50 messages and 3 faults (kills
            between any two effects, cut and half open connections, disks that are full
            or fail a sync, clocks that jump, restored backups, …). A checker outside
            the journals checks the invariants throughout, and once more after all
            faults have ended.

            A seed that violates an invariant is shrunk and printed as a timeline, with
            the command that replays it. The same seed is the same run on every machine.

            Tiers: model (the machines on a model of the store: fast), real (on the real
            journal and message log), compared (both, compared after each transaction).

            EXAMPLES
              reprise-lab simulate                         a quick search, all workloads
              reprise-lab simulate --minutes 10            a longer one
              reprise-lab simulate --fresh --minutes 10    random seeds
              reprise-lab simulate --trace 4711            any run as a timeline
              reprise-lab simulate --mutation widenPrev    see a wrong driver detected
              reprise-lab simulate --mutations             all of them, each with its seed
              reprise-lab simulate --list                  workloads, mutations, baselines

            EXIT CODES
              0 every invariant held; 1 one was violated. With --mutations: 0 each
              was detected; 1 one was not. All: reprise-lab --help
            """)

    @Option(help: "What to run; see --list. (default: all that should hold)")
    var workload: String?
    @Option(help: "How many seeds of each workload. (default: 1000)") var seeds: UInt64?
    @Option(help: "The first seed. (default: 1; with --fresh: random)") var from: UInt64?
    @Flag(help: "Choose the first seed at random, and run each workload in turn.") var fresh = false
    @Option(help: "How long to search, instead of a number of seeds.") var minutes: Double?
    @Option(help: "The stores: model, real or compared.") var tier = TierName.model
    @Option(help: "Make a driver wrong on purpose; see --list.") var mutation: String?
    @Flag(help: "Run all wrong drivers, each until it is detected. (default: 10,000 seeds)")
    var mutations = false
    @Option(help: "How many threads.") var jobs = ProcessInfo.processInfo.activeProcessorCount
    @Option(help: ArgumentHelp("Print this run as a timeline.", valueName: "seed"))
    var trace: UInt64?
    @Option(help: "With --trace: at most so many devices.") var devices: Int?
    @Option(help: "With --trace: at most so many messages.") var messages: Int?
    @Option(help: "With --trace: these faults alone, as 0,3,5; or none.") var faults: String?
    @Flag(help: "List what can be run, and end.") var list = false
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        guard seeds == nil || minutes == nil else {
            throw ValidationError("Give --seeds or --minutes, not both.")
        }
        guard seeds ?? 1 > 0, minutes ?? 1 > 0, jobs > 0, devices ?? 1 > 0, messages ?? 1 > 0
        else { throw ValidationError("Counts and minutes are more than 0.") }
        guard minutes ?? 1 <= 1_000_000 else {
            throw ValidationError("--minutes is at most 1000000.")
        }
        let first = from ?? 1
        guard first <= UInt64.max - (seeds ?? 10_000) else {
            throw ValidationError("There are not so many seeds behind \(first).")
        }
        guard !fresh || (trace == nil && !mutations) else {
            throw ValidationError("--fresh goes without --trace and --mutations.")
        }
        guard trace != nil || (devices == nil && messages == nil && faults == nil) else {
            throw ValidationError("--devices, --messages and --faults belong to --trace.")
        }
        guard !mutations || (mutation == nil && minutes == nil && trace == nil) else {
            throw ValidationError("--mutations goes without --mutation, --minutes and --trace.")
        }
        _ = try chosenMutation()
        let chosen = try chosenWorkloads()
        if trace != nil, chosen.count > 1 {
            throw ValidationError("Say which --workload to trace; --list names them.")
        }
        _ = try chosenFaults()
    }

    func run() async throws {
        if list {
            let list = SimulationList()
            return try StandardOutput.write(json ? list.line() : list.text(Terminal.output))
        }
        let folder = Self.place.appendingPathComponent("reprise-simulate-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let tier: Tier =
            switch tier {
            case .model: .model
            case .real: .real(folder)
            case .compared: .compared(folder)
            }
        if let trace {
            try show(trace, try chosenWorkloads()[0], tier)
        } else if mutations {
            try await detect(tier)
        } else if fresh {
            try await searchAnew(tier)
        } else {
            try await search(tier)
        }
    }

    /// Real stores are in memory unless requested otherwise: disks are tested elsewhere, and take
    /// ten times as long.
    private static var place: URL {
        let memory = "/dev/shm"
        let isAsked = ProcessInfo.processInfo.environment["TMPDIR"] != nil
        return !isAsked && FileManager.default.isWritableFile(atPath: memory)
            ? URL(fileURLWithPath: memory) : FileManager.default.temporaryDirectory
    }

    // MARK: A single run

    private func show(_ seed: UInt64, _ workload: any Workload, _ tier: Tier) throws {
        let schedule = workload.schedule(seed: seed)
            .reduced(devices: devices, messages: messages, faults: try chosenFaults())
        let outcome = workload.run(
            schedule, mutation: try chosenMutation(), tier: tier, isTracing: true)
        try StandardOutput.write(
            json
                ? SimulationTrace(outcome, workload).line()
                : SimulationTrace.text(of: outcome, workload, Terminal.output))
        if outcome.violation != nil { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }

    // MARK: A search

    private func search(_ tier: Tier) async throws {
        let workloads = try chosenWorkloads()
        let search = SimulationSearch(
            workloads: workloads, from: from ?? 1,
            count: minutes == nil ? seeds ?? 1_000 : nil,
            budget: minutes.map { .seconds($0 * 60 / Double(workloads.count)) },
            mutation: try chosenMutation(), tier: tier, jobs: jobs, isQuiet: json)
        let (results, wasInterrupted) = try await Interruption.cancelling { try await search.run() }
        if json { try StandardOutput.write(SimulationSummary(results).line()) }
        if wasInterrupted, !results.contains(where: \.hasFailed) {
            throw CommandFailure(.incomplete, "Interrupted; what was played had no violation.")
        }
        if results.contains(where: \.hasFailed) { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }

    private func searchAnew(_ tier: Tier) async throws {
        let search = FreshSearch(
            workloads: try chosenWorkloads(), base: from ?? FreshSearch.draw(),
            budget: minutes.map { .seconds($0 * 60) },
            count: minutes == nil ? seeds ?? 1_000 : nil, mutation: try chosenMutation(),
            tier: tier, jobs: jobs, isQuiet: json)
        let (report, wasInterrupted) = try await Interruption.cancelling { try await search.run() }
        if json { try StandardOutput.write(report.line()) }
        guard report.holds else { throw ExitCode(ExitStatus.incomplete.rawValue) }
        if wasInterrupted {
            throw CommandFailure(.incomplete, "Interrupted; what was played had no violation.")
        }
    }

    private func detect(_ tier: Tier) async throws {
        let first = from ?? 1
        let search = MutationSearch(
            workloads: try chosenWorkloads(), seeds: first..<(first + (seeds ?? 10_000)),
            tier: tier, jobs: jobs, isQuiet: json)
        let (report, wasInterrupted) = try await Interruption.cancelling { try await search.run() }
        if json { try StandardOutput.write(report.line()) }
        if wasInterrupted { throw CommandFailure(.incomplete, "Interrupted.") }
        guard report.detected == report.dispositions.count else {
            throw ExitCode(ExitStatus.incomplete.rawValue)
        }
    }

    // MARK: Options

    private func chosenWorkloads() throws -> [any Workload] {
        guard let workload else { return Workloads.all }
        guard let named = Workloads.named(workload) else {
            throw ValidationError("There is no workload \(workload); --list names them.")
        }
        return [named]
    }

    private func chosenMutation() throws -> Mutation? {
        guard let mutation else { return nil }
        guard let named = Mutation(rawValue: mutation) else {
            throw ValidationError("There is no mutation \(mutation); --list names them.")
        }
        return named
    }

    private func chosenFaults() throws -> [Int]? {
        guard let faults else { return nil }
        if faults == "none" { return [] }
        return try faults.split(separator: ",").map {
            guard let index = Int($0) else {
                throw ValidationError("--faults takes numbers as in 0,3,5, or none.")
            }
            return index
        }
    }
}
