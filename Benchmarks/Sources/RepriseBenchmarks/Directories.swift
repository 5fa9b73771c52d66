import Foundation
import Reprise
import RepriseChannels
import RepriseCore
import RepriseNIO

/// A new device of a person with many conversations, until its list has all of them; beside one
/// that follows none, until it is connected.
struct Directories {
    let server: ServerProcess.Address

    private var url: String { "http://\(server.host):\(server.port)" }

    /// - Parameters:
    ///   - channels: of how many channels the person is a member.
    ///   - rounds: how many devices, one after the other.
    /// - Returns: the medians, in milliseconds.
    /// - Throws: what the server or a device throws.
    func run(channels: Int, rounds: Int) async throws -> (read: Double, without: Double) {
        let user = "person-\(channels)"
        let root = try await token(of: "root")
        for number in 0..<channels {
            let path = "channels/\(user)-\(number)"
            try await put(path, #"{"title":"Talk \#(number)","visibility":"private"}"#, root)
            try await put("\(path)/members/\(user)", "{}", root)
        }
        let mine = try await token(of: user)
        let identity = Identity(user: try UserID(user)) { _ in mine }
        var (read, without): ([Double], [Double]) = ([], [])
        for _ in 0..<rounds {
            // Side by side, so that what else runs on the machine meets both.
            without.append(try await connect(as: identity, conversations: nil))
            read.append(try await connect(as: identity, conversations: channels))
        }
        return (read.sorted()[rounds / 2], without.sorted()[rounds / 2])
    }

    /// How many milliseconds a new device takes to have its list of so many; nil: it follows none.
    private func connect(as identity: Identity, conversations: Int?) async throws -> Double {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = AccountClient.Configuration()
        configuration.channels.followsConversations = conversations != nil
        let reprise = try await AccountClient.open(
            at: folder, server: url, dialer: NIODialer(), identity: identity,
            configuration: configuration)
        let clock = ContinuousClock()
        let start = clock.now
        let run = Task { try await reprise.run() }
        if let conversations {
            for await list in reprise.channels.observeConversations(newest: 1_000)
            where list.count == conversations { break }
        } else {
            for await state in reprise.channels.connectionStates where state == .connected { break }
        }
        let milliseconds = (clock.now - start).inSeconds * 1_000
        run.cancel()
        _ = try? await run.value
        await reprise.close()
        return milliseconds
    }

    private func token(of user: String) async throws -> AccessToken {
        let answer = try await NIOTransport().fetch(
            HTTPCall(url: "\(url)/v1/dev/token?user=\(user)"), limit: 65_536)
        struct Answer: Decodable { var token: String }
        return try AccessToken(JSONDecoder().decode(Answer.self, from: Data(answer.body)).token)
    }

    private func put(_ path: String, _ json: String, _ token: AccessToken) async throws {
        let answer = try await NIOTransport().fetch(
            HTTPCall(
                method: "PUT", url: "\(url)/v1/\(path)",
                headers: [
                    "authorization": "Bearer " + token.secret, "content-type": "application/json",
                ], body: .bytes(Array(json.utf8))), limit: 65_536)
        guard answer.status < 300 else {
            throw BenchmarkError("\(path): \(String(decoding: answer.body, as: UTF8.self))")
        }
    }
}
