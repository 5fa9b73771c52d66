import Foundation
import GRDB
import Reprise
import RepriseChains
import RepriseCore
import RepriseJournal

/// Keeps a position; then the disk is full, and it keeps another one.
struct Fill: Worker {
    static let identifier = "demo.fill"
    let host: ChainsHost
    let room: JournalCapacity

    func run(_ input: Mark.Input, _ work: WorkContext) async throws -> String {
        let saved = work.saved(as: String.self)
        await host.report("position", saved.map { "\($0.prefix(5))" } ?? "-")
        // What is tried again without space has no effect before the kill, however late that comes.
        if room.isTaken.value { try await Task.sleep(for: .seconds(600)) }
        return try await host.effects.perform(
            input.task, chain: input.chain, key: work.key, attempt: work.attempt
        ) {
            guard saved == nil else { return }
            try await work.checkpoint("first")
            try await room.takeAll(host.folder)
            do {
                // Not the next one: the journal has pages that it has not used yet.
                for _ in 0..<1_000 {
                    try await work.checkpoint("first" + String(repeating: "x", count: 8_000))
                }
            } catch let error as RepriseError {
                await host.report("full", "\(error.code)")
                throw error
            }
        }
    }
}

/// The space into which an app's journal may grow.
struct JournalCapacity: Sendable {
    /// Known once it is open.
    let journal = Shared(Journal?.none)
    /// Whether this process has used it up.
    let isTaken = Shared(false)

    /// Uses up all space: on a small disk that is full, elsewhere by a bound on the journal until
    /// it is reopened.
    func takeAll(_ folder: URL) async throws {
        isTaken.update { $0 = true }
        if SmallDisk.fillUp(folder) { return }
        try await journal.value?.write { db in
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            try db.execute(sql: "PRAGMA max_page_count = \(pages)")
        }
    }
}
