import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseNIO
import RepriseWire

/// `reprise publish`: stores messages on the server, a line each.
struct PublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publish messages to a channel.",
        usage: """
            reprise publish CHANNEL [TEXT...] [--file FILE] [--server URL]
                            [--as USER] [--mention USER...] [--json-lines]
                            [--json] [--patience SECONDS] [--quiet]
            """,
        discussion: """
            A message is one TEXT, or one line of FILE or of standard input. It becomes
            a JSON string; with --json-lines the line is JSON and is sent unchanged.

            With --mention it becomes an object with `text` and `notice.mentions`; a line
            of JSON must be an object without. A mention of a user who is no member of
            the channel means nothing.

            Returns when the server has stored all of them, in this order, each once.
            Publishing continues after a restart of the server.

            The server limits a user's messages per second. Beyond that, messages wait; a
            note on standard error says so, except with --quiet or --json. The summary
            has the time waited.

            EXAMPLES
              reprise publish general "Hello" "How are you?"
              reprise publish general --file /usr/share/common-licenses/GPL-3
              reprise publish general "@grace, look" --mention grace
              tail -f app.log | reprise publish logs
              echo '{"text":"hi"}' | reprise publish general --json-lines

            EXIT CODES
              0 all stored; 1 interrupted; 65 a line is not a message (those before
              it are stored); 66 no such file; 69 no server; 76 refused.
              All: reprise --help
            """)

    @Argument(help: .channel) var channel: String
    @Argument(help: "A message each.") var text: [String] = []
    @Option(help: ArgumentHelp("Read lines from a file; - is standard input.", valueName: "file"))
    var file: String?
    @OptionGroup var server: ServerOption
    @OptionGroup var identity: IdentityOption
    @Option(help: ArgumentHelp("A user whom each message mentions.", valueName: "user"))
    var mention: [String] = []
    @Flag(help: "A line is JSON, and stays as it is.") var jsonLines = false
    @Flag(help: "Print the summary as JSON.") var json = false
    @Flag(help: "Print the summary alone: no progress, no reasons.") var quiet = false
    @Option(
        name: .customLong("patience"),
        help: ArgumentHelp(
            "How long to go on trying when the server goes away.", valueName: "seconds"))
    var timeout = 60.0

    func validate() throws {
        do { _ = try ChannelName(channel) } catch let error as RepriseError {
            throw ValidationError(error.line)
        }
        do { _ = try mention.map { try UserID($0) } } catch let error as RepriseError {
            throw ValidationError(error.line)
        }
        guard mention.count <= Mentions.limit else {
            throw ValidationError("A message mentions at most \(Mentions.limit) users.")
        }
        guard text.isEmpty || file == nil else {
            throw ValidationError("Give messages or --file, not both.")
        }
        guard timeout >= 0, timeout <= 86_400 else {
            throw ValidationError("--patience is between 0 and 86400 seconds.")
        }
    }

    func run() async throws {
        let source = MessageSource(
            origin: try origin(), isJSON: jsonLines, mentions: try mention.map { try UserID($0) })
        let queue = PublishQueue(channel: try ChannelName(channel)) { _, _ in }
        let reconnects = Counter()
        let publisher = Publisher(
            server: server.url, dialer: server.dialer, queue: queue,
            caller: try identity.caller(at: server), timeout: .seconds(timeout),
            onReconnect: { reconnects.increment() })
        let progress = PublishProgress(queue: queue)
        let isQuiet = quiet || json
        let showing = Task { if !isQuiet { await progress.show() } }
        let start = ContinuousClock.now
        var failure: (any Error)?
        do {
            _ = try await Interruption.cancelling { try await publisher.run(source) }
        } catch {
            failure = error
        }
        showing.cancel()
        await showing.value
        let summary = PublishSummary(
            server: server.url, channel: channel, progress: queue.progress,
            duration: .now - start, reconnects: reconnects.value)
        let words = json ? summary.json : summary.text
        guard let failure else { return try StandardOutput.write(words) }
        if queue.progress.acknowledged > 0 { try StandardOutput.explain(words) }
        throw summary.explain(failure)
    }

    private func origin() throws -> MessageSource.Origin {
        if !text.isEmpty { return .texts(text) }
        if let file, file != "-" { return .lines(try InputLineReader(path: file)) }
        if isatty(STDIN_FILENO) == 1, !quiet {
            Terminal.error.writeLine("A line is a message. End with Ctrl-D.")
        }
        return .lines(InputLineReader(descriptor: STDIN_FILENO))
    }
}
