import GRDB
import Reprise
import RepriseCore
import RepriseNotices
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("The notices feature", .serialized) struct NoticesEngineTests {
    let stage: NoticeFixture
    let system = MemoryNotifications(clock: ManualClock())

    init() throws { stage = try NoticeFixture() }

    private var database: String { stage.folder.path("device/journal.sqlite") }

    @Test(
        "What was shown of a channel, if it cannot be read, is told and written anew, and the badge stays right",
        arguments: ["cursor", "unread"])
    func damagedChannel(column: String) async throws {
        let channels = ["general", "other"]
        let first = try await stage.open(system: system, channels: channels)
        try stage.publish("one")
        try stage.publish("two", to: "other")
        try await first.live(through: 1)
        try await first.live("other", through: 1)
        await first.close()
        try rot(
            column, of: "noticesChannel", where: "channel = 'general'", in: database)
        let lines = LoggedLines()
        let device = try await stage.open(system: system, channels: channels) {
            $0.logger = lines.logger()
        }
        try stage.publish("three")
        try await device.live(through: 2)
        try await becomes("the badge counts all", 3) { system.badge }
        #expect(!lines.all.filter { $0.contains("cannot be read") }.isEmpty)
        let type: String? = try await device.value(
            "SELECT typeof(\(column)) FROM noticesChannel WHERE channel = 'general'")
        #expect(type == "integer")
        await device.close()
    }

    @Test(
        "What was shown of a channel, with a number that nothing can have, is written anew",
        arguments: [
            "cursor = -9223372036854775808", "unread = -9223372036854775808",
            "unread = 9223372036854775807",
        ])
    func extremeChannel(damage: String) async throws {
        let channels = ["general", "other"]
        let first = try await stage.open(system: system, channels: channels)
        try stage.publish("one")
        try stage.publish("two", to: "other")
        try await first.live(through: 1)
        try await first.live("other", through: 1)
        await first.close()
        let queue = try DatabaseQueue(path: database)
        try await queue.write { db in
            try db.execute(
                sql: "UPDATE noticesChannel SET \(damage) WHERE channel = 'general'")
        }
        try queue.close()
        let device = try await stage.open(system: system, channels: channels)
        try stage.publish("three")
        try await device.live(through: 2)
        try await becomes("the badge counts all", 3) { system.badge }
        await device.close()
    }

    @Test("A total of the badge that cannot be read is counted anew")
    func damagedBadge() async throws {
        let first = try await stage.open(system: system)
        try stage.publish("one")
        try await first.live(through: 1)
        await first.close()
        try rot("total", of: "noticesBadge", in: database)
        let device = try await stage.open(system: system)
        try stage.publish("two")
        try await device.live(through: 2)
        try await becomes("the badge counts both", 2) { system.badge }
        await device.close()
    }

    @Test(
        "A delivered notification whose row cannot be read is told, and removed as others are",
        arguments: [("time", "'rotten'"), ("alerts", "9223372036854775807"), ("unconfirmed", "-1")])
    func damagedMessage(column: String, value: String) async throws {
        let first = try await stage.open(system: system)
        let (_, id) = try stage.publish("one")
        let (seq, other) = try stage.publish("two")
        try await eventually("both stand") {
            Set(first.standing).isSuperset(of: [id.text, other.text])
        }
        try await first.live(through: seq)
        await first.close()
        try rot(
            column, of: "noticesMessage", to: value, where: "id = '\(id.text)'", in: database)
        let lines = LoggedLines()
        let device = try await stage.open(system: system) { $0.logger = lines.logger() }
        try await eventually("it is told") {
            lines.all.contains { $0.contains("cannot be read") && $0.contains("count=1") }
        }
        try await device.live(through: seq)
        try stage.readElsewhere(through: seq)
        try await eventually("both are removed") { device.standing.isEmpty }
        await device.close()
    }

    @Test("A tap whose row in the log cannot be read is acknowledged as others are")
    func damagedTap() async throws {
        let first = try await stage.open(system: system)
        try stage.publish()
        try await first.live(through: 1)
        let (_, id) = try stage.publish()
        try await eventually("it stands") { first.standing.contains(id.text) }
        let notification = try #require(system.delivered.first { $0.request.id == id.text })
        try await first.notices.received(NotificationResponse(notification: notification))
        await first.close()
        try rot("at", of: "noticesTap", in: database)
        let device = try await stage.open(system: system)
        await device.reprise.setReady(.ui)
        for await tap in device.notices.taps {
            #expect(tap.route?.part == id.text)
            try await tap.presented()
            break
        }
        let waiting = "SELECT COUNT(*) FROM entry WHERE kind = 'notices-tap' AND state < 10"
        try await eventually("it has ended") { try await device.value(waiting) == 0 }
        let left: Int? = try await device.value(
            "SELECT COUNT(*) FROM noticesTap WHERE presented IS NULL")
        #expect(left == 0)
        await device.close()
    }

    @Test("A live message is one banner, with the badge in the same content")
    func live() async throws {
        let device = try await stage.open(system: system)
        try stage.publish("first")
        try await device.live(through: 1)
        let before = system.badges.count
        let (_, id) = try stage.publish("second")
        try await eventually("it stands") { device.standing.contains(id.text) }
        await device.quiet()
        let shown = system.delivered.last?.request.content
        #expect(shown?.body == "second")
        #expect(shown?.badge == 2)
        #expect(shown?.thread == "general")
        #expect(system.badges.count == before + 1)
        #expect(system.badge == 2)
        await device.close()
    }

    @Test(
        "A group's banner has its name and below it the sender's, one of two people the sender's, and without names the sender's id",
        arguments: [
            ("group", "The General", "Grace H."), ("two", "Grace H.", ""), ("none", "grace", ""),
        ])
    func names(kind: String, title: String, subtitle: String) async throws {
        let device = try await stage.open(system: system) {
            $0.names = { named in
                switch named {
                case .channel: kind == "group" ? "The General" : nil
                case .person: kind == "none" ? nil : "Grace H."
                }
            }
        }
        try stage.publish()
        try await device.live(through: 1)
        let (_, id) = try stage.publish("hello")
        try await eventually("it stands") { device.standing.contains(id.text) }
        let content = system.delivered.last?.request.content
        #expect(content?.title == title && content?.subtitle == subtitle)
        #expect(content?.body == "hello" && content?.thread == "general")
        await device.close()
    }

    @Test(
        "A banner of the app has its author's name and picture, and breaks through a Focus if the app allows it",
        arguments: [(true, "The General"), (false, nil)] as [(Bool, String?)])
    func communication(mayInterrupt: Bool, group: String?) async throws {
        let device = try await stage.open(system: system) {
            $0.names = { named in if case .channel = named { group } else { "G" } }
            $0.mayInterrupt = { channel, user in
                mayInterrupt && channel.text == "general" && user == NoticeFixture.other
            }
        }
        try stage.publish()
        try await device.live(through: 1)
        let notice =
            #"{"sender":"Grace H.","picture":"https://example.org/g.png","interruption":"time-sensitive","relevance":1,"sound":"chime.caf"}"#
        let id = EntryID.random()
        try stage.server.publish(
            #"{"text":"hi","notice":\#(notice)}"#, to: "general", id: id, from: NoticeFixture.other)
        try await eventually("it stands") { device.standing.contains(id.text) }
        let content = try #require(system.delivered.last?.request.content)
        #expect(
            content.conversation
                == NotificationConversation(
                    id: "general", sender: "grace", name: "Grace H.",
                    picture: "https://example.org/g.png", group: group))
        #expect(content.interruption == (mayInterrupt ? .timeSensitive : nil))
        #expect(content.relevance == 1 && content.sound && content.soundName == "chime.caf")
        await device.close()
    }

    @Test("A banner of the app has the category that its message names, or else the app's")
    func category() async throws {
        let device = try await stage.open(system: system) { $0.category = "message" }
        try stage.publish()
        try await device.live(through: 1)
        for (notice, category) in [(#"{"category":"question"}"#, "question"), ("{}", "message")] {
            let id = EntryID.random()
            try stage.server.publish(
                #"{"text":"hi","notice":\#(notice)}"#, to: "general", id: id,
                from: NoticeFixture.other)
            try await eventually("it stands") { device.standing.contains(id.text) }
            let shown = system.delivered.first { $0.request.id == id.text }
            #expect(shown?.request.content.category == category)
        }
        await device.close()
    }

    @Test(
        "A push before the socket: it stands alone; a push behind it takes its place, and is counted"
    )
    func pushAndSocket() async throws {
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        let first = EntryID.random()
        system.push(try NoticeFixture.push(first, seq: 2, badge: (2, asOf: 1)))
        try stage.publish(id: first)
        try await device.live(through: 2)
        #expect(system.rung.count { $0.request.id == first.text } == 1)
        let (seq, second) = try stage.publish()
        try await device.live(through: 3)
        system.push(try NoticeFixture.push(second, seq: seq, badge: (3, asOf: 2)))
        try stage.publish()
        try await device.live(through: 4)
        #expect(device.standing.count { $0 == second.text } == 1)
        #expect(await device.notices.diagnostics.tally.secondAlerts == 1)
        await device.close()
    }

    @Test("A message with an id of more than 64 bytes stands under the name of its push, and goes")
    func longID() async throws {
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        let id = try EntryID(String(repeating: "x", count: 100))
        let name = EntryID.hash(of: id.text, prefix: "h-").text
        try stage.publish(id: id)
        try await eventually("it stands") { device.standing.contains(name) }
        #expect(name.utf8.count <= 64 && !device.standing.contains(id.text))
        try stage.readElsewhere(through: 2)
        try await eventually("it goes") { device.standing.isEmpty }
        await device.close()
    }

    @Test("Read on another device: its banners go, also of a push that nobody here heard of")
    func readElsewhere() async throws {
        let device = try await stage.open(system: system)
        for _ in 0..<3 { try stage.publish() }
        try await device.live(through: 3)
        let (seq, id) = try stage.publish()
        try await eventually("it stands") { device.standing.contains(id.text) }
        try stage.readElsewhere(through: seq)
        try await eventually("nothing stands") { device.standing.isEmpty }
        try await eventually("the badge is 0") { system.badge == 0 }
        // A push of a message that was read meanwhile is late.
        system.push(try NoticeFixture.push(id, seq: seq))
        await device.notices.foreground()
        try await eventually("it is gone again") { device.standing.isEmpty }
        await device.close()
    }

    @Test(
        "A deleted message's banner is removed; a dismissing push removes the banners that it names"
    )
    func removals() async throws {
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        let (seq, id) = try stage.publish()
        try await eventually("it stands") { device.standing.contains(id.text) }
        try stage.publish(change: .deletes(seq))
        try await eventually("it is gone") { !device.standing.contains(id.text) }
        let (next, other) = try stage.publish()
        try await eventually("it stands") { device.standing.contains(other.text) }
        try await device.notices.receivedPush(
            try NoticeFixture.payload(other, seq: next, kind: .dismiss))
        #expect(!device.standing.contains(other.text))
        await device.close()
    }

    @Test(
        "Killed between the decision and the system: shown at the next start, and counted as unconfirmed"
    )
    func killedBefore() async throws {
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        device.connection.hold()
        let (_, id) = try stage.publish()
        try await eventually("it waits") { device.connection.held > 0 }
        try await device.kill()
        #expect(!device.standing.contains(id.text))
        let next = try await stage.open(system: system)
        try await eventually("it stands") { next.standing.contains(id.text) }
        await next.quiet()
        #expect(await next.notices.diagnostics.tally.again == 1)
        #expect(system.badge == 2)
        await next.close()
    }

    @Test(
        "Killed between the decision and the system, and read meanwhile: never shown",
        .limit("notices.restart"))
    func killedAndRead() async throws {
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        device.connection.hold()
        let (seq, id) = try stage.publish()
        try await eventually("it waits") { device.connection.held > 0 }
        let general = try device.reprise.channel("general")
        try await general.markRead(through: seq)
        try await device.kill()
        let next = try await stage.open(system: system)
        // What comes behind it is seen next.
        let (_, last) = try stage.publish()
        try await eventually("the next one stands") { next.standing.contains(last.text) }
        await next.quiet()
        #expect(!system.rung.contains { $0.request.id == id.text })
        #expect(next.notices.badge.count == 1)
        await next.close()
    }

    @Test(
        "After a kill between the system's call and the record a shown notification is left as it is"
    )
    func killedAfter() async throws {
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        let (_, id) = try stage.publish()
        try await device.live(through: 2)
        try await device.reprise.journal.write { db in
            try db.execute(
                sql: "UPDATE noticesMessage SET standing = 0 WHERE id = ?", arguments: [id.text])
        }
        try await device.kill()
        let next = try await stage.open(system: system)
        let (_, last) = try stage.publish()
        try await eventually("the next one stands") { next.standing.contains(last.text) }
        await next.quiet()
        #expect(system.rung.count { $0.request.id == id.text } == 1)
        #expect(await next.notices.diagnostics.tally.again == 0)
        await next.close()
    }

    @Test("Not permitted: nothing is shown; later given: what comes then is, and the badge is set")
    func permission() async throws {
        system.allow(.denied)
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        try stage.publish()
        try await device.live(through: 2)
        #expect(system.delivered.isEmpty)
        #expect(system.badges.isEmpty)
        system.allow(.authorized)
        device.notices.permissionChanged()
        try await eventually("the badge is set") { system.badge == 2 }
        let (_, id) = try stage.publish()
        try await eventually("it stands") { device.standing == [id.text] }
        await device.close()
    }

    @Test(
        "In the foreground: nothing of the channel on the screen, and its banners go when it appears"
    )
    func onScreen() async throws {
        let device = try await stage.open(system: system, channels: ["general", "other"])
        try stage.publish()
        try await device.live(through: 1)
        let (_, id) = try stage.publish()
        try await eventually("it stands") { device.standing.contains(id.text) }
        let general = try device.reprise.channel("general")
        try await general.setVisible(true)
        try await eventually("nothing stands") { device.standing.isEmpty }
        let (seq, next) = try stage.publish()
        try await device.live(through: seq)
        #expect(device.standing.isEmpty)
        let push = DeliveredNotification(
            request: try NoticeFixture.push(next, seq: seq, badge: (3, asOf: 5)),
            date: WallTime(milliseconds: 1), isRemote: true)
        #expect(await device.notices.willPresent(push).isDisjoint(with: [.banner, .list, .sound]))
        // Opening clears no badge.
        #expect(device.notices.badge.count == 3)
        await device.close()
    }

    @Test("A tap is a route to its conversation, and comes again until it is presented")
    func taps() async throws {
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        let (_, id) = try stage.publish()
        try await eventually("it stands") { device.standing.contains(id.text) }
        let notification = try #require(
            system.delivered.first { $0.request.id == id.text })
        try await device.notices.received(NotificationResponse(notification: notification))
        try await device.notices.received(NotificationResponse(notification: notification))
        await device.reprise.setReady(.ui)
        for attempt in 1...2 {
            for await tap in device.notices.taps {
                #expect(tap.route?.id == "general")
                #expect(tap.route?.part == id.text)
                if attempt == 2 { try await tap.presented() }
                break
            }
        }
        let left: Int? = try await device.value(
            "SELECT COUNT(*) FROM noticesTap WHERE presented IS NULL")
        #expect(left == 0)
        await device.close()
    }

    @Test(
        "A push that was tapped before its message came counts as shown and tapped, whatever is on the screen, and is not shown again",
        arguments: [false, true])
    func tappedBefore(isOnScreen: Bool) async throws {
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        let id = EntryID.random()
        let push = DeliveredNotification(
            request: try NoticeFixture.push(id, seq: 2), date: WallTime(milliseconds: 1),
            isRemote: true)
        try await device.notices.received(NotificationResponse(notification: push))
        if isOnScreen { try await device.reprise.channel("general").setVisible(true) }
        try stage.publish(id: id)
        try await device.live(through: 2)
        #expect(!device.standing.contains(id.text))
        let row: String? = try await device.value(
            """
            SELECT standing || ' ' || way || ' ' || reason || ' ' || ended FROM noticesMessage
            WHERE id = '\(id.text)'
            """)
        #expect(row == "2 push found open")
        await device.close()
    }

    @Test("A reply and \"mark as read\" go through the outbox, without the app's screen")
    func reply() async throws {
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        let (seq, id) = try stage.publish()
        try await eventually("it stands") { device.standing.contains(id.text) }
        let notification = try #require(
            system.delivered.first { $0.request.id == id.text })
        let response = NotificationResponse(
            notification: notification, action: .text("reply", answer: "on my way"))
        // The same through two entrances of the app.
        try await device.notices.received(response)
        try await device.notices.received(response)
        try await eventually("the server has it") { stage.server.head(of: "general") == seq + 1 }
        try await eventually("nothing is unread") { device.notices.badge.count == 0 }
        try await eventually("nothing stands") { device.standing.isEmpty }
        #expect(stage.server.head(of: "general") == seq + 1)
        await device.close()
    }

    private struct Figure: Codable, Equatable { var value: Double }

    @Test("A reply is a body of the app's type; one that cannot be encoded is a dead letter")
    func typedReply() async throws {
        let device = try await stage.open(system: system) { configuration in
            configuration.setReply { Figure(value: Double($0) ?? 0) }
        }
        try stage.publish()
        try await device.live(through: 1)
        // JSON has no infinity.
        for text in ["inf", "7"] {
            let (_, id) = try stage.publish()
            try await eventually("it stands") { device.standing.contains(id.text) }
            let notification = try #require(system.delivered.first { $0.request.id == id.text })
            try await device.notices.received(
                NotificationResponse(
                    notification: notification, action: .text("reply", answer: text)))
        }
        try await eventually("the server has the second") {
            stage.server.bodies(of: "general", as: Figure.self) == [Figure(value: 7)]
        }
        let letters = try await device.reprise.journal.deadLetters()
        let texts = letters.map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(texts.map { $0.contains("inf") } == [true])
        await device.close()
    }

    @Test("An older count of the server never takes the place of a newer")
    func asOf() async throws {
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        for (count, asOf) in [(5, 20), (3, 10)] as [(Int64, Int64)] {
            try await device.notices.receivedPush(
                try NoticeFixture.payload(
                    .random(), seq: 9, head: 9, badge: (count, asOf: asOf), kind: .badge))
        }
        #expect(device.notices.badge.count == 5)
        #expect(system.badge == 5)
        // Once the log has all of it, what is unread is counted here.
        for _ in 0..<8 { try stage.publish() }
        try await eventually("it is counted") { device.notices.badge.count == 9 }
        #expect(device.notices.badge.asOf == nil)
        await device.close()
    }

    @Test(
        "A push's figure ends with its channel, left or refused, and a late push does not bring it back",
        arguments: [false, true])
    func channelEnded(isRefused: Bool) async throws {
        let device = try await stage.open(system: system, channels: ["general", "other"])
        try stage.publish()
        try stage.publish(to: "other")
        try await device.live(through: 1)
        try await device.live("other", through: 1)
        let push = try NoticeFixture.payload(
            .random(), seq: 2, head: 2, badge: (5, asOf: 20), kind: .badge)
        try await device.notices.receivedPush(push)
        #expect(system.badge == 5)
        if isRefused {
            try stage.server.setMembers(["grace"], of: "general")
        } else {
            try await device.reprise.channel("general").unsubscribe()
        }
        let own = isRefused ? 1 : 2
        try await becomes("the device's own figure holds", own) { system.badge }
        try await device.notices.receivedPush(push)
        #expect(system.badge == own && device.notices.badge.asOf == nil)
        try await device.reprise.channel("other").markRead(through: 1)
        try await becomes("reading lowers it", own - 1) { system.badge }
        await device.close()
    }

    @Test("A push's figure does not hold for a refused channel of which nothing has come")
    func refusedFromAfar() async throws {
        try stage.server.setMembers(["grace"], of: "secret")
        let device = try await stage.open(system: system, channels: ["general", "secret"])
        try stage.publish()
        try await device.live(through: 1)
        try await eventually("it is refused") {
            if case .refused = try device.reprise.channel("secret").state { true } else { false }
        }
        try await device.notices.receivedPush(
            try NoticeFixture.payload(
                .random(), seq: 2, channel: "secret", head: 2, badge: (5, asOf: 20), kind: .badge))
        #expect(system.badge == 1)
        await device.close()
    }

    @Test("An epoch anew: nothing of its log is shown")
    func epoch() async throws {
        let device = try await stage.open(system: system)
        for _ in 0..<5 { try stage.publish() }
        try await device.live(through: 5)
        let shown = system.rung.count
        try stage.server.changeEpoch("general", keeping: 2)
        try await eventually("the log began anew") {
            let logs: Int? = try await device.value(
                "SELECT COUNT(*) FROM channelsLog WHERE channel = 'general'")
            return logs == 2
        }
        try await device.live(through: 2)
        #expect(system.rung.count == shown)
        let (_, id) = try stage.publish()
        try await eventually("what comes then is") { device.standing.contains(id.text) }
        await device.close()
    }
}
