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
    }

    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Run the features on real processes, with real kills.",
        usage: "reprise-lab demo [<scenario>] [options]",
        discussion: """
            all   Runs forms, kill, catch-up (with --fast), reminders, chains and notices,
                  one after the other, and ends with one table of what was expected and
                  what was observed. Takes three to five minutes.

            kill  Publishes 20,000 lines of a text, in bursts at full speed over several
                  connections, while two devices listen to the same channel: one is
                  Reprise, one keeps its position in memory as apps often do. Both are
                  killed with SIGKILL at 12 random moments, the server once. At the end
                  the files and tables that the devices wrote are compared with what the
                  server had acknowledged.

            catch-up
                  Runs the test of the case study on catch-ups: devices subscribe to
                  four channels, get a first event, are killed, miss 200 events, come
                  back; the backlog comes out of order in four streams, with live events
                  in between, and in the middle the server is killed. Compares Reprise
                  with the original app as it froze, as it was repaired, and repaired
                  with a server that reports the end of a catch-up. The repaired one
                  waits for 60 s, so this takes about 70 s; with --fast the original's
                  timers run eight times as fast.

            proof Runs a minute of random schedules in virtual time on the shipping code,
                  and searches for a violated invariant. Then it runs the algorithms of
                  the five case studies; each is detected, one with its whole timeline.

            forms Runs every scenario of the case study on push forms on a stand-in phone:
                  push taps that launch dead apps, with real processes, SIGKILL, SIGSTOP,
                  a server and Chromium. Compares Reprise with the original app before
                  and after its repair. Takes about a minute and a half.

            reminders
                  Runs the case study on reminder routing and more on a stand-in phone:
                  taps on reminders of goals that are paused, deleted or not loaded yet,
                  imports, kills in the middle of a plan, a week without a battery, time
                  zones, nights with and without 02:30. Compares Reprise with the original
                  app before and after its repair. Takes about a minute.

            chains
                  Runs the case study on task chains and more on the same phone: chains of
                  tasks that are killed between any two instructions, force-quit, frozen,
                  updated, damaged, and that run in background slots alone. Compares Reprise
                  with the original store. Takes about a minute, with --full (more kills,
                  bytes and chains) some minutes.

            notices
                  Runs the tests of the case study on badge and banner and more on the
                  same phone: messages to an app in the foreground, in the background,
                  suspended, force-quit, by socket and by push, read here and on another
                  device, with kills of app, extension and server. Pushes go from a server
                  process through a stand-in for Apple's service to the phone. Compares
                  Reprise with the original app. Takes about a minute, with --full (1,000
                  random steps, Apple down for an hour) an hour and some minutes.

            The last four have scenarios: --list names them and what is expected of each,
            --only runs some of them and prints each moment, --output keeps the report.

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
    @Option(help: "The text to publish, UTF-8. (default: LICENSE, or the tool's own help)")
    var file: String?
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
        let names =
            switch part {
            case .forms: names(of: FormsDemo.self)
            case .reminders: names(of: RemindersDemo.self)
            case .chains: names(of: ChainsDemo.self)
            case .notices: names(of: NoticesDemo.self)
            case .all, .kill, .catchUp, .proof: [String]()
            }
        guard !names.isEmpty || only.isEmpty && !list else {
            throw ValidationError(
                "--only and --list go with a demo that has scenarios: forms, reminders, chains, notices."
            )
        }
        guard !full || part == .chains || part == .notices else {
            throw ValidationError("--full goes with the demos chains and notices.")
        }
        if let name = only.first(where: { !names.contains($0) }) {
            throw ValidationError("There is no scenario \(name.prefix(64)); see --list.")
        }
    }

    private func names<Demo: ScenarioDemo>(of demo: Demo.Type) -> [String] {
        Demo.scenarios(settings).map(\.name)
    }

    func run() async throws {
        switch part {
        case .all:
            try await report(
                ["Reprise demo", "Five features, for real: processes, sockets, SIGKILL.", ""],
                AllDemo(parts: parts, isQuiet: json).play)
        case .kill: try await report([], try killDemo().play)
        case .catchUp: try await report([], try catchUpDemo(isFast: fast).play)
        case .proof:
            let proof = ProofDemo(
                seed: seed ?? UInt64.random(in: 1...999_999_999), budget: .seconds(minutes * 60),
                jobs: ProcessInfo.processInfo.activeProcessorCount, isQuiet: json)
            try await report([], proof.play)
        case .forms: try await play(FormsDemo.self)
        case .reminders: try await play(RemindersDemo.self)
        case .chains: try await play(ChainsDemo.self)
        case .notices: try await play(NoticesDemo.self)
        }
    }

    // MARK: Demos of scenarios

    private func play<Demo: ScenarioDemo>(_ demo: Demo.Type) async throws {
        guard !list else {
            for scenario in Demo.scenarios(settings) {
                try StandardOutput.write(scenario.name.left(24) + scenario.title)
            }
            try StandardOutput.write("\nExpected of each, checked from outside the app:")
            for expectation in Demo.expectations {
                try StandardOutput.write("  " + expectation.sentence)
            }
            return
        }
        try await report(
            ["Reprise demo: \(Demo.name)", Demo.headline], runner(demo).play)
    }

    private func runner<Demo: ScenarioDemo>(_ demo: Demo.Type) -> ScenarioRunner<Demo> {
        var settings = settings
        if settings.output == nil, Demo.isAlwaysSaved {
            settings.output = FileManager.default.temporaryDirectory.appendingPathComponent(
                "reprise-\(Demo.name)-\(EntryID.random().text.prefix(8))")
        }
        return ScenarioRunner(
            scenarios: Demo.scenarios(settings, named: only),
            apps: alone ? [.reprise] : Array(Demo.App.allCases), settings: settings)
    }

    private var settings: DemoSettings {
        var settings = DemoSettings()
        settings.seed = seed
        settings.isFull = full
        settings.printsTimelines = !only.isEmpty
        settings.isQuiet = json
        settings.output = output.map { URL(fileURLWithPath: $0) }
        return settings
    }

    // MARK: The others

    private func killDemo() throws -> KillDemo {
        let seed = seed ?? UInt64.random(in: 1...999_999)
        let text = try DemoText(file: file)
        let timeline = Timeline(isQuiet: json)
        try timeline.title([
            "Reprise demo: kill, seed \(seed)",
            "\(messages.grouped) lines of \(text.source), \(kills) kills of the devices, 1 of the server.",
        ])
        return KillDemo(
            seed: seed, messages: messages, kills: kills, text: text, timeline: timeline)
    }

    private func catchUpDemo(isFast: Bool) throws -> CatchUpDemo {
        let seed = seed ?? UInt64.random(in: 1...999_999)
        let timeline = Timeline(
            isQuiet: json,
            columns: [
                ("stored", 7), ("first", 6), ("repaired", 9), ("+ signal", 9), ("reprise", 8),
            ])
        try timeline.title([
            "Reprise demo: catch-up, seed \(seed)",
            "What case-catch-up prescribes for its repair; it takes about "
                + (isFast ? "15 s." : "70 s."),
        ])
        return CatchUpDemo(
            seed: seed, speed: isFast ? 8 : 1, text: try DemoText(file: file), timeline: timeline)
    }

    private var parts: [AllDemo.Part] {
        [
            .init(name: "forms", title: "push taps on an app that is not ready (90 s)") {
                try await runner(FormsDemo.self).play()
            },
            .init(name: "kill", title: "messages to a device that is killed (20 s)") {
                try await killDemo().play()
            },
            .init(name: "catch-up", title: "a backlog out of order, cut off (15 s)") {
                try await catchUpDemo(isFast: true).play()
            },
            .init(name: "reminders", title: "taps on reminders of what is gone (40 s)") {
                try await runner(RemindersDemo.self).play()
            },
            .init(name: "chains", title: "work that is killed between any two steps (60 s)") {
                try await runner(ChainsDemo.self).play()
            },
            .init(name: "notices", title: "messages to an app that does not run (60 s)") {
                try await runner(NoticesDemo.self).play()
            },
        ]
    }

    // MARK: Reporting

    /// Plays until it is over or interrupted, and reports.
    private func report<Report: DemoReport>(
        _ head: [String], _ play: @escaping @Sendable () async throws -> Report
    ) async throws {
        if !json, let title = head.first {
            try StandardOutput.write(
                ([Terminal.output.paint(title, .bold)] + head.dropFirst()).joined(separator: "\n"))
        }
        let report: Report
        do {
            report = try await Interruption.cancelling(play).value
        } catch is CancellationError {
            throw CommandFailure(.incomplete, "Interrupted; processes and files are removed.")
        }
        let rest = json ? try report.json() : report.rest(Terminal.output)
        if !rest.isEmpty { try StandardOutput.write(rest) }
        if !report.hasPassed { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }
}
