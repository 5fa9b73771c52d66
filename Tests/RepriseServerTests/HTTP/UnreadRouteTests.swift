import HTTPTypes
import HummingbirdTesting
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Synchronization
import Testing

@Suite("Unread counts over HTTP")
struct UnreadRouteTests {
    @Sendable
    private static func counts(_ api: APIUnderTest, _ user: String) async throws -> [String] {
        let answer = try await api.send(
            .get, "/v1/unread", [.authorization: "Bearer \(TableAuthenticator.token(user))"], [])
        #expect(answer.status == .ok)
        let channels = try #require(answer.object?["channels"] as? [[String: Any]])
        return channels.map { channel in
            let mentions = channel["mentions"].map { " \($0)" } ?? ""
            return "\(channel["channelId"] ?? "") \(channel["unread"] ?? "")\(mentions)"
        }
    }

    @Test("cover every channel of which the user is a member, from where he joined or read")
    func everywhere() async throws {
        try await withAPI(services: { $0.authenticator = TableAuthenticator() }) { api in
            let ada = Principal(user: try UserID("ada"))
            func say(_ name: String, _ body: String = "1") async throws {
                let message = NewMessage(
                    channel: channel(name), id: .random(), from: ada.user, body: Array(body.utf8))
                _ = try await api.committer.commit([message])
            }
            for name in ["a", "b", "c", "d"] {
                try await api.accounts.perform(SetChannel(channel(name), .init(), by: ada))
                try await say(name)
            }
            // Bob joins after the first message, and not at all in d.
            for name in ["a", "b", "c"] {
                try await api.accounts.setMember(
                    try UserID("bob"), role: .member, joined: 1, in: channel(name),
                    at: WallTime(milliseconds: 1))
            }
            #expect(try await Self.counts(api, "bob").isEmpty)
            let mention = #"{"notice":{"mentions":["bob"]}}"#
            for (name, body) in [
                ("a", "1"), ("a", mention), ("b", "1"), ("c", mention), ("d", "1"),
            ] {
                try await say(name, body)
            }
            #expect(try await Self.counts(api, "bob") == ["a 2 1", "b 1", "c 1 1"])
            #expect(try await Self.counts(api, "ada").isEmpty, "her own")
            _ = try await api.accounts.move(
                MovePosition(
                    channel: channel("a"), user: try UserID("bob"), device: nil, read: 2,
                    delivered: nil))
            #expect(try await Self.counts(api, "bob") == ["a 1 1", "b 1", "c 1 1"])
        }
    }

    @Test("are counted for one request of a user at a time", .limit("http.unread"))
    func oneAtATime() async throws {
        let log = try MemoryLog()
        try await withAPI(
            log: log, services: { $0.authenticator = TableAuthenticator() }
        ) { api in
            let room = channel("room")
            try await api.accounts.perform(
                SetChannel(room, .init(), by: Principal(user: user("ada"))))
            let message = NewMessage(channel: room, id: .random(), from: user("bob"), body: [0x31])
            _ = try await api.committer.commit([message])
            log.change { $0.readDelay = .milliseconds(100) }
            try await withThrowingTaskGroup(of: [String].self) { requests in
                for _ in 0..<3 { requests.addTask { try await Self.counts(api, "ada") } }
                for try await counts in requests { #expect(counts == ["room 1"]) }
            }
            #expect(log.state.withLock { $0.mostReaders } == 1)
        }
    }
}
