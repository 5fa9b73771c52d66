import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseSimulator
import Synchronization

/// `reprise-lab reach`: the share of messages shown by each time and way, under stated inputs.
struct ReachCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reach",
        abstract: "Compute what share of messages is shown when.",
        usage: """
            reprise-lab reach [--inputs FILE | --print-inputs] [--svg FILE] [--json]
                              [--seed SEED] [--devices N] [--days N] [--draws N]
                              [--jobs N]
            """,
        discussion: """
            Simulates a population in virtual time with the shipping decision: when
            people have the app open, how long it runs in the background, when it is
            refreshed, when there is a network, what they allow and mute. Computes the
            share of messages shown within 5 s, 1 min, 1 h, or only when the app is
            opened; by sockets, sockets with background refresh, Web Push, APNs.

            Each input is a value with a range and a source, or an assumption. The result
            has the error of the simulation, the effect of the assumptions and of each
            input, and what 90-95 % without a push would require.

            EXAMPLES
              reprise-lab reach                            the table, with the defaults
              reprise-lab reach --svg reach.svg            and a chart
              reprise-lab reach --print-inputs > mine.json change them, then:
              reprise-lab reach --inputs mine.json
              reprise-lab reach --devices 100 --draws 50   a quick look

            EXIT CODES
              0 done; 65 the inputs are not what they should be; 66 no such file.
              All: reprise-lab --help
            """)

    @Option(help: ArgumentHelp("A JSON file with other inputs.", valueName: "file"))
    var inputs: String?
    @Flag(help: "Print the inputs as such a file, and end.") var printInputs = false
    @Option(help: "The seed of all that is random.") var seed: UInt64 = 1
    @Option(help: "How many devices.") var devices = 500
    @Option(help: "How many days.") var days = 7
    @Option(help: "How many draws of all inputs from their ranges.") var draws = 100
    @Option(help: "How many threads.") var jobs = ProcessInfo.processInfo.activeProcessorCount
    @Option(help: ArgumentHelp("Write a chart as well.", valueName: "file")) var svg: String?
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws {
            guard range.contains(value) else {
                throw ValidationError(
                    "--\(name) is between \(range.lowerBound) and \(range.upperBound.grouped).")
            }
        }
        try check("devices", devices, 2...ReachLimits.devices)
        try check("days", days, 1...ReachLimits.days)
        try check("draws", draws, 0...ReachLimits.draws)
        try check("jobs", jobs, 1...256)
        guard svg?.isEmpty != true else { throw ValidationError("--svg takes a file.") }
    }

    func run() async throws {
        let inputs = try inputs.map(ReachInputsFile.read) ?? ReachInputs()
        guard !printInputs else {
            return try StandardOutput.write(try ReachInputsFile.text(inputs))
        }
        // A chart that cannot be written is known before the work, not after it.
        if let svg { try ReachSVG.check(svg) }
        let study = ReachStudy(
            inputs: inputs, seed: seed, devices: devices, days: days, draws: draws, jobs: jobs)
        let report = try await played(study)
        if let svg { try ReachSVG(report: report).write(to: svg) }
        try StandardOutput.write(
            json ? ReachJSON(report).line() : ReachText(report: report, terminal: .output).text)
    }

    private func played(_ study: ReachStudy) async throws -> ReachReport {
        let progress = ReachProgress(isQuiet: json)
        do {
            let (report, wasInterrupted) = try await Interruption.cancelling {
                try await study.run { progress.show($0) }
            }
            progress.clear()
            guard !wasInterrupted else { throw CancellationError() }
            return report
        } catch is CancellationError {
            progress.clear()
            throw CommandFailure(.incomplete, "Interrupted; there is no result.")
        }
    }
}

/// One line that is replaced, at each percent.
private final class ReachProgress: Sendable {
    private let isQuiet: Bool
    private let shown = Mutex(-1)

    init(isQuiet: Bool) { self.isQuiet = isQuiet }

    func show(_ part: Double) {
        let percent = Int(100 * part)
        let isNew = shown.withLock { last in
            defer { last = max(last, percent) }
            return percent > last
        }
        if isNew, !isQuiet { Terminal.error.replaceLine("reach: \(percent) %") }
    }

    func clear() { if !isQuiet { Terminal.error.replaceLine("") } }
}
