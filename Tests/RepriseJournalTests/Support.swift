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
    let time: ManualTimekeeper

    init() throws {
        folder = try TemporaryFolder()
        time = ManualTimekeeper()
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

/// What handlers have seen, in order.
final class Seen<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    var all: [Value] { values.withLock { $0 } }
    var count: Int { all.count }

    func add(_ value: Value) { values.withLock { $0.append(value) } }
}

/// Lets the code under test run until a condition holds.
///
/// Not a sleep of a fixed length: it ends with the condition, and fails at a deadline that only a
/// defect reaches.
func eventually(
    _ what: Comment, within limit: Duration = .seconds(10),
    _ condition: () async throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < end else {
            Issue.record(what, sourceLocation: sourceLocation)
            return
        }
        try await Task.sleep(for: .milliseconds(2))
    }
}

func entry(
    _ id: String, _ kind: String = "kind", partitionKey: String? = nil, delay: Duration? = nil
) throws -> NewEntry {
    NewEntry(
        id: try EntryID(id), kind: kind, payload: Array(id.utf8), partitionKey: partitionKey,
        delay: delay)
}
