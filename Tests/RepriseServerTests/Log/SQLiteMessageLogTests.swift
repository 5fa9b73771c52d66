import Foundation
import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// The SQLite log and the file system.
@Suite("The SQLite log")
struct SQLiteMessageLogTests {
    let room: ChannelName

    init() throws { room = try ChannelName("room") }

    private func open(_ path: String) throws { _ = try SQLiteMessageLog.open(at: path) }

    @Test("commits with synchronous = FULL although GRDB's pool sets NORMAL")
    func durability() async throws {
        let store = try SQLiteStore()
        try await store.reopen()
        #expect(try store.sqlite.synchronous() == 2)
        try await store.reopen()
        #expect(try store.sqlite.synchronous() == 2)
        await store.remove()
    }

    @Test("is opened by one server at a time", .limit("log.busy"))
    func oneOwner() async throws {
        let store = try SQLiteStore()
        try await store.reopen()
        expectError(.journalOwned) { try open(store.folder.path) }
        await store.close()
        try await store.reopen()
        await store.remove()
    }

    @Test("a closed log is one file that holds everything, also after reads")
    func oneFile() async throws {
        let store = try SQLiteStore()
        try await store.reopen()
        try await store.fill(room, 3)
        let before = try await store.everything(in: room)
        #expect(store.folder.names.contains("messages.sqlite-wal"))
        await store.close()
        #expect(store.folder.names == ["messages.lock", "messages.sqlite"])
        try await store.reopen()
        #expect(try await store.everything(in: room) == before)
        await store.remove()
    }

    @Test("a restored folder gets a new epoch, kept from then on, and nothing else of it changes")
    func restored() async throws {
        let store = try SQLiteStore()
        try await store.reopen()
        try await store.fill(room, 3)
        let before = try await store.everything(in: room)
        await store.close()
        var configuration = SQLiteMessageLog.Configuration()
        configuration.isRestored = true
        let restored = try SQLiteMessageLog.open(at: store.folder.path, configuration)
        let epoch = try await restored.state(of: room).epoch
        #expect(epoch != before.state.epoch)
        #expect(try await restored.history(of: room, after: 0, limit: 9).events == before.events)
        await restored.close()
        try await store.reopen()
        #expect(try await store.log.state(of: room).epoch == epoch)
        await store.remove()
    }

    @Test("a folder without a log was not restored: it is refused, and left without one")
    func nothingRestored() async throws {
        let folder = try TemporaryFolder()
        var configuration = SQLiteMessageLog.Configuration()
        configuration.isRestored = true
        expectError(.notAJournal) {
            try SQLiteMessageLog.open(at: folder.path, configuration)
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test("refuses a newer schema and leaves it as it is")
    func newerSchema() async throws {
        let store = try SQLiteStore()
        try await store.reopen()
        try await store.fill(room, 3)
        await store.close()
        try store.change("INSERT INTO grdb_migrations VALUES ('99 tomorrow')")
        let file = URL(fileURLWithPath: store.folder.path + "/messages.sqlite")
        let bytes = try Data(contentsOf: file)
        expectError(.journalNewer) { try open(store.folder.path) }
        #expect(try Data(contentsOf: file) == bytes, "not a byte of it changes")
        try store.change("DELETE FROM grdb_migrations WHERE identifier = '99 tomorrow'")
        try await store.reopen()
        #expect(try await store.log.state(of: room).head == 3)
        await store.remove()
    }

    @Test("refuses to open a file in which a channel with messages has lost its head")
    func emptiedChannels() async throws {
        let folder = try TemporaryFolder()
        let log = try SQLiteMessageLog.open(at: folder.path)
        for name in ["a", "b", "c"] {
            _ = try await log.append([
                NewMessage(channel: try ChannelName(name), id: .random(), body: [0x31])
            ])
        }
        await log.close()
        try open(folder.path)
        let queue = try DatabaseQueue(path: folder.path + "/messages.sqlite")
        try await queue.write { try $0.execute(sql: "DELETE FROM heads WHERE name = 'b'") }
        try queue.close()
        let file = URL(fileURLWithPath: folder.path + "/messages.sqlite")
        let bytes = try Data(contentsOf: file)
        expectError(.corrupt) { try open(folder.path) }
        #expect(try Data(contentsOf: file) == bytes, "not a byte of it changes")
    }

    @Test("refuses a file cut to nothing, and a first page that has lost its tables, until removed")
    func emptied() async throws {
        let folder = try TemporaryFolder()
        try await SQLiteMessageLog.open(at: folder.path).close()
        let file = URL(fileURLWithPath: folder.path + "/messages.sqlite")
        var page = try Data(contentsOf: file)
        // The number of cells in the root page of the schema's table.
        page.replaceSubrange(103..<105, with: [0, 0])
        for content in [page, Data()] {
            try content.write(to: file)
            expectError(.corrupt) { try open(folder.path) }
            #expect(try Data(contentsOf: file) == content, "it is refused as it was")
        }
        try FileManager.default.removeItem(at: file)
        try open(folder.path)
    }

    @Test("refuses a file that is not SQLite, cut, or of another program, and moves nothing aside")
    func foreignFiles() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: true)
        let file = folder.path + "/messages.sqlite"
        let garbage = Data((0..<9_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try garbage.write(to: URL(fileURLWithPath: file))
        expectError(.corrupt) { try open(folder.path) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == garbage)

        try FileManager.default.removeItem(atPath: file)
        let queue = try DatabaseQueue(path: file)
        try await queue.write { try $0.execute(sql: "CREATE TABLE notes (text)") }
        try queue.close()
        expectError(.notAJournal) { try open(folder.path) }
        folder.remove()
    }

    @Test("says what is wrong with a folder that is a file, or a file that is a folder")
    func wrongKind() throws {
        let folder = try TemporaryFolder()
        try Data("hello".utf8).write(to: URL(fileURLWithPath: folder.path))
        expectError(.notAJournal) { try open(folder.path) }
        folder.remove()
        try FileManager.default.createDirectory(
            atPath: folder.path + "/messages.sqlite", withIntermediateDirectories: true)
        expectError(.notAJournal) { try open(folder.path) }
        folder.remove()
    }

    @Test("says that a folder cannot be written")
    func readOnly() throws {
        // Root may write anywhere except where nobody may.
        expectError(.notWritable) { try open("/proc/reprise-log") }
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o500])
        if geteuid() != 0 {
            expectError(.notWritable) { try open(folder.path) }
        }
        folder.remove()
    }

    @Test("stores nothing of a batch that the disk has no room for, and goes on once there is room")
    func bounded() async throws {
        let store = try SQLiteStore { $0.maximumBytes = 300_000 }
        try await store.reopen()
        let body = "\"" + String(repeating: "x", count: 20_000) + "\""
        try await store.fill(room, 5)
        let batch = (0..<20).map { _ in message(room, body: body) }
        await expectError(.diskFull) { try await store.append(batch) }
        #expect(try await store.log.state(of: room).head == 5)
        let less = try await store.append(Array(batch.prefix(3)))
        #expect(less.map { $0.event?.seq } == [6, 7, 8])
        await store.remove()
    }
}
