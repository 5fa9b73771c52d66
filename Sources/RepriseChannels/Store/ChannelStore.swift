import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

/// The channels' tables, as the driver uses them.
struct ChannelStore: Sendable {
    /// What the journal has of a channel's current log.
    struct Stored: Sendable {
        var position: LogPosition
        var epoch: Epoch
        var coverage: Coverage
        var head: Int64
    }

    let journal: Journal

    func device() async throws -> EntryID {
        let text = try await journal.read { db in
            try String.fetchOne(db, sql: "SELECT id FROM channelsDevice")
        }
        return try EntryID(text ?? "")
    }

    /// - Returns: nil if the device has never been told of an epoch.
    func stored(_ channel: ChannelName) async throws -> Stored? {
        try await journal.read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT id, version, accepted, epoch, coverage, head FROM channelsLog
                    WHERE channel = ? ORDER BY id DESC LIMIT 2
                    """, arguments: [channel.text])
            guard let row = rows.first else { return nil }
            return Stored(
                position: LogPosition(
                    log: try row.integer(0), version: try row.integer(1),
                    accepted: try row.integer(2), hasFormer: rows.count > 1),
                epoch: try Epoch(try row.text(3)),
                coverage: try Coverage(parsing: try row.text(4)), head: try row.integer(5))
        }
    }

    /// Writes a batch, if the logs are where memory believes them to be; returns once it is durable, with where they are
    /// now.
    func write(
        _ batch: StagedBatch, at positions: [ChannelName: LogPosition]
    ) async throws -> [ChannelName: LogPosition] {
        try await journal.write { db in
            var writer = BatchWriter(db: db, positions: positions)
            try writer.write(batch)
            return writer.positions
        }
    }
}
