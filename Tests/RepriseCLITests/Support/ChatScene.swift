import Foundation
import RepriseCommandLine
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@testable import RepriseCLI

/// A server that knows who its people are, and the journals of those.
struct ChatScene {
    let folder: TemporaryFolder
    var server: ToolServer

    private let options: [String]

    init(options: [String] = ["--dev"]) async throws {
        self.options = options
        folder = try TemporaryFolder()
        server = try await ToolServer(data: folder.path("data"), options: options)
    }

    func arguments(_ user: String) -> [String] {
        [
            "chat", "general", "--as", user, "--server", server.url, "--journal",
            folder.path("state"),
        ]
    }

    /// Nobody but root may publish in the channel from now on.
    func makePrivate() async throws {
        let made = try await Tool.run(
            "channels", "general", "--visibility", "private", "--as", "root", "--server",
            server.url)
        #expect(made.status == 0, "\(made.error)")
    }

    mutating func restartServer() async throws {
        server = try await ToolServer(
            data: folder.path("data"), url: server.url, options: options)
    }

    /// Publishes over HTTP, so that a message can be an edit or a deletion.
    func post(_ json: String, as user: String) async throws {
        _ = try await api(user).send(
            "POST", ["v1", "channels", "general", "messages"], body: Array(json.utf8))
    }

    /// Reads on another device of a user.
    func read(through seq: Int, as user: String) async throws {
        _ = try await api(user).send(
            "PUT", ["v1", "channels", "general", "positions"],
            body: Array(#"{"read":\#(seq),"device":"other"}"#.utf8))
    }

    private func api(_ user: String) throws -> ServerAPI {
        ServerAPI(
            server: server.url,
            caller: Caller(server: server.url, source: .development(try UserID(user))))
    }

    /// What the server holds: `AUTHOR TEXT`, without edits and deletions.
    func said() async throws -> [String] {
        try await Tool.run(
            "history", "general", "--after", "0", "--json", "--as", "eve", "--server", server.url
        ).lines.compactMap { line in
            let message = try HTTPMembers(Array(line.utf8))
            guard message.integer("edits") == nil, message.integer("deletes") == nil else {
                return nil
            }
            let body =
                message.bool("deleted") ? "(deleted)" : ChatBody(message.raw("body") ?? []).text
            return (message.text("from") ?? "?") + " " + body
        }
    }
}

extension [String] {
    /// How many of the messages on the screen say it; `within`: wherever they say it, not only at
    /// their beginning.
    func times(_ text: String, within: Bool = false) -> Int {
        dropLast(2).count { $0.contains(within ? text : "  " + text) }
    }
}
