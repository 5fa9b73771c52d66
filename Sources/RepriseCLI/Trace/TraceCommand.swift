import ArgumentParser
import Foundation
import Reprise
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// `reprise trace`: prints the way of one message, from its publish to its banner.
struct TraceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Show a message's way from the outbox to its readers.",
        usage: """
            reprise trace ID --journal DIR [--channel NAME] [--json]
                          [--server URL] [--as USER | --token TOKEN]
            """,
        discussion: """
            Reads the journal of a running or dead app without disturbing it. With
            --server, --as, --token or $REPRISE_SERVER it also asks the server: whether it
            has the message, how far it has come to each member and to the caller's own
            devices, and who has read it. What nobody has kept is said at the end. No body
            is printed. Where the journal does not know the message, name its --channel; it
            is then looked for among the channel's newest 1,000.

            EXAMPLES
              ID=$(reprise history general --last 1 --json | jq -r .id)
              reprise trace $ID --journal ./inbox
              reprise trace $ID --journal ./inbox --server https://chat.example.org
              reprise trace $ID --journal ./inbox --as ada --channel general
              reprise trace $ID --journal ./inbox --json | jq '.steps[].step'

            EXIT CODES
              0 shown; 65 no journal there, or a message that is not known; 69 no server:
              the journal's part is shown; 76 the server refuses. All: reprise --help
            """)

    @Argument(help: "The message's id, all of it.") var id: String
    @OptionGroup var journal: JournalOption
    @Option(
        help: ArgumentHelp(
            "Its channel, if the journal does not know the message.", valueName: "name"))
    var channel: String?
    @OptionGroup var server: ServerOption
    @OptionGroup var identity: IdentityOption
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        do {
            _ = try EntryID(id)
            _ = try channel.map { try ChannelName($0) }
        } catch let error as RepriseError {
            throw ValidationError(error.line)
        }
    }

    private var asksServer: Bool {
        let address = ProcessInfo.processInfo.environment["REPRISE_SERVER"] ?? ""
        return server.given != nil || identity.user != nil || identity.token != nil
            || !address.isEmpty
    }

    func run() async throws {
        let id = try EntryID(self.id)
        let named = try channel.map { try ChannelName($0) }
        let trace = try journal.read { try MessageTrace.read(id, in: named, at: $0) }
        var report = TraceReport(id, trace, named: named)
        if let trace {
            let journal = TraceJournal(trace: trace)
            report.steps += journal.steps
            report.unknown += journal.unknown
        }
        let isKnown = trace?.isKnown ?? false
        guard asksServer else {
            guard isKnown else { throw unknown("This journal does not know the message.") }
            report.unknown.append("What the server has: give --server, and --as or --token.")
            return try print(report)
        }
        do {
            try await ask(&report)
        } catch {
            // What the journal knows helps also where no server answers.
            if isKnown { try StandardOutput.explain(words(of: report)) }
            throw error
        }
        guard isKnown || report.seq != nil else {
            throw unknown("Neither this journal nor the server knows the message.")
        }
        try print(report)
    }

    private func ask(_ report: inout TraceReport) async throws {
        guard let channel = report.channel else {
            throw RepriseError(
                .noSuchEntry, "This journal does not know the message, nor its channel.",
                remedy: "Name the channel with --channel.")
        }
        let api = ServerAPI(server: server.url, caller: try identity.caller(at: server))
        let message = report.trace?.message
        let received = message?.received
        let answer = try await TraceServer(api: api, id: report.id, channel: channel).ask(
            seq: report.seq,
            epoch: received?.current == nil ? received?.epoch : message?.log?.epoch)
        report.steps += answer.steps
        report.unknown += answer.unknown
        if let trace = report.trace, !trace.isKnown, let seq = answer.seq {
            // The sequence says what the journal alone could not.
            let why = TraceJournal(trace: trace).why(seq)
            report.steps.insert(TraceStep(place: .device, name: "not here", text: why), at: 0)
        }
        report.seq = answer.seq ?? report.seq
    }

    private func unknown(_ what: String) -> RepriseError {
        RepriseError(
            .noSuchEntry, what,
            remedy: "Check the id, or ask the server: --as or --token, with --channel.")
    }

    private func print(_ report: TraceReport) throws {
        try StandardOutput.write(words(of: report))
    }

    private func words(of report: TraceReport) -> String {
        json ? report.json : report.lines(Terminal.output).joined(separator: "\n")
    }
}
