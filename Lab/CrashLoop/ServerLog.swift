import Foundation
import GRDB

/// What the server has stored, read with SQL and past all code of the server.
struct ServerLog {
    /// In order, for each channel.
    private(set) var ids: [String] = []
    private(set) var faults: [String] = []

    init(data: String) throws {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(
            path: data + "/messages.sqlite", configuration: configuration)
        defer { try? queue.close() }
        try queue.read { db in
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT c.name, c.head, m.seq, COALESCE(m.prev, m.seq - 1), m.id
                    FROM heads c LEFT JOIN all_messages m ON m.channel = c.key
                    ORDER BY c.key, m.seq
                    """)
            var position: (channel: String, seq: Int64, head: Int64) = ("", 0, 0)
            while let row = try rows.next() {
                let channel: String = row[0]
                if channel != position.channel { position = (channel, 0, row[1]) }
                let (seq, prev): (Int64, Int64) = (row[2] ?? 0, row[3] ?? 0)
                if prev != position.seq || seq > position.head {
                    faults.append("the log of \(channel) has a hole between \(prev) and \(seq)")
                }
                position.seq = seq
                if let id: String = row[4] { ids.append(id) }
            }
        }
        let count = Set(ids).count
        if count < ids.count {
            faults.append("the log has \(ids.count - count) messages twice")
        }
    }
}
