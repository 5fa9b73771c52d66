import Foundation
import GRDB
import GRDBSQLite
import RepriseCore
import RepriseServer
import RepriseWire

/// How long the first badge of a user with many channels takes, of which all but a tenth have a
/// message that is unread.
struct Badges {
    let folder: String
    let channels: Int

    func run() async throws {
        try await fill()
        var (ours, bare): ([Duration], [Duration]) = ([], [])
        for _ in 0..<11 {
            let (log, accounts) = (
                try SQLiteMessageLog.open(at: folder),
                try Accounts.open(at: folder, implicitChannels: false, heads: { _ in 0 })
            )
            let counts = UnreadCounts(accounts: accounts, log: log)
            let began = ContinuousClock.now
            let count = try await counts.count(of: try UserID("ada"))
            ours.append(ContinuousClock.now - began)
            precondition(count == Int64(channels - channels / 10))
            await accounts.close()
            await log.close()
            bare.append(try bareTime())
        }
        (ours, bare) = (ours.sorted(), bare.sorted())
        print("the first badge of \(channels) channels: \(ours[5]), \(ours[0]) to \(ours[10])")
        print("SQLite alone, by two statements: \(bare[5]), \(bare[0]) to \(bare[10])")
    }

    /// Into the file: ten thousand requests would take longer than all that is measured.
    private func fill() async throws {
        let accounts = try Accounts.open(at: folder, implicitChannels: false, heads: { _ in 0 })
        await accounts.close()
        let queue = try DatabaseQueue(path: folder + "/accounts.sqlite")
        let count = channels
        try await queue.write { db in
            for number in 0..<count {
                try db.execute(
                    sql: """
                        INSERT INTO channels (name, visibility, history, made, members)
                        VALUES ('room-\(number)', 'private', 'all', 0, 1);
                        INSERT INTO members VALUES ('room-\(number)', 'ada', 'member', 0, 0);
                        """)
            }
        }
        try queue.close()
        let log = try SQLiteMessageLog.open(at: folder)
        _ = try await log.append(
            try (0..<(channels - channels / 10)).map {
                NewMessage(channel: try ChannelName("room-\($0)"), id: .random(), body: [0x31])
            })
        await log.close()
    }

    /// What no first count can do without: where the user stands, and a look into each channel, on
    /// connections that are open.
    private func bareTime() throws -> Duration {
        let accounts = try DatabaseQueue(path: folder + "/accounts.sqlite")
        let log = try DatabaseQueue(path: folder + "/messages.sqlite")
        let began = ContinuousClock.now
        let sum = try accounts.read { accounts in
            try log.read { log in
                let starts = try accounts.makeStatement(
                    sql: """
                        SELECT m.channel, max(m.joined, coalesce(p.read, 0)) FROM members m
                        LEFT JOIN positions p ON p.channel = m.channel AND p.user = m.user
                        WHERE m.user = 'ada'
                        """
                )
                let channel = try log.makeStatement(
                    sql: "SELECT key, head FROM heads WHERE name = ?")
                let count = try log.makeStatement(
                    sql: """
                        SELECT count(*) FROM messages WHERE channel = ? AND seq > ?
                        AND change IS NULL AND deleted IS NULL AND sender IS NOT 'ada'
                        """)
                // The pointers live as long as the statements.
                return withExtendedLifetime((starts, channel, count)) {
                    Self.sum(starts.sqliteStatement, channel.sqliteStatement, count.sqliteStatement)
                }
            }
        }
        precondition(sum == Int64(channels - channels / 10))
        return ContinuousClock.now - began
    }

    private static func sum(
        _ starts: OpaquePointer, _ one: OpaquePointer, _ two: OpaquePointer
    ) -> Int64 {
        var sum: Int64 = 0
        while sqlite3_step(starts) == SQLITE_ROW {
            sqlite3_reset(one)
            sqlite3_bind_text(
                one, 1, sqlite3_column_text(starts, 0), sqlite3_column_bytes(starts, 0), nil
            )
            guard sqlite3_step(one) == SQLITE_ROW else { continue }
            let after = sqlite3_column_int64(starts, 1)
            guard sqlite3_column_int64(one, 1) > after else { continue }
            sqlite3_reset(two)
            sqlite3_bind_int64(two, 1, sqlite3_column_int64(one, 0))
            sqlite3_bind_int64(two, 2, after)
            if sqlite3_step(two) == SQLITE_ROW { sum += sqlite3_column_int64(two, 0) }
        }
        return sum
    }
}
