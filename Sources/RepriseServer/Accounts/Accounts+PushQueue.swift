import Foundation
import GRDB
package import RepriseCore
import RepriseWire
import Synchronization

/// The observer of queued pushes, and what queueing one needs.
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

/// The disposition of a push.
package struct PushSettled: Hashable, Sendable {
    package var entry: PushEntry
    package var address: PushAddress?
    package var acknowledgement: PushMachine.Acknowledgement

    /// Whether the row leaves the queue.
    package var isRemoved: Bool {
        if case .again = acknowledgement { false } else { true }
    }
}

extension Accounts {
    /// Sets the observer of pushes that other changes queue: reading on one device queues a
    /// `dismiss` for the others.
    package func onPushQueued(_ queued: PushQueued?) { pushQueued.withLock { $0 = queued } }

    /// The number of waiting pushes of a service.
    package func queuedPushes(_ service: PushService) async throws -> Int {
        try await read { db in
            try Int.fetchOne(
                db, sql: "SELECT count(*) FROM push_queue WHERE service = ?",
                arguments: [service.rawValue]) ?? 0
        }
    }

    /// The due pushes of a service, earliest first, with all data that decides about them.
    ///
    /// - Parameters:
    ///   - service: the service.
    ///   - now: the wall clock.
    ///   - limit: the most pushes.
    ///   - held: rows in flight, which are skipped.
    /// - Returns: the pushes, the unreadable rows, and when the next push is due.
    /// - Throws: ``RepriseCore/RepriseError``.
    package func duePushes(
        _ service: PushService, now: WallTime, limit: Int, except held: Set<Int64> = []
    ) async throws -> DuePage {
        try await read { db in
            let numbers = try Self.dueNumbers(service, now, limit, held, db)
            var select = try FastStatement(db, Self.selectDue)
            defer { select.reset() }
            var page = DuePage(pushes: [], broken: [], next: nil)
            page.pushes.reserveCapacity(numbers.count)
            for number in numbers {
                select.reset()
                try select.bind(number)
                try select.bind(now.milliseconds)
                guard try select.step() else { continue }
                do {
                    page.pushes.append(try DuePush(number, select, service))
                } catch {
                    page.broken.append(number)
                }
            }
            let next = try Int64.fetchOne(
                db, sql: "SELECT min(due) FROM push_queue WHERE service = ? AND due > ?",
                arguments: [service.rawValue, now.milliseconds])
            page.next = next.map { WallTime(milliseconds: $0) }
            return page
        }
    }

    /// From an index alone, so that skipping rows in flight is cheap.
    private static func dueNumbers(
        _ service: PushService, _ now: WallTime, _ limit: Int, _ held: Set<Int64>, _ db: Database
    ) throws -> [Int64] {
        var rows = try FastStatement(
            db,
            "SELECT id FROM push_queue WHERE service = ? AND due <= ? ORDER BY due, id")
        defer { rows.reset() }
        try rows.bind(service.rawValue)
        try rows.bind(now.milliseconds)
        var numbers: [Int64] = []
        while numbers.count < limit, try rows.step() {
            let number = rows.integer(0)
            if !held.contains(number) { numbers.append(number) }
        }
        return numbers
    }

    /// The result of ``duePushes(_:now:limit:except:)``.
    package struct DuePage: Sendable {
        package var pushes: [DuePush]
        package var broken: [Int64]
        package var next: WallTime?
    }

    /// Removes unreadable rows, so that they block no others.
    package func removePushes(_ numbers: [Int64]) async throws {
        try await write { db in
            for number in numbers {
                try db.execute(sql: "DELETE FROM push_queue WHERE id = ?", arguments: [number])
            }
        }
    }

    private static let selectDue = """
        SELECT q.user, q.device, q.kind, q.channel, q.seq, q.message, q.sender, q.attempts, q.expires,
        d.push_token, d.push_since, d.web_endpoint, d.web_key, d.web_secret,
        coalesce(dp.delivered, 0), coalesce(dp.pushed, 0), coalesce(p.read, 0), m.joined, c.title,
        EXISTS (SELECT 1 FROM mutes WHERE user = q.user AND kind = 'channel' AND name = q.channel
          AND (until IS NULL OR until > ?2)),
        EXISTS (SELECT 1 FROM mutes WHERE user = q.user AND kind = 'user' AND name = q.sender
          AND (until IS NULL OR until > ?2)),
        coalesce(qd.start_minute, qu.start_minute), coalesce(qd.end_minute, qu.end_minute),
        coalesce(qd.zone, qu.zone)
        FROM push_queue q
        LEFT JOIN devices d ON d.user = q.user AND d.id = q.device
        LEFT JOIN device_positions dp
        ON dp.user = q.user AND dp.device = q.device AND dp.channel = q.channel
        LEFT JOIN positions p ON p.channel = q.channel AND p.user = q.user
        LEFT JOIN members m ON m.channel = q.channel AND m.user = q.user
        LEFT JOIN channels c ON c.name = q.channel
        LEFT JOIN quiet_hours qd ON qd.user = q.user AND qd.device = q.device
        LEFT JOIN quiet_hours qu ON qu.user = q.user AND qu.device = ''
        WHERE q.id = ?1
        """

    /// Makes pushes due whose wait exceeds the longest possible one: the wall clock was set back.
    package func hurryPushes(_ service: PushService, now: WallTime) async throws {
        let farthest = now.advanced(by: PushLimits.retryAfterLongest + .seconds(60))
        try await write { db in
            try db.execute(
                sql: "UPDATE push_queue SET due = ? WHERE service = ? AND due > ?",
                arguments: [now.milliseconds, service.rawValue, farthest.milliseconds])
        }
    }

    /// Records the disposition of pushes.
    package func settlePushes(_ settled: [PushSettled], now: WallTime) async throws {
        try await write { db in
            var statements = try SettleStatements(db)
            for one in settled { try Self.settle(one, now, &statements, db) }
        }
    }

    private static func settle(
        _ settled: PushSettled, _ now: WallTime, _ statements: inout SettleStatements,
        _ db: Database
    ) throws {
        let entry = settled.entry
        switch settled.acknowledgement {
        case .again(let wait, let isAttempt):
            return try statements.again(
                entry, due: now.advanced(by: wait), attempts: isAttempt ? 1 : 0)
        case .pushed where entry.kind == .alert: try statements.notePushed(entry)
        case .dead(let since): try forget(settled.address, of: entry, since: since, db)
        case .pushed, .dropped: break
        }
        try statements.remove(entry)
    }

    /// Removes an invalid address, unless the device has registered it again since.
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

    /// Queues dismissals of banners and badge updates for a user's other devices, after a read on
    /// one.
    ///
    /// In the transaction that moves the position. Only for devices that were pushed a message that
    /// is now read.
    ///
    /// - Returns: the number of queued pushes.
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
    /// By the columns of `selectDue`.
    fileprivate init(_ number: Int64, _ row: FastStatement, _ service: PushService) throws {
        guard let kind = PushHint.Kind(rawValue: row.text(2)) else {
            throw RepriseError(.corrupt, "The accounts have a push that cannot be read.")
        }
        self.init(
            entry: PushEntry(
                number: number, user: try UserID(row.text(0)), device: try EntryID(row.text(1)),
                kind: kind, channel: try ChannelName(row.text(3)), seq: row.integer(4),
                message: try row.optional(5).map { try EntryID($0) },
                from: try row.optional(6).map { try UserID($0) }, attempts: Int(row.integer(7)),
                expires: WallTime(milliseconds: row.integer(8))),
            address: try Self.address(row, service),
            addressSince: WallTime(milliseconds: row.integer(10)), delivered: row.integer(14),
            read: row.integer(16), pushed: row.integer(15), isMember: !row.isNull(17),
            isChannelMuted: row.integer(19) != 0, isSenderMuted: row.integer(20) != 0,
            quietHours: row.isNull(21)
                ? nil
                : try? QuietHours(
                    start: Int(row.integer(21)), end: Int(row.integer(22)), zone: row.text(23)),
            title: row.optional(18))
    }

    private static func address(
        _ row: FastStatement, _ service: PushService
    ) throws -> PushAddress? {
        switch service {
        case .apns: try row.optional(9).map { .apns(try PushToken($0)) }
        case .webPush:
            row.optional(11).map {
                .webPush(
                    WebPushSubscription(stored: $0, key: row.bytes(12), secret: row.bytes(13)))
            }
        }
    }
}

/// The statements for a batch's dispositions, prepared once: a message to a large channel has a
/// hundred thousand of them.
private struct SettleStatements {
    private var again: FastStatement
    private var note: FastStatement
    private var delete: FastStatement

    init(_ db: Database) throws {
        again = try FastStatement(
            db, "UPDATE push_queue SET due = ?, attempts = attempts + ? WHERE id = ?")
        note = try FastStatement(
            db,
            """
            INSERT INTO device_positions (user, device, channel, delivered, pushed)
            SELECT user, id, ?1, 0, ?2 FROM devices WHERE user = ?3 AND id = ?4
            ON CONFLICT DO UPDATE SET pushed = excluded.pushed
            WHERE excluded.pushed > pushed
            """)
        // A read during a dismissal advances the dismissal's row: then it stays.
        delete = try FastStatement(db, "DELETE FROM push_queue WHERE id = ? AND seq = ?")
    }

    mutating func again(_ entry: PushEntry, due: WallTime, attempts: Int64) throws {
        try again.bind(due.milliseconds)
        try again.bind(attempts)
        try again.bind(entry.number)
        try again.run()
    }

    mutating func notePushed(_ entry: PushEntry) throws {
        try note.bind(entry.channel.text)
        try note.bind(entry.seq)
        try note.bind(entry.user.text)
        try note.bind(entry.device.text)
        try note.run()
    }

    mutating func remove(_ entry: PushEntry) throws {
        try delete.bind(entry.number)
        try delete.bind(entry.seq)
        try delete.run()
    }
}

extension FastStatement {
    fileprivate func optional(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }
}
