import Foundation
import GRDB
import RepriseCore
import RepriseServer
import RepriseWire
import Testing

@Suite("Accounts of the version before push")
struct AccountsMigrationTests {
    /// As version 2 made them, with a member whose phone has received something.
    private static let second = """
        PRAGMA application_id = APPLICATION;
        CREATE TABLE channels (
          name TEXT PRIMARY KEY,
          visibility TEXT NOT NULL,
          history TEXT NOT NULL,
          kept_messages INTEGER,
          kept_milliseconds INTEGER,
          kept_bytes INTEGER,
          title TEXT,
          maker TEXT,
          made INTEGER NOT NULL,
          members INTEGER NOT NULL DEFAULT 0
        ) WITHOUT ROWID;
        CREATE INDEX channels_with_retention ON channels (name)
        WHERE kept_messages IS NOT NULL OR kept_milliseconds IS NOT NULL
        OR kept_bytes IS NOT NULL;
        CREATE TABLE members (
          channel TEXT NOT NULL,
          user TEXT NOT NULL,
          role TEXT NOT NULL,
          joined INTEGER NOT NULL,
          since INTEGER NOT NULL,
          PRIMARY KEY (channel, user)
        ) WITHOUT ROWID;
        CREATE INDEX members_by_user ON members (user, channel);
        CREATE TABLE positions (
          channel TEXT NOT NULL,
          user TEXT NOT NULL,
          read INTEGER NOT NULL,
          delivered INTEGER NOT NULL,
          PRIMARY KEY (channel, user)
        ) WITHOUT ROWID;
        CREATE TABLE devices (
          user TEXT NOT NULL,
          id TEXT NOT NULL,
          platform TEXT,
          push_token TEXT,
          seen INTEGER NOT NULL,
          PRIMARY KEY (user, id)
        ) WITHOUT ROWID;
        CREATE INDEX devices_by_token ON devices (push_token) WHERE push_token IS NOT NULL;
        CREATE TABLE device_positions (
          user TEXT NOT NULL,
          device TEXT NOT NULL,
          channel TEXT NOT NULL,
          delivered INTEGER NOT NULL,
          PRIMARY KEY (user, device, channel)
        ) WITHOUT ROWID;
        CREATE TABLE forms (
          company TEXT NOT NULL,
          n INTEGER NOT NULL,
          version TEXT NOT NULL,
          tag TEXT NOT NULL,
          time INTEGER NOT NULL,
          bytes BLOB NOT NULL,
          UNIQUE (company, n),
          UNIQUE (company, version)
        );
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
        INSERT INTO grdb_migrations VALUES ('1 accounts'), ('2 forms');
        INSERT INTO channels (name, visibility, history, made, members)
        VALUES ('room', 'private', 'all', 1, 1);
        INSERT INTO members VALUES ('room', 'bob', 'owner', 3, 1700000000000);
        INSERT INTO positions VALUES ('room', 'bob', 4, 6);
        INSERT INTO devices VALUES ('bob', 'phone', 'ios', 'aabb', 1700000000000);
        INSERT INTO device_positions VALUES ('bob', 'phone', 'room', 6);
        INSERT INTO forms VALUES ('acme', 1, 'v1', 'tag', 1, x'7b7d');
        """

    @Test("keep users, devices, positions and forms, and get pushes from then on")
    func migrates() async throws {
        let push = try PushUnderTest()
        for number in 1...6 { try await push.publish("old-\(number)") }
        let identity = try await identity(push.folder.path)
        await push.kill()
        try await replace(push.folder.path, identity)
        try push.reopen()
        let (bob, room) = (try UserID("bob"), channel("room"))
        let member = try #require(try await push.accounts.member(bob, in: room))
        #expect(member.role == .owner && member.joined == 3)
        let device = try #require(try await push.accounts.devices.all(of: bob).first)
        #expect(device.pushToken?.text == "aabb" && device.subscription == nil)
        let position = try await push.accounts.positions(of: room, first: bob, limit: 1)[0]
        #expect(position.read == 4 && position.delivered == 6)
        try await push.start()
        try await push.publish("new")
        try await push.until(pushes: 1)
        try await push.untilQueueIsEmpty()
        #expect(push.provider.ids == ["new"], "what was stored before is not pushed")
        #expect(push.provider.pushes.first?.hint.badge?.count == 3, "5, 6 and the new one")
        await push.end()
    }

    /// What says that a file is one of accounts.
    private func identity(_ path: String) async throws -> Int {
        let queue = try DatabaseQueue(path: path + "/accounts.sqlite")
        defer { try? queue.close() }
        return try await queue.read { try Int.fetchOne($0, sql: "PRAGMA application_id") } ?? 0
    }

    private func replace(_ path: String, _ identity: Int) async throws {
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: path + "/accounts.sqlite" + suffix)
        }
        let sql = Self.second.replacingOccurrences(of: "APPLICATION", with: "\(identity)")
        let former = try DatabaseQueue(path: path + "/accounts.sqlite")
        try await former.writeWithoutTransaction { try $0.execute(sql: sql) }
        try former.close()
    }
}
