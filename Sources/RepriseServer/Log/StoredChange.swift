import GRDB
import RepriseWire

/// Reads, writes and applies edits and deletions.
enum StoredChange {
    static let edit: Int64 = 1
    static let deletion: Int64 = 2

    /// Reads the columns `change` and `target`, the first of which is at `column`.
    static func change(_ row: FastStatement, at column: Int32) -> MessageChange<Int64>? {
        guard !row.isNull(column) else { return nil }
        let target = row.integer(column + 1)
        return row.integer(column) == edit ? .edits(target) : .deletes(target)
    }

    static let targetColumns = "sender, change, target, deleted"

    /// The message at a position in `messages`; nil if it is not there.
    static func target(
        at position: AppendRules.Position, _ db: Database
    ) throws -> AppendRules.Target? {
        var row = try FastStatement(
            db,
            "SELECT \(targetColumns) FROM messages WHERE channel = ? AND seq = ?")
        defer { row.reset() }
        try row.bind(position.channel)
        try row.bind(position.seq)
        return try row.step() ? target(row) : nil
    }

    /// Reads ``targetColumns``.
    static func target(_ row: FastStatement) -> AppendRules.Target {
        let kind: AppendRules.Target.Kind =
            switch change(row, at: 1) {
            case .edits?: .edit
            case .deletes?: .deletion
            case nil: .message
            }
        return AppendRules.Target(
            from: row.isNull(0) ? nil : UserID(unchecked: row.text(0)), kind: kind,
            isDeleted: !row.isNull(3))
    }

    /// Erases the bodies of a message and of its edits, as far as they are in `messages`.
    ///
    /// - Returns: the number of bytes erased.
    static func blank(_ target: Int64, in channel: Int64, _ db: Database) throws -> Int64 {
        var freed: Int64 = 0
        // Separate statements, because SQLite would scan the whole channel for an OR.
        for place in ["seq = ?", "change = \(edit) AND target = ?"] {
            let condition = "channel = ? AND \(place) AND deleted IS NULL"
            var sum = try FastStatement(
                db, "SELECT coalesce(sum(length(body)), 0) FROM messages WHERE \(condition)")
            try sum.bind(channel)
            try sum.bind(target)
            if try sum.step() { freed += sum.integer(0) }
            sum.reset()
            var row = try FastStatement(
                db, "UPDATE messages SET body = ?, deleted = 1 WHERE \(condition)")
            try row.bind(AppendRules.nothing)
            try row.bind(channel)
            try row.bind(target)
            try row.run()
            freed -= Int64(db.changesCount * AppendRules.nothing.count)
        }
        return freed
    }
}
