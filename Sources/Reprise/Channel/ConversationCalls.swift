import Foundation
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseNotices
import RepriseWire

/// The HTTP requests by which the server does changes of conversations.
///
/// Each can be repeated: a change that was interrupted is done again from its beginning.
struct ConversationCalls: Sendable {
    let server: NoticeServer
    let channels: Channels

    func perform(_ entry: Entry) async throws {
        let change: ConversationChange
        do {
            change = try ForeignJSON.decode(ConversationChange.self, from: entry.payload)
        } catch {
            throw DispatchFailure.permanent("It cannot be read.")
        }
        do {
            var calls = try calls(of: change)[...]
            // The settings of one that the user has made before stay.
            if change.verb == .make, try await isOwn(change.channel) { calls = calls.dropFirst() }
            for call in calls { try await ask(call) }
        } catch let error as Unreached {
            throw error.wait.map { DispatchFailure.retry(after: $0, error.words) }
                ?? DispatchFailure.notReady(error.words)
        } catch let error as Refusal {
            try await channels.refused(change)
            throw DispatchFailure.permanent(error.words)
        }
        try await channels.done(change)
    }

    private struct Refusal: Error {
        let words: String
    }

    private struct Call {
        let method: String
        let path: String
        var body: [UInt8]?
        /// Its `If-Match`.
        var condition: String?
    }

    /// Of a new channel.
    private struct Settings: Encodable {
        let visibility = "private"
        var title: String?
    }

    private func calls(of change: ConversationChange) throws -> [Call] {
        let channel = "/v1/channels/" + change.channel
        func member(_ method: String, _ user: String) -> Call {
            Call(
                method: method, path: channel + "/members/" + Self.escaped(user),
                body: method == "PUT" ? Array("{}".utf8) : nil)
        }
        let me = channels.identity.map { [$0.user.text] } ?? []
        switch change.verb {
        case .make:
            let settings = Settings(title: change.title)
            return [Call(method: "PUT", path: channel, body: try ForeignJSON.encode(settings))]
                + change.users.map { member("PUT", $0) }
        case .direct:
            return change.users.map {
                Call(method: "PUT", path: "/v1/direct/" + Self.escaped($0))
            }
        case .invite: return change.users.map { member("PUT", $0) }
        case .remove: return change.users.map { member("DELETE", $0) }
        case .join: return me.map { member("PUT", $0) }
        case .leave: return me.map { member("DELETE", $0) }
        case .profile:
            let body = try ForeignJSON.encode(change.profile ?? Profile())
            return [Call(method: "PUT", path: "/v1/profile", body: body)]
        case .presence:
            let body = #"{"hidden":\#(change.isHidden ?? false)}"#
            return [Call(method: "PUT", path: "/v1/presence", body: Array(body.utf8))]
        case .archive: return [Call(method: "PUT", path: "/v1/archive/" + change.channel)]
        case .unarchive: return [Call(method: "DELETE", path: "/v1/archive/" + change.channel)]
        case .rename:
            // A merge patch: another's change of what it leaves out stays. It makes no channel.
            let body = try ForeignJSON.encode(["title": change.title])
            return [Call(method: "PATCH", path: channel, body: body, condition: "*")]
        }
    }

    /// Whether the user is an owner of a channel that is there.
    private func isOwn(_ channel: String) async throws -> Bool {
        struct Seen: Decodable {
            var role: String?
        }
        switch try await server.ask("GET", "/v1/channels/" + channel, nil) {
        case .done(let body):
            return (try? ForeignJSON.decode(Seen.self, from: body))?.role == "owner"
        case .refused: return false
        }
    }

    private func ask(_ call: Call) async throws {
        let answer = try await server.ask(
            call.method, call.path, call.body, ifMatch: call.condition)
        if case .refused(let status, let words) = answer {
            // A former server has no PATCH, and its PUT would undo what others change meanwhile.
            let remedy = status == 405 ? " Upgrade the server, then retry this." : ""
            throw Refusal(words: "The server has refused it (\(status)): \(words)\(remedy)")
        }
    }

    /// A part of a path (RFC 3986 §3.3).
    private static func escaped(_ user: String) -> String {
        user.addingPercentEncoding(
            withAllowedCharacters: .alphanumerics.intersection(
                .init(charactersIn: "\u{0}"..."\u{7f}")
            )
            .union(.init(charactersIn: "-._~"))) ?? user
    }
}
