import GRDB
import RepriseCore
package import RepriseWire

/// The delivery state of a message for a member.
package struct Delivery: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        /// Stored in the log only, as far as the server knows.
        case stored
        /// A provider has accepted a push of it, or of a later one of the channel, for one of the
        /// member's devices.
        case pushed
        /// Received by one of the member's devices.
        case delivered
        case read
    }

    package var user: UserID
    package var state: State
}

extension Accounts {
    /// The delivery states of a message, sorted by member; members who joined after it are left
    /// out.
    package func deliveries(
        of seq: Int64, in channel: ChannelName, after: UserID?, limit: Int
    ) async throws -> [Delivery] {
        try await read { db in
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT m.user, coalesce(p.read, 0), coalesce(p.delivered, 0),
                    (SELECT max(dp.pushed) FROM devices d JOIN device_positions dp
                     ON dp.user = d.user AND dp.device = d.id AND dp.channel = m.channel
                     WHERE d.user = m.user)
                    FROM members m LEFT JOIN positions p
                    ON p.channel = m.channel AND p.user = m.user
                    WHERE m.channel = ? AND m.user > ? AND m.joined < ? ORDER BY m.user LIMIT ?
                    """,
                arguments: [channel.text, after?.text ?? "", seq, max(limit, 0)])
            var deliveries: [Delivery] = []
            while let row = try rows.next() {
                let (read, delivered): (Int64, Int64) = (row[1], row[2])
                let pushed: Int64? = row[3]
                let state: Delivery.State =
                    if read >= seq {
                        .read
                    } else if delivered >= seq {
                        .delivered
                    } else if (pushed ?? 0) >= seq {
                        .pushed
                    } else {
                        .stored
                    }
                deliveries.append(Delivery(user: try UserID(row[0]), state: state))
            }
            return deliveries
        }
    }
}
