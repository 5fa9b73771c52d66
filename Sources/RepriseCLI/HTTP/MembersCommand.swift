import ArgumentParser
import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// `reprise members`: lists and changes the members of a channel.
struct MembersCommand: AsyncParsableCommand {
    enum Role: String, ExpressibleByArgument, CaseIterable { case owner, member }

    static let configuration = CommandConfiguration(
        commandName: "members",
        abstract: "List the members of a channel; add or remove one.",
        usage: """
            reprise members CHANNEL [--server URL] [--as USER] [--json]
            reprise members CHANNEL --add USER [--role owner|member]
            reprise members CHANNEL --remove USER
            """,
        discussion: """
            Owners and admins add and remove members; anybody may join a public channel
            and leave any. A removed member's connection receives nothing more.

            EXAMPLES
              reprise members team --as ada
              reprise members team --add bob --as ada
              reprise members team --remove bob --as bob

            EXIT CODES
              0 done; 65 no such thing; 69 no server; 76 refused. All: reprise --help
            """)

    @Argument(help: .channel) var channel: String
    @Option(help: ArgumentHelp("Make a user a member, or change the role.", valueName: "user"))
    var add: String?
    @Option(help: ArgumentHelp("End a membership.", valueName: "user")) var remove: String?
    @Option(help: "What the added user is. (default: member)") var role: Role?
    @OptionGroup var server: ServerOption
    @OptionGroup var identity: IdentityOption
    @Flag(help: "Print an object a line, as the server sends it.") var json = false

    func validate() throws {
        guard add == nil || remove == nil else {
            throw ValidationError("Give --add or --remove, not both.")
        }
        guard role == nil || add != nil else { throw ValidationError("--role is for --add.") }
        do {
            _ = try ChannelName(channel)
            for user in [add, remove].compactMap(\.self) { _ = try UserID(user) }
        } catch let error as RepriseError {
            throw ValidationError(error.line)
        }
    }

    func run() async throws {
        let api = ServerAPI(server: server.url, caller: try identity.caller(at: server))
        let path = ["v1", "channels", channel, "members"]
        if let remove {
            _ = try await api.send("DELETE", path + [remove])
        } else if let add {
            let body = #"{"role":"\#((role ?? .member).rawValue)"}"#
            let answer = try await api.send("PUT", path + [add], body: Array(body.utf8))
            guard let answer else { return }
            try StandardOutput.write(
                json ? answer.line : Self.cells(answer).joined(separator: "  ").printable)
        } else {
            try await Listing(
                isJSON: json, header: ["user", "role", "since", "joined at"], cells: Self.cells
            ).print(from: api, path, "members")
        }
    }

    private static func cells(_ member: HTTPMembers) -> [String] {
        [
            member.text("user") ?? "?", member.text("role") ?? "?",
            member.integer("since").map { WallTime(milliseconds: $0).dayAndTime } ?? "–",
            member.integer("joined").map(\.grouped) ?? "–",
        ]
    }
}
