import GRDB
import RepriseCore

/// Messages that were buried and have not arrived: their ids are known, but they are no
/// predecessors.
///
/// A device may hold such a message behind another that waits. If it counted as stored, a message
/// that follows it would overtake both.
struct AwaitedMessages: Sendable {
    typealias Position = AppendRules.Position

    /// The most messages awaited; beyond it the one buried first counts as arrived.
    static let most = 65_536

    private var positions: Set<Position> = []
    private let most: Int

    /// Reads the messages from the database.
    init(_ db: Database, most: Int) throws {
        self.most = most
        var rows = try FastStatement(db, "SELECT channel, seq FROM awaited")
        while try rows.step() {
            positions.insert(Position(channel: rows.integer(0), seq: rows.integer(1)))
        }
        rows.reset()
    }

    func contains(_ position: Position) -> Bool { positions.contains(position) }

    /// Remembers a message buried in the same transaction.
    mutating func insert(_ position: Position, _ db: Database) throws {
        if positions.count >= most { try removeFirst(db) }
        try db.execute(
            sql: "INSERT INTO awaited (channel, seq) VALUES (?, ?)",
            arguments: [position.channel, position.seq])
        positions.insert(position)
    }

    /// Forgets a message that has arrived.
    mutating func remove(_ position: Position, _ db: Database) throws {
        guard positions.remove(position) != nil else { return }
        try db.execute(
            sql: "DELETE FROM awaited WHERE channel = ? AND seq = ?",
            arguments: [position.channel, position.seq])
    }

    private mutating func removeFirst(_ db: Database) throws {
        let first = try Row.fetchOne(
            db, sql: "SELECT channel, seq FROM awaited ORDER BY n LIMIT 1")
        guard let first else { return }
        try remove(Position(channel: try first.checked(0), seq: try first.checked(1)), db)
    }
}
