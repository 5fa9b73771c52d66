import Foundation
import GRDB
import Reprise
import RepriseTestSupport
import RepriseTesting
import Testing

/// Taps that the journal cannot take: they are in the spool, or it throws.
@Suite("A tap that the journal cannot take", .timeLimit(.minutes(1)))
struct ReceivedTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(takeOver: Bool = false) async throws -> AccountClient {
        var configuration = AccountClient.Configuration()
        configuration.forms = Forms.Configuration()
        configuration.reminders = Reminders.Configuration()
        configuration.notices = Notices.Configuration()
        configuration.journal.takeOver = takeOver
        configuration.journal.closeGrace = .milliseconds(50)
        return try await AccountClient.open(
            at: folder.appending("account"), server: "http://memory", dialer: MemoryServer(),
            configuration: configuration)
    }

    private static func tap(
        _ id: String, _ info: String, _ action: NotificationResponse.Action = .open
    )
        -> NotificationResponse
    {
        let content = NotificationContent(title: "t", body: "b", info: Array(info.utf8))
        return NotificationResponse(
            notification: DeliveredNotification(
                request: NotificationRequest(id: id, content: content),
                date: WallTime(milliseconds: 1_000), isRemote: true), action: action)
    }

    /// One of each door that has taps; the last two are what a person typed, and a button.
    private static func taps() throws -> [NotificationResponse] {
        let hint = PushHint(
            kind: .alert, channel: try ChannelName("general"), seq: 1, head: 1)
        let notice = #"{"reprise":"# + String(decoding: hint.json, as: UTF8.self) + "}"
        let route = String(
            decoding: ReminderInfo(route: Route(sort: "goal", id: "g1")).payload, as: UTF8.self)
        return [
            tap("form", #"{"plan":"vip"}"#), tap("reminder", route), tap("notice", notice),
            tap("reply", notice, .text("reply", answer: "hello")),
            tap("read", notice, .button("read")),
        ]
    }

    @Test("Taken over: it waits in the spool, and the new owner has it")
    func takenOver() async throws {
        let former = try await open()
        let owner = try await open(takeOver: true)
        let taps = try Self.taps()
        for tap in taps { try await former.received(tap) }
        #expect(try await owner.journal.mergeSpool().accepted == taps.count)
        for tap in taps {
            let entry = try await owner.journal.entry(tap.tapID)
            #expect(entry != nil, "\(tap.notification.request.id)")
        }
        #expect(try await owner.ledger().isBalanced)
        await former.close()
        await owner.close()
    }

    /// No entry can be recorded for want of room, whatever its size.
    private static func fill(_ reprise: AccountClient) async throws {
        try await reprise.journal.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE filling (bytes BLOB);
                    CREATE TRIGGER fill AFTER INSERT ON entry BEGIN
                    INSERT INTO filling VALUES (zeroblob(1000000));
                    END;
                    PRAGMA max_page_count = 1
                    """)
        }
        await expectError(.diskFull) {
            try await reprise.forms?.record("full")
        }
    }

    private static func makeRoom(_ reprise: AccountClient) async throws {
        try await reprise.journal.write { db in
            try db.execute(sql: "PRAGMA max_page_count = 1000000; DROP TRIGGER fill")
        }
    }

    @Test(
        "A full disk: it waits in the spool, and is in the journal once there is room",
        .limit("journal.spoolWaits"))
    func fullDisk() async throws {
        let reprise = try await open()
        try await Self.fill(reprise)
        let taps = try Self.taps()
        for tap in taps { try await reprise.received(tap) }
        #expect(try await reprise.journal.entry(taps[0].tapID) == nil)
        try await Self.makeRoom(reprise)
        for tap in taps {
            try await eventually("\(tap.notification.request.id) is in the journal") {
                try await reprise.journal.entry(tap.tapID) != nil
            }
        }
        await reprise.close()
    }

    @Test("If the spool cannot be written either, a call throws, and says why")
    func nowhere() async throws {
        let reprise = try await open()
        try await Self.fill(reprise)
        let spool = folder.appending("account/spool")
        try? FileManager.default.removeItem(at: spool)
        try Data().write(to: spool)
        for tap in try Self.taps() {
            let error = try await #require(throws: RepriseError.self) {
                try await reprise.received(tap)
            }
            #expect(error.code == .diskFull && error.cause != nil)
        }
        try await Self.makeRoom(reprise)
        await reprise.close()
    }

    @Test("Of an account that was removed meanwhile nothing is made again")
    func removed() async throws {
        let former = try await open()
        let owner = try await open(takeOver: true)
        await owner.close()
        try FileManager.default.removeItem(at: folder.appending("account"))
        await #expect(throws: RepriseError.self) { try await former.received(Self.taps()[0]) }
        #expect(!FileManager.default.fileExists(atPath: folder.appending("account").path))
        await former.close()
    }

    @Test("A tap that came by the spool is not dispatched again once it was presented")
    func presentedOnce() async throws {
        let former = try await open()
        var owner = try await open(takeOver: true)
        let tap = try Self.taps()[2]
        try await former.received(tap)
        await former.close()
        try await owner.journal.mergeSpool()
        await owner.setReady(.ui)
        let log = "SELECT presented FROM noticesTap WHERE entry = ?"
        for await routed in try #require(owner.notices).taps {
            try await routed.presented()
            break
        }
        try await eventually("it is written down") {
            try await owner.journal.read { db in
                try Int64.fetchOne(db, sql: log, arguments: [tap.tapID.text])
            } != nil
        }
        // Closing waits 50 ms for handlers, and no longer.
        try await eventually("it has ended") {
            try await owner.journal.entry(tap.tapID)?.state == .finished(.applied)
        }
        await owner.close()
        owner = try await open()
        #expect(try await owner.journal.entry(tap.tapID)?.state == .finished(.applied))
        await owner.close()
    }

    @Test("A reply, and what was read, take no time where the server knows no users")
    func promptWithoutUsers() async throws {
        let server = MemoryServer()
        var configuration = AccountClient.Configuration()
        configuration.notices = Notices.Configuration()
        let reprise = try await AccountClient.open(
            at: folder.appending("account"), server: "http://memory", dialer: server,
            configuration: configuration)
        let system = MemoryNotifications(clock: ManualClock()).connect()
        let running = [
            Task { try await reprise.run() },
            Task { try await reprise.notices?.run(notifications: system) ?? () },
        ]
        try server.publish(#"{"text":"hi"}"#, to: "general")
        let general = try reprise.channel("general")
        try await general.subscribe()
        try await eventually("it is live") { general.state == .live }
        let start = ContinuousClock.now
        for tap in try Self.taps().suffix(2) { try await reprise.received(tap) }
        let took = ContinuousClock.now - start
        #expect(took < .seconds(4), "\(took)")
        #expect(server.head(of: "general") == 2)
        for task in running { task.cancel() }
        await reprise.close()
        for task in running { _ = await task.result }
    }
}
