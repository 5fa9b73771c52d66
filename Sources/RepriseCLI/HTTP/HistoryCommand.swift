import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// `reprise history`: prints a channel's messages, without a device.
struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Print a channel's messages on the server.",
        usage: """
            reprise history CHANNEL [--last COUNT | --after SEQ] [--limit COUNT]
                            [--server URL] [--as USER] [--json]
            """,
        discussion: """
            Prints the newest 20 messages, or with --after everything after a sequence.
            Stores nothing and marks nothing as read: `reprise listen` and `reprise chat`
            do that. Removed ranges are reported on standard error, or with --json as
            {"after":…,"through":…,"reason":…}.

            Says so on standard error where there is nothing to print, with 65 if the
            server tells you of no such channel: nobody has made it, or published to it.

            EXAMPLES
              reprise history general
              reprise history general --after 0 --json | jq .body
              reprise history general --last 5 --as ada

            EXIT CODES
              0 done; 65 no such channel; 69 no server; 76 refused, or not for this user.
              All: reprise --help
            """)

    @Argument(help: .channel) var channel: String
    @Option(help: ArgumentHelp("The newest so many. (default: 20)", valueName: "count"))
    var last: Int64?
    @Option(help: ArgumentHelp("What comes behind this sequence.", valueName: "seq"))
    var after: Int64?
    @Option(
        help: ArgumentHelp(
            "At most so many; without --after the newest.", valueName: "count"))
    var limit: Int64?
    @OptionGroup var server: ServerOption
    @OptionGroup var identity: IdentityOption
    @Flag(help: "Print an object a line, as the server sends it.") var json = false

    func validate() throws {
        guard last == nil || after == nil else {
            throw ValidationError("Give --last or --after, not both.")
        }
        for (name, value, least) in [("last", last, 1), ("after", after, 0), ("limit", limit, 1)] {
            guard let value, !(Int64(least)...WireLimits.greatestSequence).contains(value) else {
                continue
            }
            throw ValidationError("--\(name) is a whole number from \(least) on.")
        }
        do { _ = try ChannelName(channel) } catch let error as RepriseError {
            throw ValidationError(error.line)
        }
    }

    func run() async throws {
        let api = ServerAPI(server: server.url, caller: try identity.caller(at: server))
        var from = after ?? 0
        if after == nil {
            let head = try await page(api, after: WireLimits.greatestSequence, 1).integer("head")
            from = max(0, (head ?? 0) - ([last, limit].compactMap { $0 }.min() ?? 20))
        }
        var rest = limit ?? .max
        while rest > 0 {
            let page = try await page(api, after: from, min(rest, 1_000))
            let (gone, messages) = (try page.list("gone"), try page.list("messages"))
            for range in gone { try tell(range, api) }
            for message in messages { try write(message, api) }
            if gone.isEmpty, messages.isEmpty, from == after ?? 0 {
                try await tellNothing(api, after: from, head: page.integer("head") ?? 0)
            }
            guard let newest = try messages.last.map({ try api.members($0) })?.integer("seq"),
                newest > from
            else { return }
            rest -= Int64(messages.count)
            from = newest
        }
    }

    private func page(_ api: ServerAPI, after: Int64, _ limit: Int64) async throws -> HTTPMembers {
        let answer = try await api.send(
            "GET", ["v1", "channels", channel, "messages"],
            query: ["after": String(after), "limit": String(limit)])
        guard let answer else { throw api.notReprise }
        return answer
    }

    /// Says why nothing is printed, as far as the server tells it to this user.
    ///
    /// - Throws: ``CommandFailure`` `.badInput` if it knows nothing of such a channel.
    private func tellNothing(_ api: ServerAPI, after: Int64, head: Int64) async throws {
        guard head == 0 else {
            return Terminal.error.writeLine(
                "reprise: \(channel) has nothing behind \(after); its newest is \(head).")
        }
        // A server that takes any name tells of a public channel that nobody made, but not when.
        let known = try await api.send("GET", ["v1", "channels", channel])
        guard let known,
            known.text("visibility") != "public" || known.raw("made") != nil
                // An earlier server does not say when.
                || known.text("role") != nil || known.text("title") != nil
        else {
            throw CommandFailure(
                .badInput,
                "No message was published to \(channel), and the server tells of no such channel. Check the name; `reprise channels` lists yours."
            )
        }
        Terminal.error.writeLine("reprise: Nothing was published to \(channel) yet.")
    }

    private func write(_ message: [UInt8], _ api: ServerAPI) throws {
        guard !json else { return try StandardOutput.write(HTTPMembers.line(message)) }
        let members = try api.members(message)
        let time = members.integer("timestamp").map { WallTime(milliseconds: $0).dayAndTime } ?? ""
        let place = "\(members.integer("seq") ?? 0)".right(6) + "  " + time
        let author = members.text("from").map { " \($0)" } ?? ""
        let change: MessageChange<Int64>? =
            members.integer("edits").map { .edits($0) }
            ?? members.integer("deletes").map { .deletes($0) }
        let note = MessagePrinter.words(
            members.raw("body") ?? [], change: change, isDeleted: members.bool("deleted"))
        try StandardOutput.write(
            Terminal.output.paint(place + author.printable, .dim) + " " + note.printable)
    }

    private func tell(_ gone: [UInt8], _ api: ServerAPI) throws {
        guard !json else { return try StandardOutput.write(HTTPMembers.line(gone)) }
        let members = try api.members(gone)
        guard let after = members.integer("after"), let through = members.integer("through") else {
            return
        }
        Terminal.error.writeLine(
            "reprise: \(after + 1) to \(through) are not here any more: "
                + (members.text("reason") ?? "?").printable + ".")
    }
}
