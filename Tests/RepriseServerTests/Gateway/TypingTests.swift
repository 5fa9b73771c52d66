import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Typing")
struct TypingTests {
    let general = channel()

    static func typing(_ frame: ServerFrame) -> (String, Bool)? {
        if case .typing(_, let user, let isTyping, _) = frame { (user.text, isTyping) } else { nil }
    }

    /// Ada and Ben in one channel, on as many loops as there are.
    func withPeople(
        _ limits: ServerLimits = ServerLimits(),
        _ body: (RunningServer, ScriptedAccounts, _ ada: TestClient, _ ben: TestClient) async throws
            ->
            Void
    ) async throws {
        try await RunningServer.withUsers(limits) { server, accounts in
            let ada = try await server.client(as: "ada")
            let ben = try await server.client(as: "ben")
            try await ada.subscribe(general)
            try await ben.subscribe(general)
            try await body(server, accounts, ada, ben)
        }
    }

    @Test("other users are told who types and when it stops; the typing user's own devices are not")
    func startAndStop() async throws {
        try await withPeople { server, _, ada, ben in
            let tablet = try await server.client(as: "ada")
            try await tablet.subscribe(general)
            try await ada.send(.typing(general, isTyping: true))
            guard case .typing(let where_, let who, true, let expires) = try await ben.nextFrame()
            else {
                Issue.record("nobody types")
                return
            }
            #expect((where_, who, expires) == (general, user("ada"), .seconds(10)))
            try await ada.send(.typing(general, isTyping: false))
            let stopped = try await ben.nextFrame()
            #expect(
                stopped
                    == .typing(channel: general, user: user("ada"), isTyping: false, expires: .zero)
            )
            #expect(try await ada.everythingSoFar().isEmpty)
            #expect(try await tablet.everythingSoFar().isEmpty)
        }
    }

    @Test(
        "typing ends with the subscription, the connection and the membership",
        arguments: ["unsubscribe", "disconnect", "removed"])
    func ends(_ how: String) async throws {
        try await withPeople { _, accounts, ada, ben in
            try await ada.send(.typing(general, isTyping: true))
            #expect(try #require(Self.typing(try await ben.nextFrame())) == ("ada", true))
            switch how {
            case "unsubscribe": try await ada.send(.unsubscribe([general]))
            case "disconnect": try await ada.socket.send(TestClient.frame(0x88, [0x03, 0xe8]))
            default: accounts.set(.nothing, of: user("ada"), in: general)
            }
            #expect(try #require(Self.typing(try await ben.nextFrame())) == ("ada", false))
        }
    }

    @Test(
        "typing is not sent in a channel with too many subscribers",
        .limit("server.typingReceivers"))
    func crowd() async throws {
        var limits = ServerLimits()
        limits.typingSubscribers = 0
        try await withPeople(limits) { _, _, ada, ben in
            try await ada.send(.typing(general, isTyping: true))
            _ = try await ada.everythingSoFar()
            try await Task.sleep(for: .milliseconds(20))  // it goes from one loop to the other
            #expect(try await ben.everythingSoFar().isEmpty)
        }
    }

    @Test("typing by a user who is not subscribed, or may not publish, is not sent")
    func unheard() async throws {
        try await withPeople { server, accounts, ada, ben in
            let cat = try await server.client(as: "cat")
            try await cat.send(.typing(general, isTyping: true))
            #expect(try await cat.everythingSoFar().isEmpty)
            accounts.set(Grant(mayRead: true, mayPublish: false), of: user("ada"), in: general)
            // What is on its way at that moment counts as before it: a loop reads before it looks
            // at its letters.
            _ = try await ada.everythingSoFar()
            try await ada.send(.typing(general, isTyping: true))
            _ = try await ada.everythingSoFar()
            try await Task.sleep(for: .milliseconds(20))
            #expect(try await ben.everythingSoFar().isEmpty)
        }
    }
}
