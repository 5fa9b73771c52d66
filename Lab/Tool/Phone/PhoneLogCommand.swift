import ArgumentParser
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// `reprise-lab phone log`: prints the phone's events.
struct PhoneLogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Print what has happened on the phone, or follow it.",
        usage: """
            reprise-lab phone log [--follow] [--since NUMBER] [--app APP]
                                  [--folder DIR] [--json]
            """,
        discussion: """
            The phone remembers its newest 10,000 events, also when it is killed.

            EXAMPLES
              reprise-lab phone log
              reprise-lab phone log --follow
              reprise-lab phone log --app mail --json | jq -r .what

            EXIT CODES
              0 printed, or ended by a signal; 69 no phone runs there, or it has ended.
              All: reprise-lab --help
            """)

    @Flag(help: "Go on printing until a signal ends it, or the phone ends.") var follow = false
    @Option(help: ArgumentHelp("Only what comes after this event.", valueName: "number"))
    var since = 0
    @Option(help: ArgumentHelp("Only what concerns this app.")) var app: String?
    @OptionGroup var phone: PhoneOption

    func validate() throws {
        guard since >= 0 else { throw ValidationError("--since is a whole number from 0 on.") }
    }

    func run() async throws {
        _ = try await Interruption.cancelling { try await phone.talk(print) }
    }

    private func print(_ phone: PhoneControl) async throws {
        let timeline = PhoneTimeline(isJSON: self.phone.json)
        var last = since
        while !Task.isCancelled {
            let events: [PhoneEvent]
            do {
                // Waits in pieces, so that a signal is heeded soon.
                events = try await phone.log(since: last, wait: follow ? .seconds(1) : .zero)
            } catch is CancellationError {
                return
            }
            try timeline.write(events.filter { app == nil || $0.app == app })
            last = events.last?.number ?? last
            if events.isEmpty, !follow { return }
        }
    }
}
