import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseServer
import RepriseTesting
import RepriseWire

/// `crash-loop write`: a process that stores as fast as it can and says, line by line, what it was
/// promised.
///
///     journal ID   log ID   bare ID     it is durable
///     refused NAME CODE                 it may be stored or not
struct WriterRole: Sendable {
    static let kinds = [EntryKind("kept", parallel: 8), EntryKind("applied")]

    private let folder: URL
    private let log: String
    /// `OFF` or `FULL`: a table of our own in place of journal and log.
    private let bare: String?
    /// Whether the journal is written back after so little that a copy finds it in the middle of
    /// that.
    private let isSmall: Bool
    /// How many promises and refusals each writer waits for; nil: until it is killed.
    private let count: Int?

    init(_ arguments: Arguments) throws {
        folder = URL(fileURLWithPath: try arguments.needed("folder"))
        log = try arguments.needed("log")
        bare = arguments.text("bare")
        isSmall = arguments.has("small")
        count = try arguments.number("count")
    }

    func run() async throws {
        ChildStart.begin(log: log)
        if let bare { return try writeBare(synchronous: bare) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await saying("journal", writeJournal) }
            group.addTask { try await saying("log", writeLog) }
            try await group.waitForAll()
        }
    }

    /// A disk may fail while they open, too.
    private func saying(_ name: String, _ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as RepriseError {
            LineFile.output.append("refused \(name) \(error.code)")
        }
    }

    private func writeJournal() async throws {
        let journal = try await Journal.open(
            at: folder.appendingPathComponent("journal"), kinds: Self.kinds)
        await journal.handle("applied", inTransaction: { _, _ in })
        if isSmall {
            try await journal.write { try $0.execute(sql: "PRAGMA wal_autocheckpoint = 20") }
        }
        await repeatedly(writers: 3, "journal") {
            let kind = Self.kinds[Int.random(in: 0..<2)].name
            let entries = (0..<Int.random(in: 1...4)).map { _ in
                let size = Int.random(in: 0...1_500)
                return NewEntry(kind: kind, payload: [UInt8](repeating: 7, count: size))
            }
            try await journal.record(entries)
            return entries.map(\.id)
        }
        await journal.close()
    }

    private func writeLog() async throws {
        let log = try SQLiteMessageLog.open(at: folder.appendingPathComponent("log").path)
        let committer = Committer(log: log) { _ in }
        let running = Task { await committer.run() }
        let channels = try ["alpha", "beta", "gamma"].map { try ChannelName($0) }
        let text = "\"" + String(repeating: "x", count: isSmall ? 4_000 : 200) + "\""
        await repeatedly(writers: 3, "log") {
            let messages = (0..<Int.random(in: 1...4)).map { _ in
                NewMessage(
                    channel: channels[Int.random(in: 0..<3)], id: .random(), body: Array(text.utf8))
            }
            _ = try await committer.commit(messages)
            return messages.map(\.id)
        }
        committer.shutdown()
        await running.value
        await log.close()
    }

    private func repeatedly(
        writers: Int, _ name: String, _ body: @escaping @Sendable () async throws -> [EntryID]
    ) async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<writers {
                group.addTask { [count] in
                    var done = 0
                    while count.map({ done < $0 }) ?? true {
                        done += 1
                        do {
                            for id in try await body() { LineFile.output.append("\(name) \(id)") }
                        } catch {
                            let code = (error as? RepriseError)?.code.name ?? "untyped: \(error)"
                            LineFile.output.append("refused \(name) \(code)")
                        }
                        try? await Task.sleep(for: .microseconds(Int.random(in: 0...2_000)))
                    }
                }
            }
        }
    }

    /// What a writer loses that does not wait for the disk.
    private func writeBare(synchronous: String) throws {
        var configuration = Configuration()
        configuration.journalMode = .wal
        let queue = try DatabaseQueue(
            path: folder.appendingPathComponent("bare.sqlite").path, configuration: configuration)
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: "PRAGMA synchronous = \(synchronous); CREATE TABLE bare (id TEXT)")
            while true {
                let id = EntryID.random().text
                try db.execute(sql: "INSERT INTO bare VALUES (?)", arguments: [id])
                LineFile.output.append("bare \(id)")
                usleep(UInt32.random(in: 0...1_000))
            }
        }
    }
}
