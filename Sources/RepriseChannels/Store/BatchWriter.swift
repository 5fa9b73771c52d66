import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

/// Writes the messages, coverage and losses of a batch in the given transaction.
struct BatchWriter {
    let db: Database
    /// Memory's positions; the disk must agree.
    private(set) var positions: [ChannelName: LogPosition]

    /// - Throws: ``RepriseCore/RepriseError`` `.internal` if the journal's positions differ from
    ///   memory's.
    mutating func write(_ batch: StagedBatch) throws {
        for segment in batch.segments { try write(segment) }
    }

    private mutating func write(_ segment: StagedBatch.Segment) throws {
        if let epoch = segment.epoch { try begin(epoch, segment) }
        guard var position = positions[segment.channel] else {
            throw RepriseError(.internal, "An event came before its log was begun.")
        }
        var duplicates = segment.duplicates
        let former = position.hasFormer ? try FormerMessages(of: segment.channel, db) : nil
        var insertion = try MessageInsertion(into: position.log, db)
        for event in segment.events {
            switch try former?.find(event) {
            case .unknown, nil:
                position.accepted += 1
                let arrival = ChannelsTables.base(of: position.log) + position.accepted
                try insertion.insert(event, arrival: arrival)
            case .known(let arrival):
                duplicates += 1
                try insertion.recognise(event, arrival: arrival)
            }
        }
        for loss in segment.losses {
            for range in loss.ranges {
                try record(range.after, range.through, loss.reason, in: position.log)
            }
        }
        if let snapshot = segment.snapshot { try SnapshotRow.write(snapshot, of: position.log, db) }
        try save(segment, duplicates: duplicates, &position)
        positions[segment.channel] = position
    }

    /// A new log: the known missing part of the former one is lost; how much came after that is
    /// unknown.
    ///
    /// Of a former one that could not be read nothing is lost if it had the same epoch.
    private mutating func begin(_ epoch: Epoch, _ segment: StagedBatch.Segment) throws {
        let channel = segment.channel.text
        let former = positions[segment.channel]
        if let former {
            for range in segment.formerMissing ?? [] {
                try record(range.after, range.through, .epoch, in: former.log)
            }
            let row = try Row.fetchOne(
                db, sql: "SELECT epoch, head FROM channelsLog WHERE id = ?",
                arguments: [former.log])
            if segment.formerMissing != nil || (try? row?.text(0)) != epoch.text {
                try record((try? row?.integer(1)) ?? 0, nil, .epoch, in: former.log)
            }
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO channelsFormer (channel, id, arrival)
                    SELECT ?, id, arrival FROM channelsMessage WHERE arrival > ? AND arrival <= ?
                    """,
                arguments: [
                    channel, ChannelsTables.base(of: former.log),
                    ChannelsTables.base(of: former.log + 1),
                ])
        }
        try db.execute(
            sql: """
                INSERT INTO channelsLog (channel, epoch, coverage, head, version)
                VALUES (?, ?, '[]', 0, 0)
                """, arguments: [channel, epoch.text])
        positions[segment.channel] = LogPosition(
            log: db.lastInsertedRowID, version: 0, accepted: 0, hasFormer: former != nil)
    }

    private func record(
        _ after: Int64, _ through: Int64?, _ reason: Gone.Reason, in log: Int64
    ) throws {
        try db.cachedStatement(
            sql: "INSERT INTO channelsLost (log, after, through, reason) VALUES (?, ?, ?, ?)"
        ).execute(arguments: [log, after, through, reason.rawValue])
    }

    /// Compare and set: no other writer may have moved the log since memory last looked.
    private func save(
        _ segment: StagedBatch.Segment, duplicates: Int64, _ position: inout LogPosition
    ) throws {
        try db.cachedStatement(
            sql: """
                UPDATE channelsLog SET coverage = ?, head = ?, accepted = ?,
                duplicates = duplicates + ?, version = version + 1 WHERE id = ? AND version = ?
                """
        ).execute(arguments: [
            segment.coverage.description, segment.head, position.accepted, duplicates,
            position.log, position.version,
        ])
        guard db.changesCount == 1 else {
            throw RepriseError(.internal, "The journal moved on without us.")
        }
        position.version += 1
    }
}
