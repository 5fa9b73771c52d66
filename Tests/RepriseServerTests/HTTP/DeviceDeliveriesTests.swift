import HTTPTypes
import HummingbirdTesting
import RepriseCore
import RepriseServer
import RepriseWire
import Testing

@Suite("Delivery to the caller's devices, over HTTP")
struct DeviceDeliveriesTests {
    private static let path = "/v1/channels/general/deliveries"

    @Sendable
    private static func ask(
        _ api: APIUnderTest, _ user: String, _ rest: String
    ) async throws -> TestResponse {
        try await api.send(
            .get, path + rest, [.authorization: "Bearer \(TableAuthenticator.token(user))"], [])
    }

    private static func prepare(_ api: APIUnderTest) async throws {
        let message = NewMessage(
            channel: channel(), id: try EntryID("m1"), from: try UserID("ada"), body: [0x31])
        _ = try await api.committer.commit([message])
        for (number, user) in ["ada", "bob"].enumerated() {
            try await api.accounts.setDevice(
                RegisteredDevice(
                    id: try EntryID("phone-\(user)"), platform: "ios",
                    pushToken: try PushToken("aabb0\(number)"),
                    lastSeen: WallTime(milliseconds: 1_000)), of: try UserID(user))
        }
    }

    @Test(
        "a caller sees the deliveries to his own devices alone, even as the author of the message")
    func own() async throws {
        try await withAPI(services: { $0.authenticator = TableAuthenticator() }) { api in
            try await Self.prepare(api)
            for user in ["ada", "bob"] {
                let answer = try await Self.ask(api, user, "/1/devices")
                #expect(answer.status == .ok)
                let devices = try #require(answer.object?["devices"] as? [[String: Any]])
                #expect(devices.map { $0["device"] as? String } == ["phone-\(user)"])
                #expect(devices[0]["services"] as? [String] == ["apns"])
                #expect(devices[0]["delivered"] as? Bool == false)
                #expect((devices[0]["waiting"] as? [Any])?.isEmpty == true)
                #expect(!answer.text.contains("aabb"), "a push token is a secret")
            }
            let nobody = try await Self.ask(api, "eve", "/1/devices")
            #expect((nobody.object?["devices"] as? [Any])?.isEmpty == true)
        }
    }

    @Test("a malformed sequence is a 400, an unknown one a 404, a missing token a 401")
    func nonsense() async throws {
        try await withAPI(services: { $0.authenticator = TableAuthenticator() }) { api in
            try await Self.prepare(api)
            for seq in ["0", "-1", "x", "1.0", "1e0", "9223372036854775808", "%31", "%00"] {
                let answer = try await Self.ask(api, "ada", "/\(seq)/devices")
                #expect(answer.status == .badRequest, "\(seq)")
                #expect(answer.errorCode == "malformed", "\(seq)")
            }
            let later = try await Self.ask(api, "ada", "/2/devices")
            #expect(later.status == .notFound && later.errorCode == "noSuchMessage")
            #expect(try await api.get(Self.path + "/1/devices").status == .unauthorized)
        }
    }

    @Test("an open server, which knows no users, lists no devices")
    func open() async throws {
        try await withAPI { api in
            try await Self.prepare(api)
            #expect(try await api.get(Self.path + "/1/devices").status == .forbidden)
        }
    }
}
