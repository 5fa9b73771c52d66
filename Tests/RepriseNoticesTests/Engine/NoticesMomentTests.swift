import GRDB
import Reprise
import RepriseCore
import RepriseNotices
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("The notices feature: whose, and how old", .serialized)
struct NoticesMomentTests {
    let stage: NoticeFixture
    let system = MemoryNotifications(clock: ManualClock())

    init() throws { stage = try NoticeFixture() }

    /// Why a message was shown as it was.
    private func reason(of id: EntryID, _ device: NoticeDevice) async throws -> String? {
        try await device.reprise.journal.read { db in
            try String.fetchOne(
                db, sql: "SELECT reason FROM noticesMessage WHERE id = ?", arguments: [id.text])
        }
    }

    /// The server's calendar stands in 1970, the device's is of today.
    @Test("How old a message of a catch-up is tells the server's calendar, not the device's")
    func calendar() async throws {
        let (_, old) = try stage.publish("old")
        // Each takes a millisecond of the server's time.
        try stage.server.fill("other", with: 600_000)
        let (seq, new) = try stage.publish("new")
        let device = try await stage.open(system: system) { $0.lateAfter = .seconds(300) }
        try await device.live(through: seq)
        #expect(try await reason(of: new, device) == "new")
        #expect(try await reason(of: old, device) == "late")
        await device.close()
    }

    @Test("A push that dismisses banners is done only when the read position is here, too")
    func readAfterPush() async throws {
        let device = try await stage.open(system: system)
        let (seq, id) = try stage.publish()
        try await device.live(through: seq)
        try await eventually("the badge is set") { device.notices.badge.count == 1 }
        let info = try NoticeFixture.payload(id, seq: seq, kind: .dismiss)
        async let done: Void = device.notices.caughtUp(with: info, within: .seconds(20))
        try await Task.sleep(for: .milliseconds(300))
        try stage.readElsewhere(through: seq)
        await done
        #expect(device.notices.badge.count == 0)
        await device.close()
    }

    @Test("A count of the server that includes a message on its way does not count it twice")
    func countedAhead() async throws {
        let device = try await stage.open(system: system)
        let (seq, _) = try stage.publish()
        try await device.live(through: seq)
        let name = try ChannelName("general")
        let position = ServerFrame.Position(user: NoticeFixture.me, read: seq, delivered: seq)
        stage.server.send(
            .positions(
                .init(
                    channel: name, positions: [position],
                    unread: Unread(count: 1, head: seq + 1))))
        try await eventually("the server's count is taken") {
            try await device.row("SELECT read FROM noticesChannel", of: name) == seq
        }
        let (next, _) = try stage.publish()
        try await device.live(through: next)
        #expect(device.notices.badge.count == 1)
        await device.close()
    }

    /// The server's calendar stands in 1970: by it everything would be late.
    @Test(
        "Killed before the banner it is decided anew, by the device's calendar and by what holds then",
        arguments: ["new", "late", "quiet", "focus", "channelMuted", "mention"])
    func decidedAnew(then: String) async throws {
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        device.connection.hold()
        let (_, id) = try stage.publish("@ada")
        try await eventually("it waits") { device.connection.held > 0 }
        try await device.kill()
        let next = try await stage.open(system: system) { Self.set(then, &$0) }
        guard then != "channelMuted" else {
            try await eventually("it is no more asked for") {
                try await next.value(
                    "SELECT ended FROM noticesMessage WHERE ended = 'channelMuted'") == then
            }
            #expect(!next.standing.contains(id.text))
            return await next.close()
        }
        try await eventually("it stands") { next.standing.contains(id.text) }
        let isLoud = then == "new" || then == "mention"
        let content = system.delivered.last { $0.request.id == id.text }?.request.content
        #expect(content?.sound == isLoud)
        #expect(content?.interruption == (isLoud ? nil : .passive))
        let reasons = ["focus": "quiet", "mention": "new"]
        #expect(try await reason(of: id, next) == reasons[then] ?? then)
        await next.close()
    }

    @Test(
        "While another device is used it rings or not as the person wants, for two minutes",
        .limit("noticeSettings.activeElsewhere"), arguments: [true, false])
    func elsewhere(isSilent: Bool) async throws {
        var preferences = NoticePreferences()
        preferences.isSilentElsewhere = isSilent
        let clock = ManualClock()
        let device = try await stage.open(system: system) { [preferences] in
            $0.timekeeper = clock
            $0.preferences = { preferences }
        }
        let general = try ChannelName("general")
        func rings() async throws -> Bool {
            let (seq, id) = try stage.publish()
            try await device.live(through: seq)
            let content = system.delivered.first { $0.request.id == id.text }?.request.content
            let isNew = try await reason(of: id, device) == "new"
            #expect(content?.sound == isNew)
            return isNew
        }
        func read(through seq: Int64) async throws {
            try stage.readElsewhere(through: seq)
            try await eventually("it is read") {
                try await device.row("SELECT read FROM noticesChannel", of: general) == seq
            }
        }
        try stage.publish()
        try await device.live(through: 1)
        #expect(try await rings())
        try await read(through: 2)
        #expect(try await rings() != isSilent)
        clock.advance(by: PushPayloadLimits.activeElsewhere)
        #expect(try await rings(), "he has put it down")
        try await read(through: 4)
        await device.notices.foreground()
        #expect(try await rings(), "he has taken up this one")
        await device.close()
    }

    private static func set(_ then: String, _ configuration: inout Notices.Configuration) {
        var preferences = NoticePreferences()
        switch then {
        case "late": configuration.lateAfter = .zero
        case "focus": configuration.isFocused = { true }
        case "quiet": preferences.isQuiet = { _ in true }
        case "channelMuted", "mention":
            preferences.channelMute = { _ in
                .until(WallTime(milliseconds: .max), exceptMentions: true)
            }
        default: break
        }
        configuration.preferences = { [preferences] in preferences }
        guard then == "mention" else { return }
        configuration.setMention(in: [String: String].self) { $0["text"]?.contains("@ada") == true }
    }

    @Test(
        "An app is in the foreground if it has said so, and until then if a channel is on its screen"
    )
    func untold() async throws {
        let device = try await stage.open(system: system)
        let notices = device.notices
        #expect(!notices.isForeground)
        #expect(await notices.availability.state == .background)
        let general = try device.reprise.channel("general")
        try await general.setVisible(true)
        #expect(notices.isForeground)
        await notices.background(granted: .zero)
        #expect(!notices.isForeground)
        await notices.foreground()
        try await general.setVisible(false)
        #expect(notices.isForeground)
        #expect(await notices.availability.state == .foreground)
        await device.close()
    }

    @Test("Notifications for the former user are removed, and recorded in no journal")
    func foreign() async throws {
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        let id = EntryID.random()
        let content = try Self.secret(id, seq: 9)
        system.push(NotificationRequest(id: id.text, content: content))
        #expect(device.standing.contains(id.text))
        await device.notices.foreground()
        try await eventually("it goes") { !device.standing.contains(id.text) }
        #expect(try await reason(of: id, device) == nil)
        // Nor does it show itself, or a figure of his, in the foreground.
        let arrived = DeliveredNotification(
            request: NotificationRequest(id: id.text, content: content),
            date: WallTime(milliseconds: 1), isRemote: true)
        #expect(await device.notices.willPresent(arrived) == [])
        try await device.notices.receivedPush(content.info)
        #expect(device.notices.badge.count == 1)
        await device.close()
    }

    @Test("A push to the former user that dismisses banners removes none of this user's")
    func foreignDismissal() async throws {
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        let (seq, id) = try stage.publish()
        try await eventually("it stands") { device.standing.contains(id.text) }
        try await device.live(through: seq)
        var hint = PushHint(
            kind: .dismiss, channel: try ChannelName("general"), seq: seq, head: seq)
        hint.to = try UserID("somebody")
        let info = Array(#"{"reprise":"#.utf8) + hint.json + Array("}".utf8)
        try await device.notices.receivedPush(info)
        // Nor is a read position waited for that never comes.
        await device.notices.caughtUp(with: info, within: .seconds(3_600))
        await device.quiet()
        #expect(device.standing.contains(id.text))
        await device.close()
    }

    /// A push of a message to another user.
    private static func secret(_ id: EntryID, seq: Int64) throws -> NotificationContent {
        var hint = PushHint(kind: .alert, channel: try ChannelName("general"), seq: seq, head: seq)
        hint.id = id
        hint.to = try UserID("somebody")
        hint.badge = .init(count: 7, asOf: WallTime(milliseconds: 9))
        let info = Array(#"{"reprise":"#.utf8) + hint.json + Array("}".utf8)
        return NotificationContent(title: "general", body: "a secret", info: info)
    }

    @Test("A reply to a message to the former user is not sent, and a tap on it leads nowhere")
    func foreignResponses() async throws {
        let device = try await stage.open(system: system)
        let (seq, id) = try stage.publish()
        try await device.live(through: seq)
        try await eventually("the user is known") {
            let user: String? = try await device.value("SELECT user FROM channelsDevice")
            return user == "ada"
        }
        let push = DeliveredNotification(
            request: NotificationRequest(id: id.text, content: try Self.secret(id, seq: seq)),
            date: WallTime(milliseconds: 1), isRemote: true)
        let actions: [NotificationResponse.Action] = [
            .text("reply", answer: "mine"), .button("read"), .open,
        ]
        for action in actions {
            try await device.notices.received(
                NotificationResponse(notification: push, action: action))
        }
        try await becomes("reply and read are dead letters", 2) {
            try await device.reprise.journal.deadLetters().count
        }
        #expect(stage.server.head(of: "general") == seq)
        try await becomes("it is unread", 1) { device.notices.badge.count }
        await device.reprise.setReady(.ui)
        for await tap in device.notices.taps {
            #expect(tap.route == nil && tap.resolution == .malformed(.anotherUser))
            try await tap.declined(tap.reason)
            break
        }
        await device.close()
    }

    private func accounts() async throws -> DeviceAccounts {
        var configuration = AccountClient.Configuration()
        configuration.notices = Notices.Configuration()
        configuration.notifications = system.connect()
        return try await DeviceAccounts.open(
            at: stage.folder.appending("home"), server: "http://127.0.0.1:1",
            dialer: MemoryDialer(), configuration: configuration,
            tokens: { _ in try AccessToken("YWRh.Yg.1") })
    }

    @Test("A sign-out takes the banners and the badge away although nothing runs")
    func signedOutAtRest() async throws {
        let home = try await accounts()
        try await home.signIn(as: NoticeFixture.me)
        system.push(try NoticeFixture.push(EntryID("m1"), seq: 1, badge: (3, asOf: 1)))
        #expect(system.delivered.count == 1 && system.badge == 3)
        try await home.signOut()
        #expect(system.delivered.isEmpty && system.badge == 0)
        await home.close()
    }

    @Test("While nobody is signed in a run removes what is for a user, and nothing of it is done")
    func nobody() async throws {
        let home = try await accounts()
        let client = try await home.current
        let notices = try #require(client.notices)
        let secret = try Self.secret(EntryID("m1"), seq: 1)
        system.push(NotificationRequest(id: "m1", content: secret))
        let notification = try #require(system.delivered.first)
        system.push(try NoticeFixture.push(EntryID("m2"), seq: 2))
        #expect(await notices.willPresent(notification) == [])
        let centre = system.connect()
        let running = Task { try await notices.run(notifications: centre) }
        try await becomes("what names no user stays", ["m2"]) {
            system.delivered.map(\.request.id)
        }
        try await notices.received(
            NotificationResponse(notification: notification, action: .text("reply", answer: "I")))
        try await becomes("the reply is a dead letter", 1) {
            try await client.journal.deadLetters().count
        }
        running.cancel()
        try await running.value
        await home.close()
    }

    @Test("Once an account is left nothing is shown any more, though messages still come")
    func left() async throws {
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        let (_, id) = try stage.publish()
        try await eventually("it stands") { device.standing.contains(id.text) }
        await device.notices.leave()
        #expect(device.standing.isEmpty && system.badge == 0)
        try stage.publish("after it")
        for await unread in try device.reprise.channel("general").unread
        where unread.count == 3 { break }
        await device.quiet()
        #expect(device.standing.isEmpty && system.badge == 0)
        await device.close()
    }
}
