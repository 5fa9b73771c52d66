import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTesting
import Synchronization
import Testing

/// A journal in a folder of its own, with clocks that the test moves.
struct JournalFixture {
    let folder: TemporaryFolder
    let time: ManualClock

    init() throws {
        folder = try TemporaryFolder()
        time = ManualClock()
    }

    var configuration: Journal.Configuration {
        var configuration = Journal.Configuration()
        configuration.timekeeper = time
        configuration.jitter = { 0.5 }
        configuration.closeGrace = .zero
        return configuration
    }

    func open(_ kinds: [EntryKind], schemas: [JournalSchema] = []) async throws -> Journal {
        try await Journal.open(
            at: folder.url, kinds: kinds, schemas: schemas, configuration: configuration)
    }

    /// The database as another program sees it.
    func sqlite(_ sql: String) throws {
        let queue = try DatabaseQueue(path: folder.appending("journal.sqlite").path)
        try queue.writeWithoutTransaction { db in try db.execute(sql: sql) }
        try queue.close()
    }
}

func entry(
    _ id: String, _ kind: String = "kind", partitionKey: String? = nil, delay: Duration? = nil
) throws -> NewEntry {
    NewEntry(
        id: try EntryID(id), kind: kind, payload: Array(id.utf8), partitionKey: partitionKey,
        delay: delay)
}
