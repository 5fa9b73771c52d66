import RepriseCommandLine
import RepriseCore
import RepriseWire

/// An HTTP client of the server: the sender, and the person at another device.
struct NoticesCaller: Sendable {
    let server: String
    let token: AccessToken

    static func make(_ user: String, at server: String) async throws -> NoticesCaller {
        guard let token = try await DevToken.fetch(server: server, user: try UserID(user)) else {
            throw CommandFailure(.internal, "The server gives no tokens.")
        }
        return NoticesCaller(server: server, token: token)
    }

    @discardableResult
    func send(_ method: String, _ path: [String], _ body: String? = nil) async throws
        -> HTTPMembers?
    {
        try await ServerAPI(server: server, caller: Caller(server: server, source: .token(token)))
            .send(method, ["v1"] + path, body: body.map { Array($0.utf8) })
    }

    /// Returns when it is stored.
    func publish(_ id: String, _ text: String, to channel: String) async throws -> Int64 {
        let answer = try await send(
            "POST", ["channels", channel, "messages"],
            #"{"id":"\#(id)","body":{"text":"\#(text)"}}"#)
        guard let seq = answer?.integer("seq") else {
            throw CommandFailure(
                .internal, "The server has not said where it has stored a message.")
        }
        return seq
    }

    func read(_ channel: String, through seq: Int64) async throws {
        try await send("PUT", ["channels", channel, "positions"], #"{"read":\#(seq)}"#)
    }

    /// The user's read state.
    func standing(in channel: String) async throws -> NoticesStatus {
        let answer = try await send("GET", ["channels", channel, "positions"])
        let mine = try answer?.list("positions").first.map { try HTTPMembers($0) }
        return NoticesStatus(
            read: mine?.integer("read") ?? 0, unread: answer?.integer("unread") ?? 0)
    }
}

/// A person's read position in a conversation, by the server.
struct NoticesStatus: Hashable, Sendable {
    var read: Int64 = 0
    var unread: Int64 = 0
}
