import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import Synchronization

/// The kinds that a crash test opens its journal with; the parent opens it with the same.
enum CrashKinds {
    static let all = [
        EntryKind("transaction"),
        EntryKind("effect", parallel: 4),
        EntryKind("never", onInterruption: .never, parallel: 2),
        EntryKind("confirmed", onInterruption: .never, parallel: 2),
        EntryKind("lane"),
    ]
    static let sink = JournalSchema(
        name: "sink",
        migrations: [
            { db in
                try db.execute(
                    sql: "CREATE TABLE sinkEffect (id TEXT NOT NULL, times INTEGER NOT NULL)")
            }
        ])
}

/// A file of lines, each appended by one system call: the effects outside the journal.
///
/// All have one length, a part of a page's: of a write that crosses the end of a page a kill may
/// leave the first half alone.
final class Lines: Sendable {
    /// Of a line in a file, in bytes, with its end.
    static let length = 64

    private let file: Int32
    private let isFile: Bool

    init(descriptor: Int32) {
        file = descriptor
        isFile = false
    }

    init(_ path: String) {
        isFile = true
        file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        guard file >= 0 else { exit(74) }
    }

    func append(_ text: String) {
        var bytes = Array(text.utf8)
        if isFile {
            guard bytes.count < Self.length else { exit(74) }
            bytes += Array(repeating: UInt8(ascii: " "), count: Self.length - 1 - bytes.count)
        }
        bytes.append(UInt8(ascii: "\n"))
        guard write(file, bytes, bytes.count) == bytes.count else { exit(74) }
    }
}

/// Records and handles until it is killed.
///
/// Prints `accepted ID` or `duplicate ID` after each promise.
func crash(at folder: URL, arguments: [String]) async throws {
    let sink = Lines(arguments[3])
    let journal = try await Journal.open(
        at: folder, kinds: CrashKinds.all, schemas: [CrashKinds.sink])
    let promises = Lines(descriptor: 1)
    await journal.handle("transaction") { db, entry in
        try db.execute(
            sql: "INSERT INTO sinkEffect VALUES (?, 1)", arguments: [entry.id.text])
    }
    await handleEffects(journal, sink: sink, applied: arguments[3])
    try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<4 {
            group.addTask {
                while true {
                    let entries = batch(task)
                    let results = try await journal.record(entries)
                    for (entry, result) in zip(entries, results) {
                        promises.append("\(result) \(entry.id)")
                    }
                }
            }
        }
        try await group.waitForAll()
    }
}

private func handleEffects(_ journal: Journal, sink: Lines, applied: String) async {
    await journal.handle("effect") { entry in sink.append("effect \(entry.id) \(entry.attempt)") }
    await journal.handle("never") { entry in sink.append("never \(entry.id) \(entry.attempt)") }
    await journal.handle("lane") { entry in
        sink.append("lane \(entry.id) \(entry.partitionKey ?? "")")
    }
    // The app's own store, which knows the ids of the effects that it has.
    let known = Mutex(ids(of: "confirmed", in: applied))
    await journal.handle(
        "confirmed", isApplied: { id in known.withLock { $0.contains(id.text) } }
    ) { entry in
        sink.append("confirmed \(entry.id) \(entry.attempt)")
        known.withLock { _ = $0.insert(entry.id.text) }
    }
}

private func ids(of kind: String, in path: String) -> Set<String> {
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
    return Set(lines.filter { $0.count > 1 && $0[0] == kind }.map { String($0[1]) })
}

private func batch(_ task: Int) -> [NewEntry] {
    let kinds = CrashKinds.all.map(\.name)
    return (0..<Int.random(in: 1...3)).map { _ in
        let kind = kinds[Int.random(in: 0..<kinds.count)]
        return NewEntry(
            kind: kind, source: "writer", payload: Array("payload".utf8),
            partitionKey: kind == "lane" ? "lane-\(task)" : nil)
    }
}

/// Opens the journal and records one entry, with the id that it reads, for each line.
func hold(at folder: URL) async throws {
    let journal = try await Journal.open(at: folder, kinds: [EntryKind("held")])
    let promises = Lines(descriptor: 1)
    promises.append("open \(journal.incarnation)")
    while let line = readLine() {
        do {
            let entry = NewEntry(id: try EntryID(line), kind: "held", payload: [])
            promises.append("\(try await journal.record(entry)) \(line)")
        } catch let error as RepriseError {
            promises.append("error \(error.code)")
        }
    }
    await journal.close()
}

/// Merges the spool again and again until it is killed.
func merge(at folder: URL) async throws {
    let journal = try await Journal.open(at: folder, kinds: [EntryKind("spooled")])
    let promises = Lines(descriptor: 1)
    promises.append("open \(journal.incarnation)")
    while true { try await journal.mergeSpool() }
}

/// Holds SQLite's lock for writing until it is killed, as a frozen process may.
func lock(_ database: String) throws {
    let queue = try DatabaseQueue(path: database)
    try queue.inTransaction(.immediate) { _ in
        Lines(descriptor: 1).append("locked")
        while true { sleep(60) }
    }
}
