import ArgumentParser
import Foundation
import RepriseCore

/// `reprise demo`: shows the promises being kept, with real processes and real kills.
struct DemoCommand: AsyncParsableCommand {
    enum Scenario: String, ExpressibleByArgument, CaseIterable {
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
        abstract: "See it survive: real processes, real kills.",
        usage: "reprise demo [<scenario>] [options]",
        discussion: """
            all   Plays forms, kill, catch-up (with --fast), reminders, chains and notices,
                  one after the other, and ends with one table of what was promised and
                  what was seen. Takes three to five minutes.

            kill  Publishes 20,000 lines of a text, in bursts at full speed over several
                  connections, while two devices listen to the same channel: one is
                  Reprise, one keeps its position in memory as apps often do. Both are
                  killed with SIGKILL at 12 random moments, the server once. In the end
                  what the devices wrote, in a file and in a table, is held against what
                  the server had acknowledged.

            catch-up
                  Plays the test that seed 001 prescribes for its repair: devices
                  subscribe to four channels, get a first event, are killed, miss 200
                  events, come back; the backlog comes out of order in four streams,
                  with live events in between, and in the middle the server is killed.
                  Beside Reprise play the app of the seed as it froze, as it was
                  repaired, and repaired with a server that says when a catch-up is
                  over. The repaired one waits for 60 s, so this takes about 70 s;
                  with --fast the seed's timers go eight times as fast.

            proof Plays a minute of random schedules in virtual time, made of the code that
                  ships, and looks for a broken promise. Then the algorithms of the five
                  documents that Reprise comes from are put to the same test, and each is
                  convicted, one of them with its whole story.

            forms Plays every scenario of seed 000 on a stand-in phone: push taps that launch
                  dead apps, with real processes, SIGKILL, SIGSTOP, a server and Chromium.
                  Beside Reprise play the app of the seed before and after its repair.
                  Takes about a minute and a half; --list names the scenarios, --only
                  plays some of them.

            reminders
                  Plays what seed 002 tells of on a stand-in phone, and what it does not:
                  taps on reminders of goals that are paused, deleted or not loaded yet,
                  imports, deaths in the middle of a plan, a week without a battery, time
                  zones, nights with and without 02:30. Beside Reprise play the app of the
                  seed before and after its repair. Takes about a minute; --list and --only
                  as with forms, where --only prints timelines.

            chains
                  Plays the scenarios of seed 003 and more on the same phone: chains of tasks
                  that are killed between any two instructions, force-quit, frozen, updated,
                  damaged, and that run in background slots alone. Beside Reprise plays the
                  seed's store. Takes about a minute, with --full (more kills, bytes and
                  chains) some minutes; --list and --only as with forms, which then tells
                  each moment.

            notices
                  Plays the four tests of seed 004, the rows of its tables and more on the
                  same phone: messages to an app in the foreground, in the background,
                  suspended, force-quit, by socket and by push, read here and on another
                  device, over kills of app, extension and server. Pushes go from a server
                  process by a stand-in of Apple's service to the phone. Beside Reprise
                  plays the app of the seed. Takes about a minute, with --full (1,000
                  random steps, Apple down for an hour) an hour and some minutes; --list
                  and --only as with reminders.

            Everything happens in a temporary folder and on this machine alone.

            EXAMPLES
              reprise demo
              reprise demo kill --seed 42
              reprise demo catch-up
              reprise demo proof --minutes 5
              reprise demo forms --only terminated-fast --only killed-once
              reprise demo reminders --only case-4 --only import-new
              reprise demo chains --only seed-flow
              reprise demo notices --only test-4 --only force-quit
              reprise demo --json | jq .passed

            EXIT CODES
              0 nothing was lost or repeated; 1 something was. All: reprise --help
            """)

    @Argument(help: "What to show.") var scenario = Scenario.all
    @Option(help: "Draws the moments of the kills. (default: random)") var seed: UInt64?
    @Option(help: "The text to publish, UTF-8. (default: LICENSE, or the tool's own help)")
    var file: String?
    @Option(help: "How long the proof searches.") var minutes = 1.0
    @Flag(help: "The seed's timers in catch-up go eight times as fast.") var fast = false
    @Flag(help: "Print the report as JSON, without the timeline.") var json = false
    @Option(
        help: ArgumentHelp(
            "A scenario of forms, reminders, chains or notices; may be repeated.", valueName: "name"
        ))
    var only: [String] = []
    @Flag(help: "Name the scenarios of forms, reminders, chains or notices.") var list = false
    @Option(
        help: ArgumentHelp(
            "Where forms puts the picture of a form (default: a temporary folder), reminders and notices their report with all timelines, and chains what its tasks did.",
            valueName: "dir"))
    var output: String?
    @Flag(
        help: ArgumentHelp(
            "The issues' own numbers. Chains: 1,000 steps killed 100 times, 50 MB fetched, 10,000 that wait; notices: 1,000 random steps, Apple down for an hour."
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
            switch scenario {
            case .reminders: RemindersScenario.all.map(\.name)
            case .chains: ChainsScenario.all().map(\.name)
            case .notices: NoticesScenario.all.map(\.name)
            case .forms: FormsScenario.all.map(\.name)
            case .all, .kill, .catchUp, .proof: [String]()
            }
        guard !names.isEmpty || only.isEmpty && !list else {
            throw ValidationError(
                "--only and --list go with a demo that has scenarios: forms, reminders, chains, notices."
            )
        }
        guard !full || scenario == .chains || scenario == .notices else {
            throw ValidationError("--full goes with the demos chains and notices.")
        }
        if let name = only.first(where: { !names.contains($0) }) {
            throw ValidationError("There is no scenario \(name.prefix(64)); see --list.")
        }
    }

    func run() async throws {
        switch scenario {
        case .all: try await all()
        case .kill: try await kill()
        case .catchUp: try await catchUp()
        case .proof: try await prove()
        case .forms: try await forms()
        case .reminders: try await reminders()
        case .chains: try await chains()
        case .notices: try await notices()
        }
    }

    private func forms() async throws {
        guard !list else { return try FormsScenario.list() }
        if !json {
            try StandardOutput.write(
                Terminal.output.paint("Reprise demo: forms", .bold)
                    + "\nSeed 000, for real. Times in seconds since the tap.")
        }
        let demo = formsDemo(isQuiet: json)
        let report = try await Self.ending { try await demo.play() }
        try StandardOutput.write(json ? try report.json() : report.table(Terminal.output))
        if !report.hasPassed { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }

    private func reminders() async throws {
        guard !list else { return try RemindersScenario.list() }
        if !json {
            try StandardOutput.write(
                Terminal.output.paint("Reprise demo: reminders", .bold)
                    + "\nSeed 002, for real; it takes about a minute.\n")
        }
        let demo = remindersDemo
        let report = try await Self.ending { try await demo.play() }
        if json { try StandardOutput.write(try report.json()) }
        if !report.hasPassed { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }

    private func prove() async throws {
        let scenario = ProofScenario(
            seed: seed ?? UInt64.random(in: 1...999_999_999), budget: .seconds(minutes * 60),
            jobs: ProcessInfo.processInfo.activeProcessorCount, isQuiet: json)
        let (report, wasInterrupted) = try await Interruption.cancelling {
            try await scenario.play()
        }
        guard !wasInterrupted else {
            throw CommandFailure(.incomplete, "Interrupted before the proof was complete.")
        }
        try StandardOutput.write(json ? report.json() : report.table(Terminal.output))
        if !report.hasPassed { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }

    private func catchUp() async throws {
        let scenario = try catchUpScenario(isFast: fast)
        let report = try await Self.ending { try await scenario.play() }
        try StandardOutput.write(json ? report.json() : report.table(Terminal.output))
        if !report.hasPassed { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }

    /// Runs a scenario of real processes until it is over or interrupted.
    static func ending<Report: Sendable>(
        _ play: @escaping @Sendable () async throws -> Report
    ) async throws -> Report {
        do {
            return try await Interruption.cancelling(play).value
        } catch is CancellationError {
            throw CommandFailure(.incomplete, "Interrupted; processes and files are removed.")
        }
    }

    private func kill() async throws {
        let scenario = try killScenario()
        let report = try await Self.ending { try await scenario.play() }
        try StandardOutput.write(json ? report.json() : report.table(Terminal.output))
        if !report.hasPassed { throw ExitCode(ExitStatus.incomplete.rawValue) }
    }
}
