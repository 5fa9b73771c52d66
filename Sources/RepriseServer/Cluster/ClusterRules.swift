import GRDB
import RepriseCore

/// The rules by which a journal's commands are applied.
///
/// A later version does more with the same commands: from the entry on that raises the rules, and
/// at every gateway. One that does not know them waits before that entry, to be upgraded.
package enum ClusterRules {
    /// Of a journal in which nothing has raised them.
    package static let first: Int64 = 1
    /// Users' directories are told.
    package static let directories: Int64 = 2
    /// Mentions are noted, to count them.
    package static let mentions: Int64 = 3
    /// The newest that this version knows.
    package static let newest = mentions

    /// As far as the journal is applied.
    static func inForce(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT version FROM rules") ?? first
    }

    static func set(_ version: Int64, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO rules (one, version) VALUES (1, ?)", arguments: [version])
    }
}

/// Raises the rules.
package struct RaisedRules: Hashable, Sendable {
    package let version: Int64
    /// Of the ids that the cluster makes itself: 32 bytes.
    package let secret: [UInt8]

    /// Makes a command; without a secret one is drawn.
    package init(_ version: Int64 = ClusterRules.newest, secret: [UInt8]? = nil) {
        self.version = version
        self.secret = secret ?? (0..<32).map { _ in .random(in: 0...255) }
    }

    func write(to writer: inout BinaryWriter) {
        writer.write(version)
        writer.writeRaw(secret)
    }

    init(from reader: inout BinaryReader) throws {
        version = try reader.integer()
        guard version > ClusterRules.first else {
            throw RepriseError(.malformed, "Rules are raised to \(version).")
        }
        guard version <= ClusterRules.newest else { throw ClusterEntry.unknown("rules \(version)") }
        secret = try reader.raw(32)
    }

    func apply(_ db: Database) throws {
        let former = try ClusterRules.inForce(db)
        guard version > former else { return }
        try ClusterRules.set(version, db)
        if former < ClusterRules.directories { try DirectoryStore.begin(with: secret, db) }
    }
}
