import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

private let ada = UserID(unchecked: "ada")

/// A row with a value of another type, as a damaged file may have it, and what reads it.
struct UnreadableRow: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let sql: String
    let read: @Sendable (Accounts) async throws -> Void

    init(
        _ what: String, _ sql: String, read: @escaping @Sendable (Accounts) async throws -> Void
    ) {
        (testDescription, self.sql, self.read) = (what, sql, read)
    }

    static let all = channels + devices + others

    private static let channels = [
        UnreadableRow(
            "a channel",
            """
            INSERT INTO channels (name, visibility, history, made)
            VALUES ('room', 'private', 'all', x'ff')
            """
        ) { _ = try await $0.channel(channel("room")) },
        UnreadableRow(
            "a channel's retention",
            """
            INSERT INTO channels (name, visibility, history, kept_bytes, made)
            VALUES ('room', 'private', 'all', x'ff', 0)
            """
        ) { _ = try await $0.channels(of: nil, after: nil, limit: 10) },
        UnreadableRow("a member", "INSERT INTO members VALUES ('room', 'ada', 'owner', 0, x'ff')") {
            _ = try await $0.members(of: channel("room"), after: nil, limit: 10)
        },
        UnreadableRow("a position", "INSERT INTO positions VALUES ('room', 'ada', x'ff', 0)") {
            _ = try await $0.positions.all(of: channel("room"), first: ada, limit: 1)
        },
        UnreadableRow(
            "a change of directories",
            "INSERT INTO directory_changes (user, channel) VALUES ('ada', x'ff')"
        ) { _ = try await $0.directories.changes(limit: 1) },
    ]

    private static let devices = [
        UnreadableRow(
            "a device", "INSERT INTO devices (user, id, seen) VALUES ('ada', 'phone', x'ff')"
        ) { _ = try await $0.devices.all(of: ada) },
        UnreadableRow(
            "a subscription",
            """
            INSERT INTO devices (user, id, seen, web_endpoint, web_key, web_secret)
            VALUES ('ada', 'web', 0, 'https://push.example/1', 7, x'00')
            """
        ) { _ = try await $0.devices.all(of: ada) },
        UnreadableRow(
            "a device's position",
            """
            INSERT INTO devices (user, id, seen) VALUES ('ada', 'phone', 0);
            INSERT INTO device_positions (user, device, channel, delivered)
            VALUES ('ada', 'phone', 'room', x'ff');
            """
        ) { _ = try await $0.positions.devices(of: ada, for: 1, in: channel("room")) },
        UnreadableRow(
            "a waiting push",
            """
            INSERT INTO push_queue
            (service, due, user, device, kind, channel, seq, attempts, expires)
            VALUES ('apns', 0, 'ada', 'phone', 'alert', 'room', 1, x'ff', 0)
            """
        ) { _ = try await $0.pushQueue.waiting(for: 1, in: channel("room"), of: ada) },
    ]

    private static let others = [
        UnreadableRow(
            "a mute",
            "INSERT INTO mutes (user, kind, name, until) VALUES ('ada', 'channel', 'room', x'ff')"
        ) { _ = try await $0.mutes.all(of: ada, at: now) },
        UnreadableRow(
            "quiet hours", "INSERT INTO quiet_hours VALUES ('ada', '', x'ff', 0, 'UTC')"
        ) { _ = try await $0.mutes.quietHours(of: ada) },
        UnreadableRow("forms", "INSERT INTO forms VALUES ('acme', 1, '1', 'a', x'ff', x'00')") {
            _ = try await $0.forms.current(of: channel("acme"))
        },
        UnreadableRow("a profile", "INSERT INTO profiles VALUES ('ada', x'ff', NULL)") {
            _ = try await $0.profile(of: ada)
        },
        UnreadableRow(
            "when a user was seen",
            """
            INSERT INTO members
            VALUES ('room', 'ada', 'member', 0, 0), ('room', 'bob', 'member', 0, 0);
            INSERT INTO presence VALUES ('bob', 0, x'ff');
            """
        ) {
            let watch = ClientFrame.Watch(channel: channel("room"), users: nil)
            _ = try await $0.presence.sights([watch], for: ada)
        },
    ]
}

@Suite("Rows that cannot be read")
struct UnreadableRowTests {
    @Test("are an error and no trap", arguments: UnreadableRow.all)
    func corrupt(row: UnreadableRow) async throws {
        let test = try await AccountsUnderTest()
        let other = try DatabaseQueue(path: test.folder.path + "/accounts.sqlite")
        try await other.write { try $0.execute(sql: row.sql) }
        try other.close()
        await expectError(.corrupt) { try await row.read(test.accounts) }
        await test.remove()
    }

    @Test("of the log are an error of its trimming")
    func trimming() async throws {
        let store = try SQLiteStore()
        try await store.reopen()
        _ = try await store.append([message(channel("room"))])
        await store.close()
        try store.change("UPDATE heads SET bytes = x'ff'")
        try await store.reopen()
        await expectError(.corrupt) {
            try await store.log.trim(RetentionPolicy(count: 1), now: now)
        }
        await store.remove()
    }
}
