import Foundation
import Reprise
import RepriseCore
import RepriseNotices
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// What banners say, on the device's paths; the server's is `ServerBannerTests`.
@Suite("The text of banners", .timeLimit(.minutes(1)))
struct BannerTests {
    private func said(_ content: NotificationContent?) -> BannerVector.Said? {
        content.map { .init(title: $0.title, subtitle: $0.subtitle, body: $0.body) }
    }

    @Test("by socket, by push, and by the extension that changes the push: the same")
    func same() async throws {
        let vectors = try BannerVector.all()
        #expect(vectors.count >= 10)
        for vector in vectors {
            let scene = try NoticeFixture()
            try scene.server.setMembers(["ada", "grace"], of: "room")
            if let name = vector.name {
                try scene.server.setProfile(
                    Profile(name: name, picture: vector.picture), of: vector.from ?? "")
            }
            try scene.server.setTitle(vector.conversation, of: "room")
            let system = MemoryNotifications(clock: ManualClock())
            let device = try await scene.open(system: system, channels: [])
            try await eventually("the conversation is followed") {
                try device.reprise.channel("room").state == .live
            }
            let id = EntryID.random()
            try scene.server.publish(
                vector.body, to: "room", id: id, from: try vector.from.map { try UserID($0) })
            try await eventually("\(vector.what): it stands") {
                device.standing.contains(id.text)
            }
            let shown = try #require(content(of: id, in: system))
            #expect(said(shown) == vector.banner, "\(vector.what)")
            let sender = shown.conversation.map { BannerVector.Person($0) }
            #expect(sender == vector.sender, "\(vector.what)")
            await device.close()

            let pushedID = EntryID.random()
            try scene.server.publish(
                vector.body, to: "room", id: pushedID,
                from: try vector.from.map { try UserID($0) })
            let other = MemoryNotifications(clock: ManualClock())
            try scene.server.addPhone(other, of: "ada")
            await scene.server.push()
            let pushed = try #require(content(of: pushedID, in: other))
            #expect(said(pushed) == vector.banner, "\(vector.what): pushed")
            let judge = PushJudge(mirror: nil, now: WallTime(milliseconds: 1))
            let changed = judge.judge(NotificationRequest(id: pushedID.text, content: pushed))
            #expect(changed.record != nil)
            #expect(said(changed.content) == vector.banner, "\(vector.what): extension")
            #expect(changed.content.conversation == shown.conversation, "\(vector.what): sender")
        }
    }

    @Test("names that the app has itself come before")
    func names() async throws {
        let scene = try NoticeFixture()
        let system = MemoryNotifications(clock: ManualClock())
        let device = try await scene.open(system: system) { configuration in
            configuration.names = { named in
                switch named {
                case .channel: "Everybody"
                case .person: "Grace H."
                }
            }
        }
        try await device.live(through: 0)
        let (_, id) = try scene.publish()
        try await eventually("it stands") { device.standing.contains(id.text) }
        #expect(
            said(content(of: id, in: system))
                == .init(title: "Everybody", subtitle: "Grace H.", body: "hello"))
        await device.close()
    }

    private func content(of id: EntryID, in system: MemoryNotifications) -> NotificationContent? {
        system.delivered.first { $0.request.id == id.text }?.request.content
    }
}
