import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore

/// `reprise-lab demo`: shows the guarantees with real processes and real kills.
struct DemoCommand: AsyncParsableCommand {
    enum Part: String, ExpressibleByArgument, CaseIterable {
        case all
        case kill
        case catchUp = "catch-up"
        case proof
        case forms
        case reminders
        case chains
        case notices

        /// The demo of scenarios that it is; nil: it is another.
        var scenarios: (any ScenarioDemo.Type)? {
            switch self {
            case .forms: FormsDemo.self
            case .reminders: RemindersDemo.self
            case .chains: ChainsDemo.self
            case .notices: NoticesDemo.self
            case .all, .kill, .catchUp, .proof: nil
            }
        }
    }

    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Run the features on real processes, with real kills.",
        usage: "reprise-lab demo [<scenario>] [options]",
        discussion: """
            all        All features, one after the other, and one table of what was
                       expected and what was observed: three to five minutes.
            kill       20,000 messages to two devices that are killed with SIGKILL 12
                       times, the server once: Reprise, and one with its position in
                       memory.
            catch-up   A backlog out of order, live events in between, the server killed in
                       the middle: Reprise and the original app as it froze, repaired, and
                       repaired with a server that reports the end. 70 s; --fast: 15 s.
            proof      Random schedules in virtual time on the shipping code; then the
                       algorithms of the five case studies, each of which is detected.
            forms      Push taps that launch dead apps, with a server and Chromium.
            reminders  Taps on reminders of goals that are paused, deleted, not loaded yet,
                       kills in the middle of a plan, time zones, nights without 02:30.
            chains     Chains of tasks, killed between any two instructions, frozen,
                       updated, damaged, in background slots alone. --full: more of each.
            notices    Messages to an app in any state, by socket and by push, read here
                       and there, with kills of app, extension and server. --full: an
                       hour.

            The last four play on a stand-in phone, beside the original app of their case
            study, for a minute each. They have scenarios: --list names them and what is
            expected of each, --only runs some of them and prints each moment, --output
            keeps the report.

            Everything happens in a temporary folder and on this machine alone.

            EXAMPLES
              reprise-lab demo
              reprise-lab demo kill --seed 42
              reprise-lab demo catch-up
              reprise-lab demo proof --minutes 5
              reprise-lab demo forms --only terminated-fast --only killed-once
              reprise-lab demo reminders --only case-4 --only import-new
              reprise-lab demo chains --only seed-flow
              reprise-lab demo notices --only test-4 --only force-quit
              reprise-lab demo --json | jq .passed

            EXIT CODES
              0 nothing was lost or repeated; 1 something was. All: reprise-lab --help
            """)

    @Argument(help: ArgumentHelp("What to run.", valueName: "scenario")) var part = Part.all
    @Option(help: "Chooses the moments of the kills. (default: random)") var seed: UInt64?
    @Option(help: "How long the proof searches.") var minutes = 1.0
    @Flag(help: "The original's timers in catch-up run eight times as fast.") var fast = false
    @Flag(help: "Print the report as JSON, without the timeline.") var json = false
    @Option(
        help: ArgumentHelp(
            "A scenario of forms, reminders, chains or notices; may be repeated.", valueName: "name"
        ))
    var only: [String] = []
    @Flag(help: "Name the scenarios of forms, reminders, chains or notices.") var list = false
    @Option(
        help: ArgumentHelp(
            "Where forms, reminders, chains and notices put their report with all timelines, forms the picture of a form (default: a temporary folder), and chains what its tasks did.",
            valueName: "dir"))
    var output: String?
    @Flag(
        help: ArgumentHelp(
            "The full size. Chains: 1,000 steps killed 100 times, 50 MB fetched, 10,000 that wait; notices: 1,000 random steps, Apple down for an hour."
        ))
    var full = false
    @Flag(help: .hidden) var alone = false
    @Option(help: .hidden) var messages = 20_000
    @Option(help: .hidden) var kills = 12

    func validate() throws {
        guard kills >= 2, messages > kills else {
            throw ValidationError("A demo needs at least 2 kills, and a message for each.")
        }
        guard minutes > 0, minutes <= 1_440 else {
            throw ValidationError("--minutes is more than 0 and at most 1440.")
        }
        guard part.scenarios != nil || only.isEmpty && !list else {
            throw ValidationError(
                "--only and --list go with a demo that has scenarios: forms, reminders, chains, notices."
            )
        }
        let names = part.scenarios?.names(settings) ?? []
        guard !full || part == .chains || part == .notices else {
            throw ValidationError("--full goes with the demos chains and notices.")
        }
        if let name = only.first(where: { !names.contains($0) }) {
            throw ValidationError("There is no scenario \(name.prefix(64)); see --list.")
        }
    }

    func run() async throws {
        if list, let demo = part.scenarios {
            return try StandardOutput.write(demo.list(settings).joined(separator: "\n"))
        }
        if let head, !json { try StandardOutput.write(head) }
        let report: any DemoReport
        do {
            report = try await Interruption.cancelling { try await play(part) }.value
        } catch is CancellationError {
            throw CommandFailure(.incomplete, "Interrupted; processes and files are removed.")
        }
        let rest = json ? try report.members.line() : report.rest(.output)
        if !rest.isEmpty { try StandardOutput.write(rest) }
        if !report.hasPassed { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }

    /// The first lines, where the demo does not have its own.
    private var head: String? {
        let lines = part.scenarios.map { ["Reprise demo: \($0.name)", $0.headline] }
        guard let lines = part == .all ? Self.headline : lines else { return nil }
        return ([Terminal.output.paint(lines[0], .bold)] + lines.dropFirst())
            .joined(separator: "\n")
    }

    private static let headline = [
        "Reprise demo", "Five features, for real: processes, sockets, SIGKILL.", "",
    ]

    /// Plays until it is over.
    private func play(_ part: Part) async throws -> any DemoReport {
        if let demo = part.scenarios { return try await demo.play(settings) }
        switch part {
        case .kill:
            return try await KillDemo(
                seed: seed ?? .random(in: 1...999_999), messages: messages, kills: kills,
                settings: settings
            ).play()
        case .catchUp:
            return try await CatchUpDemo(
                seed: seed ?? .random(in: 1...999_999), speed: fast || self.part == .all ? 8 : 1,
                settings: settings
            ).play()
        case .proof:
            return try await ProofDemo(
                seed: seed ?? .random(in: 1...999_999_999), budget: .seconds(minutes * 60),
                jobs: ProcessInfo.processInfo.activeProcessorCount, settings: settings
            ).play()
        case .all, .forms, .reminders, .chains, .notices:
            let parts = Self.parts.map { part, title in
                AllDemo.Part(name: part.rawValue, title: title) { try await play(part) }
            }
            return try await AllDemo(parts: parts, settings: settings).play()
        }
    }

    private static let parts: [(Part, title: String)] = [
        (.forms, "push taps on an app that is not ready (90 s)"),
        (.kill, "messages to a device that is killed (20 s)"),
        (.catchUp, "a backlog out of order, cut off (15 s)"),
        (.reminders, "taps on reminders of what is gone (40 s)"),
        (.chains, "work that is killed between any two steps (60 s)"),
        (.notices, "messages to an app that does not run (60 s)"),
    ]

    private var settings: DemoSettings {
        DemoSettings(
            seed: seed, names: only, isAlone: alone, isFull: full,
            output: output.map { URL(fileURLWithPath: $0) }, isQuiet: json)
    }
}
