import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTesting
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

/// Records and handles until it is killed.
///
/// Prints `accepted ID` or `duplicate ID` after each promise.
func crash(at folder: URL, arguments: [String]) async throws {
    let sink = try LineFile(arguments[3])
    let journal = try await Journal.open(
        at: folder, kinds: CrashKinds.all, schemas: [CrashKinds.sink])
    let promises = LineFile.output
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

private func handleEffects(_ journal: Journal, sink: LineFile, applied: String) async {
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
    Set(LineFile.read(path).filter { $0.count > 1 && $0[0] == kind }.map { String($0[1]) })
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
    let promises = LineFile.output
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
    let promises = LineFile.output
    promises.append("open \(journal.incarnation)")
    while true { try await journal.mergeSpool() }
}

/// Holds SQLite's lock for writing until it is killed, as a frozen process may.
func lock(_ database: String) throws {
    let queue = try DatabaseQueue(path: database)
    try queue.inTransaction(.immediate) { _ in
        LineFile.output.append("locked")
        while true { sleep(60) }
    }
}
