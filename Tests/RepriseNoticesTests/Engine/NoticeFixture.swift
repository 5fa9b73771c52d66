import Foundation
import GRDB
import Reprise
import RepriseCore
import RepriseJournal
import RepriseNotices
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// A server, and people who write; devices come and go.
final class NoticeFixture: Sendable {
    static let me = UserID(unchecked: "ada")
    static let other = UserID(unchecked: "grace")

    let folder: TemporaryFolder
    let server = MemoryServer(user: NoticeFixture.me)

    init() throws { folder = try TemporaryFolder() }

    @discardableResult
    func publish(
        _ text: String = "hello", to channel: String = "general", id: EntryID = .random(),
        from user: UserID = NoticeFixture.other, change: MessageChange<Int64>? = nil
    ) throws -> (seq: Int64, id: EntryID) {
        let seq = try server.publish(
            #"{"text":"\#(text)"}"#, to: channel, id: id, from: user, change: change)
        return (seq, id)
    }

    /// The person has read on another device.
    func readElsewhere(_ channel: String = "general", through seq: Int64) throws {
        server.send(
            .receipt(
                channel: try ChannelName(channel),
                .init(user: Self.me, read: seq, delivered: seq)))
    }

    /// One process of the app, over the journal of this name.
    func open(
        _ name: String = "device", system: MemoryNotifications, channels: [String] = ["general"],
        dyingAfter changes: Int? = nil, takeOver: Bool = false, isHeld: Bool = false,
        _ set: (inout Notices.Configuration) -> Void = { _ in }
    ) async throws -> NoticeDevice {
        var notices = Notices.Configuration()
        set(&notices)
        var configuration = AccountClient.Configuration()
        configuration.notices = notices
        configuration.journal.closeGrace = .milliseconds(50)
        configuration.journal.takeOver = takeOver
        let reprise = try await AccountClient.open(
            at: folder.appending(name), server: "http://memory", dialer: server,
            configuration: configuration)
        let connection = system.connect(dyingAfter: changes)
        if isHeld { connection.hold() }
        let device = try NoticeDevice(reprise, system, connection)
        for channel in channels { try await reprise.channel(channel).subscribe() }
        return device
    }

    /// The payload of a push of a message.
    static func payload(
        _ id: EntryID, seq: Int64, channel: String = "general", head: Int64? = nil,
        badge: (Int64, asOf: Int64)? = nil, kind: PushHint.Kind = .alert
    ) throws -> [UInt8] {
        var hint = PushHint(
            kind: kind, channel: try ChannelName(channel), seq: seq, head: head ?? seq)
        hint.id = kind == .alert ? id : nil
        hint.from = other
        hint.badge = badge.map { .init(count: $0.0, asOf: WallTime(milliseconds: $0.asOf)) }
        return Array(#"{"reprise":"#.utf8) + hint.json + Array("}".utf8)
    }

    static func push(_ id: EntryID, seq: Int64, badge: (Int64, asOf: Int64)? = nil) throws
        -> NotificationRequest
    {
        var content = NotificationContent(
            title: "general", body: "hello", info: try payload(id, seq: seq, badge: badge))
        content.badge = badge.map { Int($0.0) }
        return NotificationRequest(id: id.text, content: content)
    }
}

/// One life of an app on a device.
final class NoticeDevice: Sendable {
    let reprise: AccountClient
    let notices: Notices
    let system: MemoryNotifications
    let connection: MemoryNotificationsConnection
    private let tasks: [Task<Void, any Error>]

    init(
        _ reprise: AccountClient, _ system: MemoryNotifications,
        _ connection: MemoryNotificationsConnection
    ) throws {
        self.reprise = reprise
        let notices = try #require(reprise.notices)
        self.notices = notices
        self.system = system
        self.connection = connection
        tasks = [
            Task { try await reprise.run() },
            Task { try await notices.run(notifications: connection) },
        ]
    }

    /// Everything that the server has is here.
    func live(_ channel: String = "general", through seq: Int64) async throws {
        let name = try ChannelName(channel)
        try await eventually("\(channel) is live through \(seq)") {
            guard try reprise.channel(channel).state == .live else { return false }
            let cursor: Int64? = try await row("SELECT head FROM noticesChannel", of: name)
            return (cursor ?? 0) >= seq
        }
        await quiet()
    }

    func quiet() async { _ = await notices.settled(within: .seconds(10)) }

    var standing: [String] { system.delivered.map(\.request.id) }

    func row<T: DatabaseValueConvertible & Sendable>(_ sql: String, of channel: ChannelName)
        async throws -> T?
    {
        try await reprise.journal.read { db in
            try T.fetchOne(db, sql: sql + " WHERE channel = ?", arguments: [channel.text])
        }
    }

    func value<T: DatabaseValueConvertible & Sendable>(_ sql: String) async throws -> T? {
        try await reprise.journal.read { db in try T.fetchOne(db, sql: sql) }
    }

    /// Ends in good order.
    func close() async {
        for task in tasks { task.cancel() }
        await reprise.close()
        for task in tasks { _ = await task.result }
    }

    /// Ends as a process does that is killed: the system hears nothing more, and nothing is
    /// written.
    func kill() async throws {
        connection.kill()
        try await reprise.journal.write { db in
            try db.execute(sql: "UPDATE journal SET incarnation = incarnation + 1")
        }
        connection.release()
        await close()
    }
}
