import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// A real process is killed with SIGKILL at random moments.
///
/// The parent keeps its own list of what it was promised and never asks the journal what that was.
@Suite("A journal whose process is killed", .serialized)
struct CrashTests {
    private static let kinds = [
        EntryKind("transaction"), EntryKind("effect", parallel: 4),
        EntryKind("never", onInterruption: .never, parallel: 2),
        EntryKind("confirmed", onInterruption: .never, parallel: 2), EntryKind("lane"),
    ]
    private static let sink = JournalSchema(
        name: "sink",
        migrations: [
            { db in
                try db.execute(
                    sql: "CREATE TABLE sinkEffect (id TEXT NOT NULL, times INTEGER NOT NULL)")
            }
        ])

    /// What one journal's writers promised before they were killed.
    private struct Promises: Sendable {
        var accepted: [String] = []
        var opened = 0
    }

    @Test(
        "Guarantees 1, 3, 4 and 5: after 50 kills every acknowledged entry is there once and the ledger adds up",
        arguments: 1...4)
    func killed(round: Int) async throws {
        let seed = UInt64.random(in: 0..<1_000_000)
        print("CrashTests: seed \(seed)")
        // Two journals side by side, for two cores; each with 25 kills.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for partitionKey in 0..<2 {
                group.addTask {
                    try await Self.run(lives: 25, seed: seed + UInt64(partitionKey)) {
                        writer, fuse in
                        usleep(fuse)
                        writer.signal(SIGKILL)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func run(
        lives: Int, seed: UInt64,
        killing: @escaping @Sendable (ChildProcess, _ fuse: UInt32) -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let journalFolder = folder.appending("journal")
        let sinkFile = folder.appending("sink").path
        let promises = try await onThread {
            try write(lives: lives, seed: seed, journalFolder, sinkFile, killing)
        }
        #expect(promises.opened > lives / 4, "many were killed while at work, not at the start")

        // The ledger of a killed owner adds up before anybody repairs anything.
        #expect(try Journal.ledger(at: journalFolder, schemas: [sink]).isBalanced)
        let journal = try await Journal.open(at: journalFolder, kinds: kinds, schemas: [sink])
        await handleRest(journal, sinkFile)
        try await eventually("all that is left is handled", within: .seconds(30)) {
            try await journal.ledger().pending == 0
        }
        try await check(journal, promises, lines: lines(sinkFile))
        await journal.close()
    }

    private static func write(
        lives: Int, seed: UInt64, _ journal: URL, _ sink: String,
        _ killing: @escaping @Sendable (ChildProcess, _ fuse: UInt32) -> Void
    ) throws -> Promises {
        var random = SeededGenerator(seed: seed)
        var promises = Promises()
        for _ in 0..<lives {
            let writer = try ChildProcess(
                .sibling("JournalWriter"), ["crash", journal.path, sink])
            // One of four may die while it opens; the others' fuse burns from their first entry on,
            // however long opening takes.
            let isEarly = Int.random(in: 0..<4, using: &random) == 0
            let fuse = UInt32.random(in: 0..<200_000, using: &random)
            let light = {
                Thread.detachNewThread { killing(writer, fuse) }
            }
            if isEarly { light() }
            var count = 0
            while let line = writer.readLine() {
                let words = line.split(separator: " ")
                guard words.count == 2, words[0] == "accepted" else {
                    Issue.record("the writer said: \(line)")
                    writer.signal(SIGKILL)
                    break
                }
                promises.accepted.append(String(words[1]))
                count += 1
                if count == 1, !isEarly { light() }
            }
            if count > 0 { promises.opened += 1 }
            #expect(writer.wait() == .signal(SIGKILL))
        }
        return promises
    }

    private static func handleRest(_ journal: Journal, _ sink: String) async {
        let file = Mutex(FileHandle(forWritingAtPath: sink))
        let append: @Sendable (String) -> Void = { text in
            file.withLock { file in
                file?.seekToEndOfFile()
                file?.write(Data((text + "\n").utf8))
            }
        }
        await journal.handle("transaction") { db, entry in
            try db.execute(
                sql: "INSERT INTO sinkEffect VALUES (?, 1)", arguments: [entry.id.text])
        }
        for kind in ["effect", "never"] {
            await journal.handle(kind) { append("\(kind) \($0.id) \($0.attempt)") }
        }
        await journal.handle("lane") { append("lane \($0.id) \($0.partitionKey ?? "")") }
        let known = Set(lines(sink).filter { $0[0] == "confirmed" }.map { $0[1] })
        await journal.handle("confirmed", isApplied: { known.contains($0.text) }) {
            append("confirmed \($0.id) \($0.attempt)")
        }
    }

    private static func lines(_ path: String) -> [[String]] {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
            .filter { $0.count == 3 }
    }

    private static func check(_ journal: Journal, _ promises: Promises, lines: [[String]])
        async throws
    {
        let rows = try await journal.read { db in
            try Row.fetchAll(db, sql: "SELECT id, kind, state FROM entry ORDER BY seq").map {
                (id: $0[0] as String, kind: $0[1] as String, state: $0[2] as Int)
            }
        }
        let known = Set(rows.map(\.id))
        let missing = promises.accepted.filter { !known.contains($0) }
        #expect(missing.count == 0, "\(missing.count) of \(promises.accepted.count) were lost")

        let ledger = try await journal.ledger()
        #expect(ledger.isBalanced)
        #expect(ledger.accepted == Int64(rows.count))
        #expect(ledger.outcomes[.dead] == 0)

        let effects = try await journal.read { db in
            try String.fetchAll(db, sql: "SELECT id FROM sinkEffect")
        }
        let expected = rows.filter { $0.kind == "transaction" }.map(\.id)
        #expect(effects.count == expected.count)
        let isComplete = Set(effects) == Set(expected)
        #expect(isComplete, "each effect in the transaction exactly once")

        let seen = Dictionary(grouping: lines, by: { $0[0] }).mapValues { $0.map { $0[1] } }
        for row in rows where row.kind == "effect" || row.kind == "lane" {
            #expect(row.state == 10, "\(row.id) ended as \(row.state)")
        }
        let effect = Set(seen["effect"] ?? [])
        #expect(rows.filter { $0.kind == "effect" }.allSatisfy { effect.contains($0.id) })
        let never = seen["never"] ?? []
        #expect(Set(never).count == never.count, "none was dispatched twice")
        let confirmed = seen["confirmed"] ?? []
        #expect(Set(confirmed).count == confirmed.count, "each was applied once")
        let isEachThere = Set(confirmed) == Set(rows.filter { $0.kind == "confirmed" }.map(\.id))
        #expect(isEachThere)
        checkPartitions(rows.filter { $0.kind == "lane" }.map(\.id), lines: lines)
        print(
            """
            CrashTests: \(promises.accepted.count) acknowledged, \(rows.count) recorded, \
            \(ledger.outcomes[.unconfirmed] ?? 0) unconfirmed, \
            \((seen["effect"] ?? []).count - effect.count) dispatched again
            """)
    }

    /// In each lane the first hand-overs come in the order recorded.
    private static func checkPartitions(_ order: [String], lines: [[String]]) {
        let place = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
        var last: [String: Int] = [:]
        for line in lines where line[0] == "lane" {
            let (place, before) = (place[line[1]] ?? -1, last[line[2]] ?? -1)
            #expect(place >= before, "\(line[1]) came after a later one of its lane")
            last[line[2]] = place
        }
    }

    @Test("A spool file whose merge was cut short by a kill is merged once")
    func spool() async throws {
        let folder = try TemporaryFolder()
        let spool = Spool(at: folder.url)
        var ids: Set<String> = []
        for _ in 0..<25 {
            for _ in 0..<20 {
                let entry = NewEntry(kind: "spooled", source: "extension", payload: [1, 2, 3])
                try spool.record(entry)
                ids.insert(entry.id.text)
            }
            try await onThread {
                let owner = try ChildProcess(
                    .sibling("JournalWriter"), ["merge", folder.url.path])
                usleep(UInt32.random(in: 5_000..<60_000))
                owner.kill()
            }
        }
        let journal = try await Journal.open(at: folder.url, kinds: [EntryKind("spooled")])
        #expect(journal.opening.spool.rejected.isEmpty)
        let found = try await journal.read { db in
            try String.fetchAll(db, sql: "SELECT id FROM entry")
        }
        #expect(found.count == ids.count)
        let isComplete = Set(found) == ids  // not in the expectation, which would print them all
        #expect(isComplete)
        let ledger = try await journal.ledger()
        #expect(ledger.accepted == Int64(ids.count))
        #expect(ledger.duplicates == 0, "a file merged twice would be a duplicate")
        await journal.close()
    }
}
