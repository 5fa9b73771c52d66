import GRDB
import RepriseJournal

/// What this device has of a channel, without its messages: for a report of a bug.
package struct ChannelHistory: Codable, Sendable {
    package let channel: String
    package let epoch: String
    /// As on the wire: `[[1,200],[202,207]]`.
    package let coverage: String
    package let head: Int64
    /// The readers, with the arrival up to which each is done.
    package let readers: [String: Int64]
    /// The newest arrival in the journal.
    package let arrived: Int64
}

extension Channels {
    /// Every channel of the journal, also of a former epoch; “?” and -1 for what cannot be read.
    package func history() async throws -> [ChannelHistory] {
        try await journal.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT channel, epoch, coverage, head, (
                        SELECT COALESCE(MAX(arrival), 0) FROM channelsMessage WHERE log = g.id)
                    FROM channelsLog AS g ORDER BY channel, id
                    """
            ).map { row in
                let channel = (try? row.text(0)) ?? "?"
                let readers = try Row.fetchAll(
                    db, sql: "SELECT name, cursor FROM channelsReader WHERE channel = ?",
                    arguments: [channel])
                return ChannelHistory(
                    channel: channel, epoch: (try? row.text(1)) ?? "?",
                    coverage: (try? row.text(2)) ?? "?", head: (try? row.integer(3)) ?? -1,
                    readers: Dictionary(
                        readers.map { ((try? $0.text(0)) ?? "?", (try? $0.integer(1)) ?? -1) },
                        uniquingKeysWith: { first, _ in first }),
                    arrived: try row.integer(4))
            }
        }
    }
}
