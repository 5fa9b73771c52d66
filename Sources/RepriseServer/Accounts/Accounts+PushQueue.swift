import Foundation
import GRDB
package import RepriseCore
import RepriseWire
import Synchronization

/// Who is told that a push was queued, and what it takes to queue one.
package struct PushQueued: Sendable {
    package var services: Set<PushService>
    package var clock: any Timekeeper
    /// Called after the commit; must not block.
    package var told: @Sendable (PushService, Int) -> Void

    package init(
        services: Set<PushService>, clock: any Timekeeper,
        told: @escaping @Sendable (PushService, Int) -> Void
    ) {
        self.services = services
        self.clock = clock
        self.told = told
    }
}

/// What becomes of a push that was tried, or was not to be.
package struct PushSettled: Hashable, Sendable {
    package var entry: PushEntry
    package var address: PushAddress?
    package var settlement: PushMachine.Settlement

    /// Whether the row leaves the queue.
    package var isRemoved: Bool {
        if case .again = settlement { false } else { true }
    }
}

extension Accounts {
    /// Who hears of pushes that other changes queue: reading on one device queues a `dismiss` for the others.
    package func onPushQueued(_ queued: PushQueued?) { pushQueued.withLock { $0 = queued } }

    /// How many pushes of a service wait.
    package func queuedPushes(_ service: PushService) async throws -> Int {
        try await read { db in
            try Int.fetchOne(
                db, sql: "SELECT count(*) FROM push_queue WHERE service = ?",
                arguments: [service.rawValue]) ?? 0
        }
    }

    /// The pushes of a service whose time has come, in the order in which it came, with all that decides about them.
    ///
    /// - Parameters:
    ///   - service: the service.
    ///   - now: the calendar.
    ///   - limit: how many.
    /// - Returns: the pushes, rows that cannot be read, and when the soonest of those that are not due yet is.
    /// - Throws: ``RepriseCore/RepriseError``.
    package func duePushes(
        _ service: PushService, now: WallTime, limit: Int
    ) async throws -> DuePage {
        try await read { db in
            let select = try db.cachedStatement(sql: Self.selectDue)
            let rows = try Row.fetchCursor(
                select,
                arguments: [
                    "service": service.rawValue, "now": now.milliseconds, "limit": limit,
                ])
            var pushes: [DuePush] = []
            var broken: [Int64] = []
            while let row = try rows.next() {
                do {
                    pushes.append(try DuePush(row: row, service: service))
                } catch {
                    broken.append(row["id"])
                }
            }
            let next = try Int64.fetchOne(
                db, sql: "SELECT min(due) FROM push_queue WHERE service = ? AND due > ?",
                arguments: [service.rawValue, now.milliseconds])
            return DuePage(
                pushes: pushes, broken: broken, next: next.map { WallTime(milliseconds: $0) })
        }
    }

    /// What ``duePushes(_:now:limit:)`` found.
    package struct DuePage: Sendable {
        package var pushes: [DuePush]
        package var broken: [Int64]
        package var next: WallTime?
    }

    /// Takes rows out that cannot be read, so that they hold up no other.
    package func removePushes(_ numbers: [Int64]) async throws {
        try await write { db in
            for number in numbers {
                try db.execute(sql: "DELETE FROM push_queue WHERE id = ?", arguments: [number])
            }
        }
    }

    private static let selectDue = """
        SELECT q.*, d.push_token, d.push_since, d.web_endpoint, d.web_key, d.web_secret,
        coalesce(dp.delivered, 0) AS delivered, coalesce(dp.pushed, 0) AS pushed,
        coalesce(p.read, 0) AS read, m.joined, c.title,
        EXISTS (SELECT 1 FROM mutes WHERE user = q.user AND kind = 'channel' AND name = q.channel
          AND (until IS NULL OR until > :now)) AS muted,
        EXISTS (SELECT 1 FROM mutes WHERE user = q.user AND kind = 'user' AND name = q.sender
          AND (until IS NULL OR until > :now)) AS muted_sender,
        coalesce(qd.start_minute, qu.start_minute) AS start_minute,
        coalesce(qd.end_minute, qu.end_minute) AS end_minute,
        coalesce(qd.zone, qu.zone) AS zone
        FROM (SELECT * FROM push_queue WHERE service = :service AND due <= :now
          ORDER BY due, id LIMIT :limit) q
        LEFT JOIN devices d ON d.user = q.user AND d.id = q.device
        LEFT JOIN device_positions dp
        ON dp.user = q.user AND dp.device = q.device AND dp.channel = q.channel
        LEFT JOIN positions p ON p.channel = q.channel AND p.user = q.user
        LEFT JOIN members m ON m.channel = q.channel AND m.user = q.user
        LEFT JOIN channels c ON c.name = q.channel
        LEFT JOIN quiet_hours qd ON qd.user = q.user AND qd.device = q.device
        LEFT JOIN quiet_hours qu ON qu.user = q.user AND qu.device = ''
        ORDER BY q.due, q.id
        """

    /// Makes everything due that waits for a moment farther off than any wait is: the calendar has been put back.
    package func hurryPushes(_ service: PushService, now: WallTime) async throws {
        let farthest = now.advanced(by: PushLimits.retryAfterLongest + .seconds(60))
        try await write { db in
            try db.execute(
                sql: "UPDATE push_queue SET due = ? WHERE service = ? AND due > ?",
                arguments: [now.milliseconds, service.rawValue, farthest.milliseconds])
        }
    }

    /// Writes down what became of pushes.
    package func settlePushes(_ settled: [PushSettled], now: WallTime) async throws {
        try await write { db in
            for one in settled { try Self.settle(one, now, db) }
        }
    }

    private static func settle(
        _ settled: PushSettled, _ now: WallTime, _ db: Database
    ) throws {
        let entry = settled.entry
        switch settled.settlement {
        case .again(let wait, let isAttempt):
            try db.cachedStatement(
                sql: "UPDATE push_queue SET due = ?, attempts = attempts + ? WHERE id = ?"
            ).execute(arguments: [
                now.advanced(by: wait).milliseconds, isAttempt ? 1 : 0, entry.number,
            ])
            return
        case .pushed where entry.kind == .alert: try notePushed(entry, db)
        case .dead(let since): try forget(settled.address, of: entry, since: since, db)
        case .pushed, .dropped: break
        }
        // One that reads on while a dismissal is under way moves its row on: then it stays.
        try db.cachedStatement(sql: "DELETE FROM push_queue WHERE id = ? AND seq = ?")
            .execute(arguments: [entry.number, entry.seq])
    }

    private static func notePushed(_ entry: PushEntry, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO device_positions (user, device, channel, delivered, pushed)
                SELECT user, id, ?, 0, ? FROM devices WHERE user = ? AND id = ?
                ON CONFLICT DO UPDATE SET pushed = excluded.pushed
                WHERE excluded.pushed > pushed
                """
        ).execute(arguments: [
            entry.channel.text, entry.seq, entry.user.text, entry.device.text,
        ])
    }

    /// Takes a dead address away, unless the device has named it again since it died.
    private static func forget(
        _ address: PushAddress?, of entry: PushEntry, since: WallTime?, _ db: Database
    ) throws {
        let latest = since?.milliseconds ?? .max
        switch address {
        case .apns(let token)?:
            try db.execute(
                sql: """
                    UPDATE devices SET push_token = NULL
                    WHERE user = ? AND id = ? AND push_token = ? AND push_since <= ?
                    """, arguments: [entry.user.text, entry.device.text, token.text, latest])
        case .webPush(let subscription)?:
            try db.execute(
                sql: """
                    UPDATE devices SET web_endpoint = NULL, web_key = NULL, web_secret = NULL
                    WHERE user = ? AND id = ? AND web_endpoint = ?
                    """, arguments: [entry.user.text, entry.device.text, subscription.endpoint])
        case nil: break
        }
    }

    /// Queues what takes banners away and puts the badge right on the user's other devices, after he has read on one.
    ///
    /// Within the transaction that moves the position. Only for devices that were pushed a message that is read now.
    ///
    /// - Returns: how many were queued.
    static func queueDismissals(
        _ move: PositionMove, formerRead: Int64, _ queued: PushQueued, _ db: Database
    ) throws -> Int {
        guard let read = move.read, read > formerRead, queued.services.contains(.apns) else {
            return 0
        }
        let now = queued.clock.wall()
        var count = 0
        for kind in [PushHint.Kind.dismiss, .badge] {
            try db.cachedStatement(
                sql: """
                    INSERT INTO push_queue (service, due, user, device, kind, channel, seq, expires)
                    SELECT 'apns', ?, d.user, d.id, ?, ?, ?, ? FROM devices d
                    JOIN device_positions dp
                    ON dp.user = d.user AND dp.device = d.id AND dp.channel = ?
                    WHERE d.user = ? AND d.id <> ? AND d.push_token IS NOT NULL AND dp.pushed > ?
                    ON CONFLICT (user, device, channel, kind, service) WHERE kind <> 'alert'
                    DO UPDATE SET seq = max(seq, excluded.seq), expires = excluded.expires
                    """
            ).execute(arguments: [
                now.advanced(by: PushLimits.dismissAfter).milliseconds, kind.rawValue,
                move.channel.text, read, now.advanced(by: PushLimits.life).milliseconds,
                move.channel.text, move.user.text, move.device?.text ?? "", formerRead,
            ])
            count += db.changesCount
        }
        return count
    }
}

extension DuePush {
    fileprivate init(row: Row, service: PushService) throws {
        guard let kind = PushHint.Kind(rawValue: row["kind"]) else {
            throw RepriseError(.corrupt, "The accounts have a push that cannot be read.")
        }
        let message: String? = row["message"]
        let sender: String? = row["sender"]
        let token: String? = row["push_token"]
        let start: Int? = row["start_minute"]
        let since: Int64? = row["push_since"]
        self.init(
            entry: PushEntry(
                number: row["id"], user: try UserID(row["user"]),
                device: try EntryID(row["device"]), kind: kind,
                channel: try ChannelName(row["channel"]), seq: row["seq"],
                message: try message.map { try EntryID($0) },
                from: try sender.map { try UserID($0) },
                attempts: row["attempts"], expires: WallTime(milliseconds: row["expires"])),
            address: service == .apns
                ? try token.map { .apns(try PushToken($0)) }
                : WebPushSubscription(row: row).map { .webPush($0) },
            addressSince: WallTime(milliseconds: since ?? 0), delivered: row["delivered"],
            read: row["read"], pushed: row["pushed"],
            isMember: (row["joined"] as Int64?) != nil, isChannelMuted: row["muted"],
            isSenderMuted: row["muted_sender"],
            quietHours: start.flatMap {
                try? QuietHours(start: $0, end: row["end_minute"], zone: row["zone"])
            }, title: row["title"])
    }
}
