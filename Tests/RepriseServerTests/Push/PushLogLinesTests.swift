import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Log lines and states of pushes", .timeLimit(.minutes(2)))
struct PushLogLinesTests {
    @Test("each decision about a push, and its outcome, is a line with the message's id")
    func decisions() async throws {
        let lines = LoggedLines()
        let provider = RecordingProvider { push, _ in
            push.hint.to?.text == "kim" ? .refused("\u{1b}[2J no\nforged") : .accepted
        }
        try await withPush(provider, logger: lines.logger()) { push in
            try await push.make(members: ["ada", "bob", "eve", "kim"])
            for name in ["bob", "eve", "kim"] {
                try await push.register("phone-\(name)", of: name)
            }
            try await push.accounts.perform(
                SetMute(Mute(.channel(channel("room"))), of: try UserID("eve")),
                at: push.clock.wall())
            try await push.publish("m1", from: "ada")
            try await push.until(pushes: 3)
            try await push.untilQueueIsEmpty()
        }
        let told = lines.with("message", "m1")
        let end = "seq=1 service=apns user="
        for (user, decision, outcome) in [
            ("bob", "alert", "sent"), ("eve", "badge quiet", "sent"), ("kim", "alert", "refused"),
        ] {
            let reason = user == "kim" ? #"reason=\u{1b}[2J no\nforged "# : ""
            let device = "device=phone-\(user) message=m1"
            #expect(
                told.filter { $0.hasSuffix("user=\(user)") } == [
                    "debug A push is decided. attempt=1 channel=room decision=\(decision) "
                        + "\(device) \(end)\(user)",
                    "debug A push has its outcome. attempt=1 channel=room \(device) "
                        + "outcome=\(outcome) \(reason)\(end)\(user)",
                ])
        }
        #expect(lines.all.contains { $0.contains("queued=3") && $0.contains("channel=room") })
        // Neither a text, nor an address, nor a word of the provider's as it came.
        #expect(!lines.all.contains { $0.contains("Hello") || $0.contains("aa11") })
        #expect(!lines.all.contains { $0.contains("\u{1b}") || $0.contains("\n") })
    }

    @Test("a waiting push is shown to its user alone, with its attempts, and why it was dropped")
    func waiting() async throws {
        let lines = LoggedLines()
        let provider = RecordingProvider { _, _ in .later(.seconds(30), "busy") }
        try await withPush(provider, logger: lines.logger()) { push in
            try await push.make(members: ["ada", "bob", "eve"])
            for name in ["phone", "pad"] { try await push.register(name, of: "bob") }
            try await push.register("watch", of: "eve")
            let (bob, eve) = (try UserID("bob"), try UserID("eve"))
            let seq = try await push.publish("m1", from: "ada")
            func waiting(_ user: UserID) async throws -> [WaitingPush] {
                try await push.accounts.pushQueue.waiting(
                    for: seq, in: channel("room"), of: user) ?? []
            }
            func devices(_ user: UserID) async throws -> [String] {
                try await push.accounts.positions.devices(of: user, for: seq, in: channel("room"))
                    .map { "\($0.device) \($0.isDelivered) \($0.isPushed) \($0.services.count)" }
                    .sorted()
            }
            try await push.until(pushes: 3)
            try await becomes("their attempts", [1, 1]) { try await waiting(bob).map(\.attempts) }
            #expect(Set(try await waiting(bob).map(\.device.text)) == ["pad", "phone"])
            #expect(try await waiting(eve).map(\.device.text) == ["watch"])
            #expect(try await waiting(bob).allSatisfy { $0.due > push.clock.wall() })
            #expect(try await devices(bob) == ["pad false false 1", "phone false false 1"])
            #expect(try await devices(try UserID("ada")).isEmpty)

            try await push.move("bob", delivered: seq, on: "phone")
            try await push.move("eve", read: seq)
            provider.answer { _, _ in .accepted }
            try await push.untilQueueIsEmpty()
            #expect(try await waiting(bob).isEmpty)
            #expect(try await devices(bob) == ["pad false true 1", "phone true false 1"])
        }
        let told = lines.with("message", "m1")
        #expect(told.contains { $0.contains("outcome=retried reason=busy") })
        #expect(told.contains { $0.contains("decision=none device=phone ") })
        #expect(told.contains { $0.contains("reason=delivered ") })
        #expect(told.contains { $0.contains("decision=none device=watch ") })
        #expect(told.contains { $0.contains("reason=read ") })
    }
}
