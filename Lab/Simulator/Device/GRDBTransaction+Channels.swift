import Foundation
import GRDB
package import RepriseChannels
package import RepriseCore
package import RepriseWire

/// The shipping SQL.
extension GRDBTransaction: ChannelsTransaction {
    package func stored(_ channel: ChannelName) throws -> ChannelStore.Stored? {
        try ChannelStore.stored(channel, db)
    }

    package func write(_ batch: StagedBatch, at positions: [ChannelName: LogPosition]) throws
        -> [ChannelName: LogPosition]
    {
        try ChannelStore.write(batch, at: positions, db)
    }

    package func begin(_ reader: ReaderRows, _ options: ReaderOptions, now: WallTime) throws
        -> ReaderStore.Position
    {
        try reader.begin(options, now: now, db)
    }

    package func page(_ reader: ReaderRows, after cursor: Int64) throws -> [Arrived] {
        try reader.page(after: cursor, db)
    }

    package func due(_ reader: ReaderRows, of id: Int64, now: WallTime) throws
        -> ReaderStore.Due
    {
        try reader.due(id, now: now, db)
    }

    package func markDispatched(_ reader: ReaderRows, of id: Int64, arrival: Int64) throws {
        try reader.markDispatched(arrival, of: id, db)
    }

    package func settle(
        _ reader: ReaderRows, of id: Int64, _ acknowledgement: ReaderWrite.Acknowledgement
    )
        throws
    {
        try reader.settle(acknowledgement, of: id, now: now, db)
    }

    package func write(_ reader: ReaderRows, of id: Int64, _ write: ReaderWrite) throws {
        try reader.write(write, of: id, now: now, db)
    }

    package func attempt(_ effect: () throws -> Void) throws {
        try db.inSavepoint {
            try effect()
            return .commit
        }
    }

    package func channelsLedger() throws -> LedgerSum { try ChannelsLedger.sum(db) }

    package func list(of channel: ChannelName) throws -> [ChannelMessage]? {
        try ListRows(channel: channel).page(before: nil, limit: 500, db)
    }

    package func contents(of channel: ChannelName) throws -> ChannelContents {
        var contents = ChannelContents()
        contents.messages = try Row.fetchAll(
            db,
            sql: """
                SELECT epoch, seq, m.id, body, change, target, deleted FROM channelsMessage AS m
                JOIN channelsLog AS g ON g.id = m.log WHERE channel = ? ORDER BY arrival
                """, arguments: [channel.text]
        ).map { row in
            let body: Data = row[3]
            return .init(
                epoch: try Epoch(row[0]), seq: row[1], id: try EntryID(row[2]),
                change: Self.change(row[4], row[5]), isDeleted: row[6], body: [UInt8](body))
        }
        contents.losses = try Row.fetchAll(
            db,
            sql: """
                SELECT epoch, after, through, reason FROM channelsLost AS l
                JOIN channelsLog AS g ON g.id = l.log WHERE channel = ? ORDER BY l.id
                """, arguments: [channel.text]
        ).map { row in
            .init(epoch: try Epoch(row[0]), after: row[1], through: row[2], reason: row[3])
        }
        contents.exceptions = try Row.fetchAll(
            db,
            sql: """
                SELECT r.name, m.id, e.state, e.attempts FROM channelsException AS e
                JOIN channelsReader AS r ON r.id = e.reader
                JOIN channelsMessage AS m ON m.arrival = e.arrival
                WHERE r.channel = ? ORDER BY r.id, e.arrival
                """, arguments: [channel.text]
        ).map { row in
            .init(
                reader: row[0], id: try EntryID(row[1]),
                state: ReaderStore.State(rawValue: row[2]) ?? .waiting, attempts: row[3])
        }
        return contents
    }
}

extension GRDBTransaction {
    private static func change(_ kind: Int64?, _ target: Int64?) -> MessageChange<Int64>? {
        guard let target else { return nil }
        return kind == 1 ? .edits(target) : .deletes(target)
    }

    /// Every row of the channels, as ``ChannelsModel/dump`` writes it.
    static func channelsDump(_ db: Database) throws -> [String] {
        guard try db.tableExists("channelsLog") else { return [] }
        var lines: [String] = []
        for (name, sql) in channelsTables {
            for row in try Row.fetchAll(db, sql: sql) {
                lines.append(
                    ([name] + row.databaseValues.map(channelsText)).joined(separator: "|"))
            }
        }
        return lines
    }

    private static let channelsTables = [
        (
            "log",
            """
            SELECT id, channel, epoch, coverage, head, version, accepted, duplicates
            FROM channelsLog ORDER BY id
            """
        ),
        (
            "message",
            """
            SELECT arrival, log, seq, COALESCE(prev, seq - 1), id, time, body, change, target, deleted
            FROM channelsMessage ORDER BY arrival
            """
        ),
        ("former", "SELECT channel, id, arrival FROM channelsFormer ORDER BY channel, id"),
        ("alias", "SELECT log, seq, arrival FROM channelsAlias ORDER BY log, seq"),
        (
            "change",
            """
            SELECT log, seq, change, target, arrival FROM channelsFormerChange ORDER BY log, seq
            """
        ),
        (
            "snapshot",
            "SELECT log, position, lost, reason FROM channelsSnapshot ORDER BY log"
        ),
        (
            "reader",
            "SELECT id, channel, name, cursor, handing, ordered FROM channelsReader ORDER BY id"
        ),
        (
            "exception",
            """
            SELECT reader, arrival, attempts, failures, state, due, reason
            FROM channelsException ORDER BY reader, arrival
            """
        ),
        ("lost", "SELECT log, after, through, reason FROM channelsLost ORDER BY id"),
    ]

    private static func channelsText(_ value: DatabaseValue) -> String {
        switch value.storage {
        case .null: "-"
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .string(let text): text
        case .blob(let data): "\([UInt8](data))"
        }
    }
}
