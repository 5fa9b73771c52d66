import ArgumentParser
import Foundation
import Reprise
import RepriseCommandLine
import RepriseCore
import RepriseJournal
import RepriseNIO
import RepriseWire

/// `reprise listen`: a device that prints messages.
struct ListenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen",
        abstract: "Print the messages of channels as they come.",
        usage: """
            reprise listen CHANNEL... --journal DIR [--as USER] [--server URL]
                           [--json] [--until-complete] [--wait]
            reprise listen CHANNEL... --journal DIR --debug [--json]
            """,
        discussion: """
            Keeps a journal in DIR and continues where it stopped: prints missed messages
            and repeats none. After a kill the few messages in flight come again, with an
            attempt above 1. A journal belongs to one user: as another, name another
            folder.

            A line is SEQ AUTHOR: TEXT. An edit or a deletion is a message of its own:
            (edits SEQ) TEXT, (deletes SEQ). With --json a line is
            {"channel":…,"seq":…,"id":…,"body":…,"attempt":…}, with "from", "edits",
            "deletes" and "deleted" where they apply. Control characters are escaped, so
            that no message can harm a terminal.

            --debug prints the state of each channel instead of messages: its mode, what
            is missing, and the state of the connection; in place in a terminal, else
            once a second. The next run without it prints the messages. Beside a process
            that owns the journal it shows what that one has committed.

            EXAMPLES
              reprise listen general --journal ./inbox
              reprise listen general --journal ./inbox --debug
              reprise listen general --journal ./ada --as ada
              reprise listen general news --journal ./inbox --json | jq .body
              reprise listen general --journal ./inbox --until-complete

            EXIT CODES
              0 ended by a signal, or complete; 1 ended before it was complete;
              65 DIR holds something else, or the journal of another user; 69 no server
              answers; 75 another process owns the journal; 76 not a Reprise server, or it
              refuses a channel; 77 no permission.
              All: reprise --help
            """)

    @Argument(help: .channel) var channel: [String]
    @Option(
        help: ArgumentHelp("The folder of the journal; made if it is not there.", valueName: "dir"))
    var journal: String
    @OptionGroup var server: ServerOption
    @OptionGroup var identity: IdentityOption
    @Flag(help: "Print an object a line.") var json = false
    @Flag(help: "End when everything that the server has is printed.") var untilComplete = false
    @Flag(help: "Show where the channels stand, not what they say.") var debug = false
    @Flag(help: "Go on trying if no server answers at the start, or it refuses a channel.")
    var wait = false

    func validate() throws {
        guard !debug || !untilComplete else {
            throw ValidationError("--debug goes on until it is ended: leave out --until-complete.")
        }
        do { for name in channel { _ = try ChannelName(name) } } catch let error as RepriseError {
            throw ValidationError(error.line)
        }
    }

    func run() async throws {
        let identity = try identity.caller(at: server).identity()
        let folder = URL(fileURLWithPath: journal)
        let reprise: AccountClient
        do {
            reprise = try await AccountClient.open(
                at: folder, server: server.url, dialer: server.dialer, identity: identity,
                configuration: .ofNamedChannels)
        } catch let error as RepriseError where debug && error.code == .journalOwned {
            return try await watch(.journal(folder))
        }
        do {
            try await JournalUser.expect(identity?.user, in: reprise, at: journal)
            if let place = reprise.journal.opening.setAside {
                Terminal.error.writeLine(
                    "reprise: What was in the journal is no sound database; it is kept at "
                        + "\(place.path), and a new journal was begun.")
            }
            if debug { try await watch(.client(reprise)) } else { try await listen(with: reprise) }
        } catch {
            await reprise.close()
            throw error
        }
        await reprise.close()
    }

    private func listen(with reprise: AccountClient) async throws {
        let listener = Listener(
            reprise: reprise, server: server.url, channels: Array(Set(channel)).sorted(),
            printer: MessagePrinter(isJSON: json, showsChannel: channel.count > 1),
            untilComplete: untilComplete, waitsForServer: wait)
        let isComplete = try await Interruption.cancelling { try await listener.run() }.value
        guard isComplete || !untilComplete else {
            throw CommandFailure(
                .incomplete, "Ended before everything was printed; start it again to go on.")
        }
    }

    private func watch(_ source: DebugWatch.Source) async throws {
        let watch = DebugWatch(
            source: source, channels: Array(Set(channel)).sorted(), isJSON: json)
        _ = try await Interruption.cancelling { try await watch.run() }
    }
}
