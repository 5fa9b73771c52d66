import GRDB
import Reprise
import RepriseCore
import RepriseJournal
import RepriseNotices
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// What the door bears: docs/limits.md, Notices.
@Suite("Bounds of the notices feature", .serialized, .timeLimit(.minutes(1)))
struct NoticeBoundTests {
    let stage: NoticeFixture
    let system = MemoryNotifications(clock: ManualClock())
    let clock = ManualClock()

    init() throws { stage = try NoticeFixture() }

    /// A device in manual time, with one message read in.
    private func open(
        _ set: (inout Notices.Configuration) -> Void = { _ in }
    ) async throws -> NoticeDevice {
        let device = try await stage.open(system: system) { configuration in
            configuration.timekeeper = clock
            set(&configuration)
        }
        try stage.publish()
        try await eventually("it is live") {
            let head: Int64? = try await device.value("SELECT MAX(head) FROM noticesChannel")
            return head == 1
        }
        return device
    }

    /// A banner of a message.
    private func banner(_ device: NoticeDevice) async throws -> DeliveredNotification {
        let (_, id) = try stage.publish()
        try await eventually("it stands") { device.standing.contains(id.text) }
        return try #require(system.delivered.first { $0.request.id == id.text })
    }

    @Test("a title has 256 bytes, a text 1,024, cut between characters", .limit("notices.texts"))
    func texts() async throws {
        let device = try await open()
        let long = String(repeating: "é", count: 600)
        let id = EntryID.random()
        _ = try stage.server.publish(
            #"{"title":"x\#(long)","text":"\#(long)"}"#, to: "general", id: id,
            from: NoticeFixture.other)
        try await eventually("it stands") { device.standing.contains(id.text) }
        let banner = try #require(system.delivered.first { $0.request.id == id.text })
        #expect(banner.request.content.title == "x" + String(repeating: "é", count: 126) + "…")
        #expect(banner.request.content.body == String(repeating: "é", count: 498) + "…")
        await device.close()
    }

    @Test(
        "a payload of 4,096 bytes is read, a longer one is not for this feature",
        .limit("notices.payload"))
    func payload() throws {
        let info = try NoticeFixture.payload(.random(), seq: 1).dropLast()
        let filling = 4_096 - info.count - #","x":""}"#.utf8.count
        for (extra, isOurs) in [(0, true), (1, false)] {
            let more = #","x":"\#(String(repeating: "x", count: filling + extra))"}"#
            let bytes = Array(info) + Array(more.utf8)
            #expect(bytes.count == 4_096 + extra)
            #expect(Notices.isOurs(bytes) == isOurs)
        }
    }

    @Test(
        "of a reply that is typed 16,384 bytes are sent, in whole characters",
        .limit("notices.reply"), arguments: zip(["x", "é"], [16_384, 8_192]))
    func reply(letter: String, count: Int) async throws {
        let sent = Mutex<[Int]>([])
        let device = try await open { configuration in
            configuration.rawJSONReply = { text in
                sent.withLock { $0.append(text.count) }
                return Array(#"{"text":"x"}"#.utf8)
            }
        }
        let notification = try await banner(device)
        try await device.notices.received(
            NotificationResponse(
                notification: notification,
                action: .text("reply", answer: String(repeating: letter, count: 20_000))))
        try await eventually("the server has it") { stage.server.head(of: "general") == 3 }
        #expect(Set(sent.withLock { $0 }) == [count])
        await device.close()
    }

    @Test("eight taps are in flight, the others wait in the journal", .limit("notices.taps"))
    func taps() async throws {
        let device = try await open()
        let notification = try await banner(device)
        for number in 0..<20 {
            var other = notification
            other.date = WallTime(milliseconds: Int64(number))
            try await device.notices.received(NotificationResponse(notification: other))
        }
        await device.reprise.setReady(.ui)
        var taps = device.notices.taps.makeAsyncIterator()
        let first = try #require(await taps.next())
        let sql = """
            SELECT COUNT(*) FROM entry
            WHERE kind = 'notices-tap' AND incarnation NOT NULL AND state < 10
            """
        try await eventually("eight are in flight") { try await device.value(sql) == 8 }
        try await first.presented()
        try await eventually("another one takes its place") {
            let ended: Int? = try await device.value(
                "SELECT COUNT(*) FROM entry WHERE kind = 'notices-tap' AND state >= 10")
            let held: Int? = try await device.value(sql)
            #expect(try #require(held) <= 8)
            return ended == 1 && held == 8
        }
        await device.close()
    }

    @Test(
        "four calls of the system are left alone; while they do not return no other is made",
        .limit("notices.abandoned"))
    func abandoned() async throws {
        let device = try await open()
        device.connection.hold()
        try stage.publish()
        try await eventually("nothing is asked any more") {
            clock.advance(by: .seconds(1))
            return await device.notices.diagnostics.fault?.contains("4 calls have not returned")
                ?? false
        }
        #expect(device.connection.held == 4)
        device.connection.release()
        try await eventually("the fault is over") {
            clock.advance(by: .seconds(1))
            return await device.notices.diagnostics.fault == nil
        }
        await device.close()
    }

    @Test(
        "the system's list of delivered notifications is used for 200 ms; then it is asked once more",
        .limit("notices.fresh"))
    func fresh() async throws {
        let late = Mutex<(by: Duration, push: NotificationRequest)?>(nil)
        let (system, clock) = (system, clock)
        // Between what the system says and what it is asked for.
        let device = try await open { configuration in
            configuration.preferences = {
                if let (duration, push) = late.withLock({ $0.take() }) {
                    clock.advance(by: duration)
                    system.push(push)
                }
                return NoticePreferences()
            }
        }
        for (milliseconds, overtaken) in [(199, 0), (200, 1)] {
            await device.quiet()
            let id = EntryID.random()
            let seq = stage.server.head(of: "general") + 1
            let push = try NoticeFixture.push(id, seq: seq)
            late.withLock { $0 = (.milliseconds(milliseconds), push) }
            try stage.publish(id: id)
            try await eventually("it stands") { device.standing.contains(id.text) }
            try await eventually("it is decided") {
                let row: Int? = try await device.value(
                    "SELECT standing FROM noticesMessage WHERE id = '\(id.text)'")
                return row == 1
            }
            #expect(await device.notices.diagnostics.tally.overtaken == overtaken)
        }
        await device.close()
    }

    @Test(
        "in the foreground the mirror is replaced once a second, with what changed meanwhile",
        .limit("notices.mirrorInterval"))
    func mirror() async throws {
        let device = try await open()
        await device.notices.foreground()
        _ = await device.notices.settled()
        clock.advance(by: .seconds(10))
        _ = try await banner(device)
        _ = await device.notices.settled()
        let before = await device.notices.diagnostics.tally.mirrors
        let written = clock.uptime()
        _ = try await banner(device)
        _ = await device.notices.settled()
        #expect(await device.notices.diagnostics.tally.mirrors == before)
        try await eventually("it waits") { clock.sleepers.contains(written + .seconds(1)) }
        clock.advance(by: .seconds(1))
        try await eventually("it is written") {
            await device.notices.diagnostics.tally.mirrors == before + 1
        }
        await device.close()
    }

    @Test(
        "1,000 notices are looked after at a start; the others when their channel changes",
        .limit("notices.recovered"))
    func recovered() async throws {
        let device = try await open()
        await device.quiet()
        try await device.reprise.journal.write { db in
            for number in 0..<1_100 {
                try db.execute(
                    sql: """
                        INSERT INTO noticesMessage
                            (id, channel, seq, time, standing, way, reason, presentation, decided)
                        VALUES ('old-\(number)', 'other', \(number), 0, 1, 'live', 'new', 0, 0)
                        """)
            }
        }
        let sql = "SELECT COUNT(*) FROM noticesMessage WHERE standing = 1 AND channel = 'other'"
        #expect(try await device.value(sql) == 1_100)
        // The system has none of them; those of the other channel that stand are looked at before.
        let others: Int? = try await device.value(
            "SELECT COUNT(*) FROM noticesMessage WHERE standing < 2 AND channel = 'general'")
        let left = 100 + (others ?? 0)
        device.notices.permissionChanged()
        try await eventually("they are looked after") { try await device.value(sql) == left }
        await device.close()
    }

    @Test(
        "after failures it is tried again with waits that double up to 30 s",
        .limit("notices.pause"))
    func pauses() async throws {
        let device = try await open { $0.jitter = { 1 - .ulpOfOne } }
        await device.quiet()
        system.fail(RepriseError(.unavailable, "Not now."))
        try stage.publish()
        let waits: [Int64] = [
            100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000,
        ]
        for (index, wait) in waits.enumerated() {
            try await eventually("it has failed, and waits for \(wait) ms") {
                let due = clock.uptime() + .milliseconds(wait)
                return await device.notices.diagnostics.tally.failures == index + 1
                    && clock.sleepers.contains { $0 <= due && $0 > due - .milliseconds(1) }
            }
            clock.advance(by: .milliseconds(wait))
        }
        system.fail(nil)
        try await eventually("it is over") {
            clock.advance(by: .seconds(1))
            return await device.notices.diagnostics.fault == nil
        }
        await device.close()
    }

    @Test(
        "after a notification was marked as read the server has 5 s to know of it",
        .limit("notices.action"))
    func read() async throws {
        let device = try await open()
        let notification = try await banner(device)
        stage.server.faults.losesReceipts = true
        let done = Task {
            try await device.reprise.received(
                NotificationResponse(notification: notification, action: .button("read")))
        }
        let start = clock.uptime()
        try await eventually("it waits for the server") {
            clock.sleepers.contains(start + .seconds(5))
        }
        clock.advance(by: .seconds(5))
        try await done.value
        #expect(clock.uptime() == start + .seconds(5))
        await device.close()
    }

    @Test(
        "a push waits 15 s for its message, and five more for its notifications",
        .limit("notices.wake"))
    func woken() async throws {
        let device = try await open()
        let start = clock.uptime()
        // Of a message that the server never sends.
        let info = try NoticeFixture.payload(.random(), seq: 99, badge: (1, asOf: 1), kind: .badge)
        let done = Task { await device.reprise.receivedPush(info) }
        try await eventually("it waits for the message") {
            clock.sleepers.contains(start + .seconds(15))
        }
        clock.advance(by: .seconds(15))
        await done.value
        #expect(clock.uptime() == start + .seconds(15))
        await device.close()
    }

    @Test(
        "what a push has woken the app for is over after 25 s, also where the notification centre hangs",
        .limit("notices.wake"))
    func wokenBesideHungCentre() async throws {
        let device = try await open()
        await device.quiet()
        device.connection.hold()
        try stage.publish()
        try await eventually("its banner is being asked for") { !device.notices.isQuiet }
        let start = clock.uptime()
        let info = try NoticeFixture.payload(.random(), seq: 99, badge: (1, asOf: 1), kind: .badge)
        let done = Task { await device.reprise.receivedPush(info) }
        // What it says is done, its message has come, its notification is shown.
        for wait in [5, 15, 5] as [Int64] {
            let end = clock.uptime() + .seconds(wait)
            try await eventually("it waits for \(wait) s") { clock.sleepers.contains(end) }
            clock.advance(by: .seconds(wait))
        }
        await done.value
        #expect(clock.uptime() == start + .seconds(25))
        device.connection.release()
        try await eventually("the fault is over") {
            clock.advance(by: .seconds(1))
            return await device.notices.diagnostics.fault == nil
        }
        await device.close()
    }

    @Test(
        "the mirror says of the newest 200 messages that they were shown",
        .limit("noticeSettings.mirrored"))
    func mirrored() {
        var mirror = NoticeMirror(
            me: "ada", settings: NotificationSettings(authorization: .authorized))
        let ids = (0..<300).map { "m\($0)" }
        mirror.shown = ids
        #expect(mirror.fitted().shown == Array(ids.prefix(200)))
    }
}
