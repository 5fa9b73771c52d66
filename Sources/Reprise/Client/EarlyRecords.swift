import Foundation
import RepriseCore
import RepriseForms
import RepriseJournal
import Synchronization

/// What an app is given before its journal is open: a file each, durable when ``add(_:)`` returns.
final class EarlyRecords: Sendable {
    enum Record: Codable, Hashable, Sendable {
        case response(NotificationResponse)
        case event(name: String, properties: String, id: String)
        case link(url: String, id: String)

        var entryID: EntryID {
            get throws {
                switch self {
                case .response(let response): response.tapID
                case .event(_, _, let id), .link(_, let id): try EntryID(id)
                }
            }
        }
    }

    private static let kind = "early"
    private let spool: Spool
    /// Whether there may be files.
    private let waits = Mutex(true)

    init(home: URL) { spool = Spool(at: home.appendingPathComponent("early")) }

    /// - Throws: as ``RepriseJournal/Spool/record(_:)``.
    func add(_ record: Record) throws {
        defer { waits.withLock { $0 = true } }
        try spool.makeReadableWhileLocked()
        try spool.record(
            NewEntry(
                id: try record.entryID, kind: Self.kind,
                payload: [UInt8](JSONEncoder().encode(record))))
    }

    /// Records each in the open journal, oldest first, and removes it then.
    ///
    /// A kill in between repeats one; its id makes it the same entry.
    ///
    /// - Returns: nil if none waits.
    func drain(into client: AccountClient) async throws -> SpoolReport? {
        let mayWait = waits.withLock { waits in
            defer { waits = false }
            return waits
        }
        guard mayWait else { return nil }
        do {
            return try await read(into: client)
        } catch {
            waits.withLock { $0 = true }
            throw error
        }
    }

    private func read(into client: AccountClient) async throws -> SpoolReport {
        try await spool.drain { entry in
            switch try Self.record(in: entry.payload) {
            // Nobody waits here for a reply to be sent: that needs what is still to be opened.
            case .response(let response): try await client.record(response)
            case .event(let name, let properties, let id):
                try await client.journal.record(
                    Forms.entry(name, properties: properties, id: try EntryID(id)))
            case .link(let url, let id):
                try await client.reminders?.open(url: url, id: try EntryID(id))
            }
        }
    }

    /// - Throws: `.malformed`, so that its file is moved aside and does not block the rest.
    private static func record(in payload: [UInt8]) throws -> Record {
        do {
            return try ForeignJSON.decode(Record.self, from: payload)
        } catch {
            throw RepriseError(
                .malformed, "It is no record that this version of the app knows.", cause: error)
        }
    }
}
