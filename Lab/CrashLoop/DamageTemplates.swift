import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseServer
import RepriseTesting
import RepriseWire

/// A journal and a log, each as their owner closed them and as a killed owner leaves them; with a
/// list of what they hold.
struct DamageTemplates: Sendable {
    static let names = ["journal-closed", "journal-killed", "log-closed", "log-killed"]
    static let channels = ["alpha", "beta"]

    /// One thing that was promised.
    struct Item: Sendable {
        let id: String
        /// How large the write-ahead log was once it was durable; 0 if it is in the database.
        let walBytes: Int
    }

    private let folder: URL

    init(_ folder: URL) { self.folder = folder }

    func url(_ name: String) -> URL { folder.appendingPathComponent(name) }

    func items(_ name: String) -> [Item] {
        LineFile.read(url(name).appendingPathComponent("items").path).compactMap { words in
            guard words.count == 2, let bytes = Int(words[1]) else { return nil }
            return Item(id: String(words[0]), walBytes: bytes)
        }
    }

    static func database(_ name: String) -> String {
        name.hasPrefix("journal") ? "journal.sqlite" : "messages.sqlite"
    }

    func make() async throws {
        for name in Self.names {
            try FileManager.default.createDirectory(
                at: url(name), withIntermediateDirectories: true)
        }
        try await makeJournals()
        try await makeLogs()
    }

    private func makeJournals() async throws {
        let work = url("work-journal")
        let list = try (
            LineFile(items: url("journal-closed")), LineFile(items: url("journal-killed"))
        )
        let first = try await Journal.open(at: work, kinds: WriterRole.kinds)
        try await record(in: first, times: 40) { id in
            list.0.append("\(id) 0")
            list.1.append("\(id) 0")
        }
        await first.close()
        try writeBack(work.appendingPathComponent("journal.sqlite"))
        try await Journal.open(at: work, kinds: WriterRole.kinds).close()
        try copy("journal.sqlite", from: work, to: "journal-closed")
        try copy("journal.sqlite-wal", from: work, to: "journal-closed")
        let second = try await Journal.open(at: work, kinds: WriterRole.kinds)
        let log = work.appendingPathComponent("journal.sqlite-wal").path
        try await record(in: second, times: 20) { list.1.append("\($0) \(size(log))") }
        try copy("journal.sqlite", from: work, to: "journal-killed")
        try copy("journal.sqlite-wal", from: work, to: "journal-killed")
        await second.close()
    }

    private func record(in journal: Journal, times: Int, _ promised: (EntryID) -> Void) async throws
    {
        for turn in 0..<times {
            let id = EntryID.random()
            let payload = Array(String(repeating: id.text, count: turn % 7 * 8 + 1).utf8)
            try await journal.record(NewEntry(id: id, kind: "kept", payload: payload))
            promised(id)
        }
    }

    private func makeLogs() async throws {
        let work = url("work-log")
        let list = try (LineFile(items: url("log-closed")), LineFile(items: url("log-killed")))
        let first = try SQLiteMessageLog.open(at: work.path)
        try await append(to: first, times: 40) { id in
            list.0.append("\(id) 0")
            list.1.append("\(id) 0")
        }
        await first.close()
        try writeBack(work.appendingPathComponent("messages.sqlite"))
        try copy("messages.sqlite", from: work, to: "log-closed")
        try copy("messages.lock", from: work, to: "log-closed")
        let second = try SQLiteMessageLog.open(at: work.path)
        let log = work.appendingPathComponent("messages.sqlite-wal").path
        try await append(to: second, times: 20) { list.1.append("\($0) \(size(log))") }
        try copy("messages.sqlite", from: work, to: "log-killed")
        try copy("messages.lock", from: work, to: "log-killed")
        try copy("messages.sqlite-wal", from: work, to: "log-killed")
        await second.close()
    }

    private func append(
        to log: SQLiteMessageLog, times: Int, _ promised: (EntryID) -> Void
    ) async throws {
        for turn in 0..<times {
            let id = EntryID.random()
            let text = "\"" + String(repeating: id.text, count: turn % 7 * 8 + 1) + "\""
            let channel = try ChannelName(Self.channels[turn % 2])
            _ = try await log.append([NewMessage(channel: channel, id: id, body: Array(text.utf8))])
            promised(id)
        }
    }

    /// Whether an owner that closes writes its log back is not asked here.
    private func writeBack(_ database: URL) throws {
        let queue = try DatabaseQueue(path: database.path)
        try queue.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        try queue.close()
    }

    private func copy(_ file: String, from work: URL, to name: String) throws {
        try FileManager.default.copyItem(
            at: work.appendingPathComponent(file), to: url(name).appendingPathComponent(file))
    }

    private func size(_ path: String) -> Int {
        var information = stat()
        return stat(path, &information) == 0 ? Int(information.st_size) : 0
    }
}

extension LineFile {
    fileprivate convenience init(items folder: URL) throws {
        try self.init(folder.appendingPathComponent("items").path)
    }
}
