import Crypto
package import Foundation
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
    /// The tables beside those of the log, as far as the file has them.
    ///
    /// A base may be of a former version, and an empty table is as none. So a later version adds
    /// tables, and no column.
    static func tables(_ db: Database) throws -> [String] {
        let isTold =
            try db.tableExists("rules")
            && ClusterRules.inForce(db) >= ClusterRules.directories
        return try (isTold ? firstTables + directoryTables : firstTables)
            .filter { try db.tableExists($0) }
    }

    /// A former version does not hash them, and writes nothing there.
    private static let directoryTables = [
        "directories", "directory_changes", "directory_key", "rules",
    ]

    private static let firstTables = [
        "applied", "entries", "sessions", "hellos", "leases", "pushed_services",
        "pushed_channels", "pushed_messages", "channels", "members", "positions",
        "device_positions", "devices", "mutes", "quiet_hours", "forms", "profiles",
        "archived", "mute_mentions", "mentions",
        "silent_users", "active_devices", "presence",
    ]

    /// A SHA-256 over all of it, row by row in the order of the keys: 32 bytes.
    ///
    /// Reads the whole view, unless its task is cancelled meanwhile.
    static func hash(_ db: Database, toTheEnd: Bool = false) throws -> [UInt8] {
        var hash = SHA256()
        let selects =
            try SteppedLog.content
            + tables(db).map { table in
                let columns = try db.columns(in: table)
                let keys = columns.filter { $0.primaryKeyIndex > 0 }
                let order = (keys.isEmpty ? columns : keys).map(\.name).joined(separator: ", ")
                return "SELECT '\(table)', * FROM \(table) ORDER BY \(order)"
            }
        for sql in selects {
            let rows = try Row.fetchCursor(db, sql: sql)
            while let row = try rows.next() {
                if !toTheEnd { try Task.checkCancellation() }
                for value in row.databaseValues { add(value, to: &hash) }
                hash.update(data: [0xff])
            }
        }
        return Array(hash.finalize())
    }

    /// The hash of a copy's content, if the copy is whole.
    package static func hash(of file: URL) async throws -> [UInt8] {
        do {
            let copy = try open(file)
            defer { try? copy.close() }
            return try await copy.read { try wholeHash($0) }
        } catch {
            throw ServerDatabase.view.typed(error)
        }
    }

    /// The same on the caller's thread, whether its task is cancelled or not.
    package static func hashNow(of file: URL) throws -> [UInt8] {
        do {
            let copy = try open(file)
            defer { try? copy.close() }
            return try copy.read { try wholeHash($0, toTheEnd: true) }
        } catch {
            throw ServerDatabase.view.typed(error)
        }
    }

    private static func open(_ file: URL) throws -> DatabaseQueue {
        var settings = GRDB.Configuration()
        settings.readonly = true
        return try DatabaseQueue(path: file.path, configuration: settings)
    }

    private static func wholeHash(
        _ db: Database, toTheEnd: Bool = false
    ) throws -> [UInt8] {
        let check = try String.fetchOne(db, sql: "PRAGMA integrity_check(1)")
        guard check == "ok" else {
            throw RepriseError(.corrupt, "The base is damaged: \(check ?? "?").")
        }
        return try hash(db, toTheEnd: toTheEnd)
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
