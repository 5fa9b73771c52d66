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
                             [--history all|since-join] [--title TITLE]
                             [--keep-messages COUNT] [--keep-days DAYS]
            """,
        discussion: """
            Without a name: lists the channels that you are a member of, with unread
            counts; an admin sees all. With a name alone: shows one channel. With
            settings: creates the channel, or changes these; omitted ones get their
            defaults, or stay as they are. The creator owns it. Channels that were only
            published to, on a --dev server, are not listed.

            EXAMPLES
              reprise channels --as ada
              reprise channels team --visibility private --title "The team" --as ada
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
    @Option(help: ArgumentHelp("How many messages it keeps at most.", valueName: "count"))
    var keepMessages: Int64?
    @Option(help: ArgumentHelp("For how long it keeps messages.", valueName: "days"))
    var keepDays: Int64?
    @OptionGroup var server: ServerOption
    @OptionGroup var identity: IdentityOption
    @Flag(help: "Print an object a line, as the server sends it.") var json = false

    private var hasSettings: Bool {
        visibility != nil || history != nil || title != nil || keepMessages != nil
            || keepDays != nil
    }

    func validate() throws {
        do { if let channel { _ = try ChannelName(channel) } } catch let error as RepriseError {
            throw ValidationError(error.line)
        }
        guard channel != nil || !hasSettings else {
            throw ValidationError("Settings are for one channel: give its name.")
        }
        for (name, value) in [("keep-messages", keepMessages), ("keep-days", keepDays)] {
            guard let value, !(1...36_500).contains(value), name == "keep-days" || value < 1 else {
                continue
            }
            throw ValidationError("--\(name) is a whole number from 1 on.")
        }
    }

    func run() async throws {
        let api = ServerAPI(server: server.url, caller: try identity.caller(at: server))
        guard let channel else {
            return try await Listing(
                isJSON: json, header: ["channel", "unread", "head", "visibility", "role", "title"],
                cells: Self.cells
            ).print(from: api, ["v1", "channels"], "channels")
        }
        let body = hasSettings ? settings(after: try await current(channel, api)) : nil
        let answer = try await api.send(
            hasSettings ? "PUT" : "GET", ["v1", "channels", channel], body: body)
        guard let answer else { return }
        try StandardOutput.write(json ? answer.line : Self.description(answer))
    }

    /// The channel as it is; nil: it is not there, or not for this user.
    private func current(_ channel: String, _ api: ServerAPI) async throws -> HTTPMembers? {
        let answer = try await api.exchange("GET", ["v1", "channels", channel])
        switch answer.status {
        case 200: return try HTTPMembers(answer.body)
        case 403, 404: return nil
        default: throw api.failure(answer)
        }
    }

    /// All settings: a `PUT` replaces them, and would make a private channel public.
    private func settings(after current: HTTPMembers?) -> [UInt8] {
        let kept = current?.raw("retention").flatMap { try? HTTPMembers($0) }
        let retention: [(StaticString, Int64?)] = [
            ("messages", keepMessages ?? kept?.integer("messages")),
            ("seconds", keepDays.map { $0 * 86_400 } ?? kept?.integer("seconds")),
            ("bytes", kept?.integer("bytes")),
        ]
        let history = history.map { $0 == .all ? "all" : "sinceJoin" } ?? current?.text("history")
        let title = title ?? current?.text("title")
        var writer = JSONWriter()
        writer.object { json in
            json.key("visibility")
            json.string(visibility?.rawValue ?? current?.text("visibility") ?? "public")
            json.key("history")
            json.string(history ?? "all")
            if let title {
                json.key("title")
                json.string(title)
            }
            guard retention.contains(where: { $0.1 != nil }) else { return }
            json.key("retention")
            json.object { json in
                for (key, value) in retention {
                    guard let value else { continue }
                    json.key(key)
                    json.integer(value)
                }
            }
        }
        return writer.bytes
    }

    private static func cells(_ channel: HTTPMembers) -> [String] {
        [
            channel.text("channelId") ?? "?", unread(channel) ?? "–",
            channel.integer("head").map(\.grouped) ?? "–", channel.text("visibility") ?? "?",
            channel.text("role") ?? "–", channel.text("title") ?? "",
        ]
    }

    /// With how many mention the user: `12 (3 @you)`.
    private static func unread(_ channel: HTTPMembers) -> String? {
        channel.integer("unread").map { count in
            count.grouped + (channel.integer("mentions").map { " (\($0.grouped) @you)" } ?? "")
        }
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
        if let retention = channel.raw("retention") {
            lines.append(("keeps", String(decoding: retention, as: UTF8.self)))
        }
        return lines.compactMap { name, value in value.map { name.left(12) + $0.printable } }
            .joined(separator: "\n")
    }
}
