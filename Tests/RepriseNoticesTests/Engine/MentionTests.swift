import Reprise
import RepriseCore
import RepriseNotices
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// Mentions and mutes on the device's paths; the server's is `ServerMentionTests`.
@Suite("Mentions of a person", .timeLimit(.minutes(1)))
struct MentionTests {
    @Test("break a mute by socket, by push and in the extension alike, as the vectors say")
    func same() async throws {
        for vector in try MentionVector.all() {
            let scene = try NoticeFixture()
            try scene.server.setMembers(["ada", "grace"], of: "room")
            let system = MemoryNotifications(clock: ManualClock())
            let device = try await scene.open(system: system, channels: ["room"]) {
                $0.transport = scene.server
            }
            try await mute(vector, device.notices)
            try await device.live("room", through: 0)
            let id = EntryID.random()
            let seq = try scene.server.publish(
                vector.body, to: "room", id: id, from: NoticeFixture.other)
            try await device.live("room", through: seq)
            let content = content(of: id, in: system)
            #expect((content?.sound == true) == vector.rings, "\(vector.what): socket")
            let isNamed = vector.users.contains("ada")
            try await eventually("\(vector.what): the conversation is there") {
                try await device.reprise.channels.conversations(newest: 9).first?.unread == 1
            }
            let conversation = try await device.reprise.channels.conversations(newest: 9).first
            #expect(conversation?.mentions == (isNamed ? 1 : 0), "\(vector.what): counted")
            await device.close()

            let phone = MemoryNotifications(clock: ManualClock())
            try scene.server.addPhone(phone, of: "ada")
            let pushed = EntryID.random()
            try scene.server.publish(
                vector.body, to: "room", id: pushed, from: NoticeFixture.other)
            await scene.server.push()
            let push = self.content(of: pushed, in: phone)
            #expect((push?.sound == true) == vector.rings, "\(vector.what): push")
            // Though it is muted, a push comes to the extension.
            var hint = PushHint(
                kind: .alert, channel: try ChannelName("room"), seq: seq + 1, head: seq + 1)
            (hint.id, hint.from, hint.isMention) = (pushed, NoticeFixture.other, isNamed)
            var unmuted = NotificationContent(
                title: "room", body: "look", info: Array(#"{"reprise":"#.utf8) + hint.json + [125])
            unmuted.sound = true
            let judge = PushJudge(mirror: mirror(vector), now: WallTime(milliseconds: 1))
            let judged = judge.judge(NotificationRequest(id: pushed.text, content: unmuted))
            #expect(judged.content.sound == vector.rings, "\(vector.what): extension")
        }
    }

    private func mute(_ vector: MentionVector, _ notices: Notices) async throws {
        let room = try ChannelName("room")
        switch (vector.muted, vector.exceptMentions) {
        case ("channel", nil): try await notices.mute(channel: room)
        case ("channel", let except?):
            try await notices.mute(channel: room, exceptMentions: except)
        case ("person", nil): try await notices.mute(person: NoticeFixture.other)
        case ("person", let except?):
            try await notices.mute(person: NoticeFixture.other, exceptMentions: except)
        default: return
        }
        try await eventually("the server knows it") {
            let settings = notices.settings
            return settings.channels[room]?.status == .told
                || settings.people[NoticeFixture.other]?.status == .told
        }
    }

    private func mirror(_ vector: MentionVector) -> NoticeMirror {
        var mirror = NoticeMirror(
            me: "ada", settings: NotificationSettings(authorization: .authorized))
        let isChannel = vector.muted == "channel"
        let mute = NoticeMirror.Mute(exceptMentions: vector.exceptMentions ?? isChannel)
        if isChannel { mirror.channelMutes["room"] = mute }
        if vector.muted == "person" { mirror.senderMutes["grace"] = mute }
        return mirror
    }

    private func content(of id: EntryID, in system: MemoryNotifications) -> NotificationContent? {
        system.delivered.first { $0.request.id == id.text }?.request.content
    }

    @Test("are counted until they are read or deleted, and edits and her own for nothing")
    func counted() async throws {
        let scene = try NoticeFixture()
        try scene.server.setMembers(["ada", "grace"], of: "room")
        let body = #"{"text":"look","notice":{"mentions":["ada","ben"]}}"#
        let (first, second) = (EntryID.random(), EntryID.random())
        for id in [first, second] {
            try scene.server.publish(body, to: "room", id: id, from: NoticeFixture.other)
        }
        // Her own mentions, and an edit's, count for nothing.
        try scene.server.publish(body, to: "room", from: NoticeFixture.me)
        try scene.server.publish(
            body, to: "room", from: NoticeFixture.other, change: .edits(1))
        let system = MemoryNotifications(clock: ManualClock())
        let device = try await scene.open(system: system, channels: ["room"])
        func mentions() async throws -> Int? {
            try await device.reprise.channels.conversations(newest: 9).first?.mentions
        }
        try await device.live("room", through: 4)
        try await eventually("both are counted") { try await mentions() == 2 }
        try scene.server.publish("null", to: "room", from: NoticeFixture.other, change: .deletes(1))
        try await eventually("the deleted one is not") { try await mentions() == 1 }
        try await device.reprise.channel("room").markRead(through: 2)
        try await eventually("nor is one that was read") { try await mentions() == 0 }
        await device.close()
    }
}
