package import GRDB
package import RepriseCore
import RepriseJournal
package import RepriseWire

/// The channels' tables, as the driver uses them.
package struct ChannelStore: Sendable {
    /// The journal's state of a channel's current log.
    package struct Stored: Hashable, Sendable {
        package var position: LogPosition
        /// Nil: its row cannot be read.
        package var epoch: Epoch?
        package var coverage: Coverage
        package var head: Int64
        /// The snapshot that the app has not finished loading.
        package var snapshot: SubscriptionMachine.Snapshot?

        package init(
            position: LogPosition, epoch: Epoch?, coverage: Coverage, head: Int64,
            snapshot: SubscriptionMachine.Snapshot? = nil
        ) {
            self.snapshot = snapshot
            self.position = position
            self.epoch = epoch
            self.coverage = coverage
            self.head = head
        }
    }

    let journal: Journal

    func device() async throws -> EntryID { try await journal.read(Self.device) }

    /// - Returns: for each channel its state in the journal; nil if the device has never been told
    ///   of an epoch.
    func stored(_ channels: [ChannelName]) async throws -> [ChannelName: Stored?] {
        try await journal.read { db in
            var found: [ChannelName: Stored?] = [:]
            for channel in channels {
                found.updateValue(try Self.stored(channel, db), forKey: channel)
            }
            return found
        }
    }

    /// Writes a batch, if the logs are at memory's positions; returns once it is durable, with the
    /// new positions.
    func write(
        _ batch: StagedBatch, at positions: [ChannelName: LogPosition]
    ) async throws -> [ChannelName: LogPosition] {
        try await journal.write { db in try Self.write(batch, at: positions, db) }
    }
}

/// The same in the caller's transaction.
extension ChannelStore {
    package static func device(_ db: Database) throws -> EntryID {
        try EntryID(try String.fetchOne(db, sql: "SELECT id FROM channelsDevice") ?? "")
    }

    /// A log whose row cannot be read, or not be changed, counts as one of a former epoch:
    /// everything is requested anew, into a new log, and the ids in the former one tell the
    /// duplicates.
    package static func stored(_ channel: ChannelName, _ db: Database) throws -> Stored? {
        // GRDB reads a text that has rotted into a blob; SQLite does not change its row.
        let readable = try JournalSchema.readable("channelsLog", db)
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id, version, accepted, epoch, coverage, head, \(readable)
                    FROM channelsLog WHERE channel = ? ORDER BY id DESC LIMIT 2
                    """), arguments: [channel.text])
        guard let row = rows.first else { return nil }
        var position = LogPosition(
            log: try row.integer(0), version: 0, accepted: 0, hasFormer: rows.count > 1)
        do {
            guard try row.checked(6) else { throw row.damaged("6") }
            let snapshot = try SnapshotRow.read(of: position.log, db)
            let (epoch, coverage) = (try Epoch(row.text(3)), try Coverage(parsing: row.text(4)))
            let head = try row.integer(5)
            (position.version, position.accepted) = (try row.integer(1), try row.integer(2))
            return Stored(
                position: position, epoch: epoch, coverage: coverage, head: head,
                snapshot: snapshot)
        } catch is RepriseError {
            return Stored(position: position, epoch: nil, coverage: Coverage(), head: 0)
        }
    }

    package static func write(
        _ batch: StagedBatch, at positions: [ChannelName: LogPosition], _ db: Database
    ) throws -> [ChannelName: LogPosition] {
        var writer = BatchWriter(db: db, positions: positions)
        try writer.write(batch)
        return writer.positions
    }
}
