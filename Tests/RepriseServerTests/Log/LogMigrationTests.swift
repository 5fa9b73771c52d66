import Foundation
import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("A log of the former version")
struct LogMigrationTests {
    /// The first version's tables, as that version made them.
    private static let first = """
        PRAGMA application_id = 1380995916;
        CREATE TABLE log (
          one INTEGER PRIMARY KEY CHECK (one = 1),
          epoch TEXT NOT NULL,
          probes INTEGER NOT NULL DEFAULT 0
        );
        CREATE TABLE channels (
          key INTEGER PRIMARY KEY,
          name TEXT NOT NULL UNIQUE,
          head INTEGER NOT NULL,
          floor INTEGER NOT NULL DEFAULT 0,
          count INTEGER NOT NULL,
          time INTEGER NOT NULL
        );
        CREATE TABLE messages (
          channel INTEGER NOT NULL,
          seq INTEGER NOT NULL,
          prev INTEGER,
          id TEXT NOT NULL,
          time INTEGER NOT NULL,
          body BLOB NOT NULL,
          PRIMARY KEY (channel, seq)
        ) WITHOUT ROWID;
        CREATE TABLE recent_ids (
          n INTEGER PRIMARY KEY,
          id TEXT NOT NULL,
          channel INTEGER NOT NULL,
          seq INTEGER NOT NULL
        );
        CREATE TABLE id_runs (
          run INTEGER PRIMARY KEY,
          newest INTEGER NOT NULL,
          filter BLOB NOT NULL
        );
        CREATE TABLE ids (
          run INTEGER NOT NULL,
          id TEXT NOT NULL,
          channel INTEGER NOT NULL,
          seq INTEGER NOT NULL,
          PRIMARY KEY (run, id)
        ) WITHOUT ROWID;
        CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
        INSERT INTO grdb_migrations VALUES ('1 messages');
        INSERT INTO log (one, epoch) VALUES (1, 'former');
        INSERT INTO channels VALUES (1, 'room', 9, 2, 3, 1700000000000), (2, 'empty', 4, 4, 0, 1);
        INSERT INTO messages VALUES
          (1, 3, NULL, 'a', 1700000000000, CAST('"one"' AS BLOB)),
          (1, 4, NULL, 'b', 1700000000000, CAST('"two"' AS BLOB)),
          (1, 9, 4, 'c', 1700000000000, CAST('"three"' AS BLOB));
        INSERT INTO recent_ids VALUES (1, 'a', 1, 3), (2, 'b', 1, 4), (3, 'c', 1, 9);
        """

    @Test(
        "keeps every message, its range, its epoch and its ids, and counts its bytes from then on")
    func migrates() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: true)
        let former = try DatabaseQueue(path: folder.path + "/messages.sqlite")
        try await former.writeWithoutTransaction { try $0.execute(sql: Self.first) }
        try former.close()

        var configuration = SQLiteMessageLog.Configuration()
        configuration.idsPerRun = 4
        let log = try SQLiteMessageLog.open(at: folder.path, configuration)
        let room = try ChannelName("room")
        let page = try await log.history(of: room, after: 0, limit: 10)
        #expect(page.state == LogChannelState(epoch: try Epoch("former"), head: 9, floor: 2))
        #expect(page.events.map(\.seq) == [3, 4, 9])
        #expect(page.events.map(\.prev) == [2, 3, 4])
        #expect(
            page.events.map { String(decoding: $0.body, as: UTF8.self) } == [
                #""one""#, #""two""#, #""three""#,
            ])
        #expect(page.events.allSatisfy { $0.from == nil && $0.change == nil && !$0.isDeleted })
        let again = try await log.append([message(room, id: try EntryID("b"))])
        #expect(again == [.duplicate(seq: 4)])
        try await log.trim(RetentionPolicy(bytes: 12), now: WallTime(milliseconds: 0))
        #expect(try await log.state(of: room).floor == 3, "5 + 5 + 7 bytes, of which 5 must go")
        let deletion = NewMessage(
            channel: room, id: .random(), change: .deletes(try EntryID("c")), body: [])
        #expect(try await log.append([deletion])[0].event?.change == .deletes(9))
        let known = try await log.append(try ["a", "b"].map { message(room, id: try EntryID($0)) })
        #expect(known == [.duplicate(seq: 3), .duplicate(seq: 4)], "of four ids one is sealed")
        await log.close()
        folder.remove()
    }
}
