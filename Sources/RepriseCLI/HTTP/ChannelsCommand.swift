import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// `reprise channels`: lists channels and their settings.
struct ChannelsCommand: AsyncParsableCommand {
    enum Visibility: String, ExpressibleByArgument, CaseIterable {
        case `public`, `private`, inbox
    }

    enum History: String, ExpressibleByArgument, CaseIterable {
        case all
        case sinceJoin = "since-join"
    }

    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract: "List channels; make or change one.",
        usage: """
            reprise channels [--server URL] [--as USER] [--json]
            reprise channels CHANNEL [--visibility public|private|inbox]
                             [--history all|since-join] [--title TITLE | --no-title]
                             [--keep-messages COUNT] [--keep-days DAYS]
                             [--no-retention]
            """,
        discussion: """
            Without a name: lists the channels that you are a member of, with unread
            counts and the retention of their own; an admin sees all. With a name alone:
            shows one channel. With settings: creates the channel, or changes these at
            once; omitted ones get their defaults, or stay as they are. The creator owns
            it. Channels that were only published to, on a --dev server, are not listed.

            EXAMPLES
              reprise channels --as ada
              reprise channels team --visibility private --title "The team" --as ada
              reprise channels team --no-retention --keep-days 30 --as ada
              reprise channels --as ada --json | jq -r .channelId

            EXIT CODES
              0 done; 65 no such thing; 69 no server; 76 refused. All: reprise --help
            """)

    @Argument(help: .channel) var channel: String?
    @Option(
        help: "Every user reads and publishes, or members; or owners alone read. (default: public)")
    var visibility: Visibility?
    @Option(help: "What a new member gets: everything, or what comes since. (default: all)")
    var history: History?
    @Option(help: "A name for people.") var title: String?
    @Flag(name: .customLong("no-title"), help: "It has no title any more.") var dropsTitle = false
    @Option(help: ArgumentHelp("How many messages it keeps at most.", valueName: "count"))
    var keepMessages: Int64?
    @Option(help: ArgumentHelp("For how long it keeps messages.", valueName: "days"))
    var keepDays: Int64?
    @Flag(
        name: .customLong("no-retention"),
        help: "It keeps messages as the server does, but for what is given beside this.")
    var dropsRetention = false
    @OptionGroup var server: ServerOption
    @OptionGroup var identity: IdentityOption
    @Flag(help: "Print an object a line, as the server sends it.") var json = false

    private var hasSettings: Bool {
        visibility != nil || history != nil || title != nil || keepMessages != nil
            || keepDays != nil || dropsTitle || dropsRetention
    }

    func validate() throws {
        do { if let channel { _ = try ChannelName(channel) } } catch let error as RepriseError {
            throw ValidationError(error.line)
        }
        guard channel != nil || !hasSettings else {
            throw ValidationError("Settings are for one channel: give its name.")
        }
        guard title == nil || !dropsTitle else {
            throw ValidationError("Give --title or --no-title, not both.")
        }
        if let keepMessages, keepMessages < 1 {
            throw ValidationError("--keep-messages is a whole number from 1 on.")
        }
        if let keepDays, !(1...36_500).contains(keepDays) {
            throw ValidationError("--keep-days is a whole number from 1 to 36500.")
        }
    }

    func run() async throws {
        let api = ServerAPI(server: server.url, caller: try identity.caller(at: server))
        guard let channel else {
            return try await Listing(
                isJSON: json,
                header: ["channel", "unread", "head", "visibility", "role", "keeps", "title"],
                cells: Self.cells
            ).print(from: api, ["v1", "channels"], "channels")
        }
        let answer = try await api.send(
            hasSettings ? "PATCH" : "GET", ["v1", "channels", channel],
            body: hasSettings ? changes : nil)
        guard let answer else { return }
        try StandardOutput.write(json ? answer.line : Self.description(answer))
    }

    /// What changes (RFC 7396): the server keeps the others in the same transaction.
    private var changes: [UInt8] {
        let retention: [(StaticString, Int64?)] = [
            ("messages", keepMessages), ("seconds", keepDays.map { $0 * 86_400 }), ("bytes", nil),
        ]
        var writer = JSONWriter()
        writer.object { json in
            if let visibility {
                json.key("visibility")
                json.string(visibility.rawValue)
            }
            if let history {
                json.key("history")
                json.string(history == .all ? "all" : "sinceJoin")
            }
            if title != nil || dropsTitle {
                json.key("title")
                if let title { json.string(title) } else { json.raw(Self.null) }
            }
            guard dropsRetention || keepMessages != nil || keepDays != nil else { return }
            json.key("retention")
            json.object { json in
                for (key, value) in retention where value != nil || dropsRetention {
                    json.key(key)
                    if let value { json.integer(value) } else { json.raw(Self.null) }
                }
            }
        }
        return writer.bytes
    }

    private static let null = Array("null".utf8)

    private static func cells(_ channel: HTTPMembers) -> [String] {
        [
            channel.text("channelId") ?? "?", unread(channel) ?? "–",
            channel.integer("head").map(\.grouped) ?? "–", channel.text("visibility") ?? "?",
            channel.text("role") ?? "–", retention(channel) ?? "–", channel.text("title") ?? "",
        ]
    }

    /// With how many mention the user: `12 (3 @you)`.
    private static func unread(_ channel: HTTPMembers) -> String? {
        channel.integer("unread").map { count in
            count.grouped + (channel.integer("mentions").map { " (\($0.grouped) @you)" } ?? "")
        }
    }

    /// `100 messages, 30d`; nil: it keeps them as the server does.
    private static func retention(_ channel: HTTPMembers) -> String? {
        guard let limits = channel.raw("retention").flatMap({ try? HTTPMembers($0) }) else {
            return nil
        }
        let parts: [String?] = [
            limits.integer("messages").map { $0 == 1 ? "1 message" : "\($0.grouped) messages" },
            limits.integer("seconds").map { Lifetime(seconds: Int($0)).defaultValueDescription },
            limits.integer("bytes").map { "\($0.grouped) bytes" },
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }

    private static func description(_ channel: HTTPMembers) -> String {
        var lines: [(String, String?)] = [
            ("channel", channel.text("channelId")), ("title", channel.text("title")),
            ("visibility", channel.text("visibility")), ("history", channel.text("history")),
            ("role", channel.text("role")), ("head", channel.integer("head")?.grouped),
            ("floor", channel.integer("floor")?.grouped), ("epoch", channel.text("epoch")),
            ("read", channel.integer("read")?.grouped),
            ("unread", unread(channel)),
        ]
        lines.append(("keeps", retention(channel)))
        return lines.compactMap { name, value in value.map { name.left(12) + $0.printable } }
            .joined(separator: "\n")
    }
}
