import Crypto
import Foundation
import GRDB
import RepriseCore

/// A view as it was when a mark was applied.
package struct ViewMark: Sendable {
    /// Up to and with the mark's entry.
    package let position: JournalPosition
    /// Of who set the mark: see ``LeaseRole/base``.
    package let grant: Int64
    /// The journal's.
    let time: WallTime
    let snapshot: DatabaseSnapshot
}

/// What is equal in all views at one place of the journal.
package enum ViewContent {
    /// The tables beside those of the log.
    static let tables = [
        "applied", "entries", "sessions", "hellos", "leases", "pushed_services",
        "pushed_channels", "pushed_messages", "channels", "members", "positions",
        "device_positions", "devices", "mutes", "quiet_hours", "forms", "profiles",
    ]

    /// A SHA-256 over all of it, row by row in the order of the keys: 32 bytes.
    ///
    /// Reads the whole view.
    static func hash(_ db: Database) throws -> [UInt8] {
        var hash = SHA256()
        let selects =
            try SteppedLog.content
            + tables.map { table in
                let columns = try db.columns(in: table)
                let keys = columns.filter { $0.primaryKeyIndex > 0 }
                let order = (keys.isEmpty ? columns : keys).map(\.name).joined(separator: ", ")
                return "SELECT '\(table)', * FROM \(table) ORDER BY \(order)"
            }
        for sql in selects {
            let rows = try Row.fetchCursor(db, sql: sql)
            while let row = try rows.next() {
                try Task.checkCancellation()
                for value in row.databaseValues { add(value, to: &hash) }
                hash.update(data: [0xff])
            }
        }
        return Array(hash.finalize())
    }

    /// The hash of a copy's content, if the copy is whole.
    static func hash(of file: URL) async throws -> [UInt8] {
        do {
            var settings = GRDB.Configuration()
            settings.readonly = true
            let copy = try DatabaseQueue(path: file.path, configuration: settings)
            defer { try? copy.close() }
            return try await copy.read { db in
                let check = try String.fetchOne(db, sql: "PRAGMA integrity_check(1)")
                guard check == "ok" else {
                    throw RepriseError(.corrupt, "The base is damaged: \(check ?? "?").")
                }
                return try hash(db)
            }
        } catch {
            throw ServerDatabase.view.typed(error)
        }
    }

    private static func add(_ value: DatabaseValue, to hash: inout SHA256) {
        var bytes = BinaryWriter()
        switch value.storage {
        case .null: bytes.write(UInt8(0))
        case .int64(let number):
            bytes.write(UInt8(1))
            bytes.write(number)
        case .double(let number):
            bytes.write(UInt8(2))
            bytes.write(Int64(bitPattern: number.bitPattern))
        case .string(let text):
            bytes.write(UInt8(3))
            bytes.write(text)
        case .blob(let data):
            bytes.write(UInt8(4))
            bytes.write(Array(data))
        }
        hash.update(data: bytes.bytes)
    }
}
