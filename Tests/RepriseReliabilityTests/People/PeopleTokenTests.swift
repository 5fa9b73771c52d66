import Reprise
import RepriseChannels
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Synchronization
import Testing

@Suite("Tokens that end, against the real server", .timeLimit(.minutes(2)))
struct PeopleTokenTests {
    private let ada = UserID(unchecked: "ada")

    /// A room with so many messages, and a device of Ada's with tokens from `tokens`.
    private func with(
        messages: Int = 1,
        tokens: @escaping @Sendable (PeopleServer, TokenRequest) async throws -> AccessToken,
        _ body: (PeopleServer, PersonsDevice) async throws -> Void
    ) async throws {
        try await PeopleServer.with { server in
            try await server.make("room")
            try await server.add(ada, to: "room")
            let list = (1...messages).map { #"{"id":"m\#($0)","body":\#($0)}"# }
            for one in list { try await server.call("POST", "/v1/channels/room/messages", one) }
            let device = try await PersonsDevice.open(server, ada) { try await tokens(server, $0) }
            do { try await body(server, device) } catch { Issue.record("\(error)") }
            await device.finish()
        }
    }

    @Test("a token of ten seconds is renewed on the open connection, which loses nothing")
    func renewed() async throws {
        try await with(tokens: { try $0.token(for: $1.user, lifetime: .seconds(10)) }) {
            server, device in
            try await device.start("room")
            try await device.channel("room").caughtUp()
            // Renewed at half of its time: by the fourth the first has ended.
            let end = ContinuousClock.now + .seconds(60)
            var count = 1
            while device.asked.count < 4, ContinuousClock.now < end {
                count += 1
                try await device.channel("room").publish("\(count)")
                try await becomes("there", count) { try await device.list("room").count }
                #expect(try device.channel("room").state == .live)
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(device.asked.count >= 4)
            #expect(Set(device.asked.dropFirst()) == [.expires])
            #expect(await device.reprise.diagnostics.reconnects == 0)
        }
    }

    @Test("a token that has ended already is refused at the dial, and a fresh one is asked for")
    func endedBefore() async throws {
        let count = Mutex(0)
        try await with(tokens: { server, request in
            let isFirst = count.withLock { count in
                defer { count += 1 }
                return count == 0
            }
            return try server.token(
                for: request.user, lifetime: isFirst ? .seconds(-30) : .seconds(600))
        }) { _, device in
            try await device.start("room")
            try await device.channel("room").caughtUp()
            #expect(device.asked == [.first, .expires])
        }
    }

    @Test("a provider that fails is asked again, and what was published meanwhile is sent")
    func fails() async throws {
        let count = Mutex(0)
        try await with(tokens: { server, request in
            let failed = count.withLock { count in
                defer { count += 1 }
                return count
            }
            guard failed >= 3 else { throw RepriseError(.unavailable, "The backend is away.") }
            return try server.token(for: request.user)
        }) { _, device in
            try await device.channel("room").publish("2")
            try await device.start("room")
            try await becomes("sent", 2) { try await device.list("room").count }
            try await becomes("nothing waits", 0) {
                try await device.channel("room").outbox.waiting()
            }
            #expect(device.asked.count == 4)
            #expect(device.givenUp == nil)
        }
    }

    @Test(
        "a provider that fails while connected leaves the connection until the token ends, then goes on"
    )
    func failsLater() async throws {
        let mayAnswer = Mutex(true)
        try await with(tokens: { server, request in
            guard mayAnswer.withLock(\.self) else {
                throw RepriseError(.unavailable, "The backend is away.")
            }
            return try server.token(for: request.user, lifetime: .seconds(8))
        }) { _, device in
            let states = Seen<ConnectionState>()
            let watching = Task {
                for await state in device.reprise.channels.connectionStates { states.add(state) }
            }
            defer { watching.cancel() }
            try await device.start("room")
            try await device.channel("room").caughtUp()
            mayAnswer.withLock { $0 = false }
            try await eventually("warned") {
                states.all.contains { if case .expiring = $0 { true } else { false } }
            }
            try await becomes("ended", true) {
                if case .waiting = await device.state { true } else { false }
            }
            mayAnswer.withLock { $0 = true }
            try await becomes("back", true) { await device.isConnected }
            try await device.channel("room").publish("2")
            try await becomes("sent", 2) { try await device.list("room").count }
        }
    }

    @Test(
        "keys are changed while a device is away: it shows a stale token, gets a fresh one, goes on"
    )
    func keysChange() async throws {
        let kept = Mutex<AccessToken?>(nil)
        try await with(tokens: { server, request in
            // A cache, as an app has it: only what was refused is asked for anew.
            if request.reason != .refused, let token = kept.withLock(\.self) { return token }
            let token = try server.token(for: request.user)
            kept.withLock { $0 = token }
            return token
        }) { server, device in
            try await device.start("room")
            try await device.channel("room").caughtUp()
            try await server.rotateKeys()
            // An open connection goes on with what it has shown.
            try await device.channel("room").publish("2")
            try await becomes("sent", 2) { try await device.list("room").count }
            try await server.stop()
            try await device.channel("room").publish("3")
            try await server.start()
            try await becomes("sent after", 0) {
                try await device.channel("room").outbox.waiting()
            }
            try await becomes("there", 3) { try await device.list("room").count }
            #expect(device.asked.contains(.refused))
            #expect(device.givenUp == nil)
        }
    }
}
