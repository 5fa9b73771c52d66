import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// Mentions and mutes in the server's pushes; the device's paths are `MentionTests`.
@Suite("Mentions in pushes", .timeLimit(.minutes(1)))
struct ServerMentionTests {
    @Test("break a mute as the vectors say, and the push is marked as a mention")
    func same() async throws {
        for vector in try MentionVector.all() {
            try await withPush { push in
                let (ada, grace) = (try UserID("ada"), try UserID("grace"))
                try await push.make(members: ["ada", "grace"])
                try await push.register("phone", of: "ada")
                let subject: Mute.Subject? =
                    switch vector.muted {
                    case "channel": .channel(channel("room"))
                    case "person": .user(grace)
                    default: nil
                    }
                if let subject {
                    let mute = Mute(subject, exceptMentions: vector.exceptMentions)
                    try await push.accounts.perform(SetMute(mute, of: ada))
                    let kept = try await push.accounts.mutes.all(of: ada, at: push.clock.wall())
                    #expect(kept == [mute], "\(vector.what)")
                }
                try await push.publish("m1", from: "grace", body: vector.body)
                try await push.until(pushes: 1)
                let sent = try #require(push.provider.pushes.first)
                #expect((sent.hint.kind == .alert) == vector.rings, "\(vector.what)")
                let isNamed = vector.users.contains("ada")
                #expect(sent.hint.isMention == (vector.rings && isNamed), "\(vector.what)")
                let read = try PushHint(
                    payload: Array(#"{"reprise":"#.utf8) + sent.hint.json + [125])
                #expect(read == sent.hint, "\(vector.what)")
            }
        }
    }

    @Test(
        "A mute that is set anew replaces the earlier one, and leaves nothing behind when it ends")
    func changed() async throws {
        try await withPush { push in
            let ada = try UserID("ada")
            let room = Mute.Subject.channel(channel("room"))
            func kept() async throws -> [Bool] {
                try await push.accounts.mutes.all(of: ada, at: push.clock.wall())
                    .map(\.exceptMentions)
            }
            for except in [false, true, false] {
                try await push.accounts.perform(
                    SetMute(Mute(room, exceptMentions: except), of: ada))
                #expect(try await kept() == [except])
            }
            try await push.accounts.perform(RemoveMute(room, of: ada))
            try await push.accounts.perform(SetMute(Mute(room), of: ada))
            #expect(try await kept() == [true], "the former one's is gone")
        }
    }
}
