import Foundation
import GRDB
import RepriseServer

/// A new id against those that are known, when ten million of them are sealed in 153 runs.
struct IDs {
    private static let runs = 153
    private static let perRun = 65_536
    private static let tested = 200_000

    struct Filters {
        /// Nanoseconds for an id.
        var time: Double
        /// The runs in which 1,000 ids are looked up in vain.
        var vain: Double
    }

    /// The filters of all runs, and beside them the first filter of each, one behind the other.
    static func filters() -> (together: Filters, apart: Filters) {
        var random = SystemRandomNumberGenerator()
        var together = RunFilters()
        let words = IDFilter.wordCount
        var apart = [UInt64](repeating: 0, count: runs * words)
        for run in 1...runs {
            var first = IDFilter(wordCount: IDFilter.wordCount)
            var second = IDFilter(wordCount: IDFilter.secondWordCount)
            for _ in 0..<perRun {
                let hash = random.next()
                first.insert(hash)
                second.insert(IDFilter.secondHash(hash))
                let word = IDFilter.word(hash, of: words)
                apart[(run - 1) * words + word] |= IDFilter.mask(hash)
            }
            together.insert(Int64(run), first, second)
        }
        let hashes = (0..<tested).map { _ in random.next() }
        return (
            measure(hashes) { hash in
                var vain = 0
                _ = together.firstResult(for: hash) { _ -> Int? in
                    vain += 1
                    return nil
                }
                return vain
            },
            measure(hashes) { hash in
                let (word, mask) = (IDFilter.word(hash, of: words), IDFilter.mask(hash))
                return stride(from: word, to: apart.count, by: words)
                    .reduce(0) { $0 + (apart[$1] & mask == mask ? 1 : 0) }
            }
        )
    }

    private static func measure(_ hashes: [UInt64], _ vain: (UInt64) -> Int) -> Filters {
        let began = ContinuousClock.now
        let sum = hashes.reduce(0) { $0 + vain($1) }
        let nanoseconds = (ContinuousClock.now - began) / .nanoseconds(1)
        return Filters(
            time: nanoseconds / Double(tested), vain: Double(sum) * 1_000 / Double(tested))
    }

    /// Nanoseconds to look an id up in vain, in a table like the log's with three million.
    static func lookUp() throws -> Double {
        let file = NSTemporaryDirectory() + "reprise-ids-\(UUID().uuidString).sqlite"
        defer { try? FileManager.default.removeItem(atPath: file) }
        let database = try DatabaseQueue(path: file)
        let runs = 46
        try database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE ids (run INTEGER NOT NULL, id TEXT NOT NULL,
                      channel INTEGER NOT NULL, seq INTEGER NOT NULL, owner INTEGER,
                      PRIMARY KEY (run, id)) WITHOUT ROWID
                    """)
            let insertion = try db.makeStatement(sql: "INSERT INTO ids VALUES (?, ?, 1, 1, 1)")
            for run in 1...runs {
                for id in (0..<perRun).map({ _ in id() }).sorted() {
                    try insertion.execute(arguments: [run, id])
                }
            }
        }
        let asked = (0..<20_000).map { _ in (Int.random(in: 1...runs), id()) }
        let took = try database.read { db in
            // The writer's cache: see ServerDatabase.
            try db.execute(sql: "PRAGMA cache_size = -16384")
            let query = try db.makeStatement(
                sql: "SELECT channel, seq, owner FROM ids WHERE run = ? AND id = ?")
            let began = ContinuousClock.now
            for (run, id) in asked {
                query.setUncheckedArguments([run, id])
                guard try Row.fetchOne(query) == nil else { continue }
            }
            return ContinuousClock.now - began
        }
        try database.close()
        return took / .nanoseconds(1) / Double(asked.count)
    }

    private static func id() -> String {
        let value = UInt64.random(in: 0 ... .max), more = UInt64.random(in: 0 ... .max)
        return String(value, radix: 16) + String(more, radix: 16)
    }
}
