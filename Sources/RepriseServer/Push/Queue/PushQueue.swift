import DequeModule
import Foundation
import GRDB
package import RepriseCore
package import RepriseWire
import Synchronization

/// The observer of queued pushes, and what queueing one needs.
package struct PushQueued: Sendable {
    package var services: Set<PushService>
    /// Called after the commit; must not block.
    package var told: @Sendable (PushService, Int) -> Void

    package init(
        services: Set<PushService>, told: @escaping @Sendable (PushService, Int) -> Void
    ) {
        self.services = services
        self.told = told
    }
}

/// The waiting pushes: the table `push_queue`, in the database of the accounts.
///
/// One transaction covers what queues pushes and the pushes: a read position and the dismissals on
/// other devices, a scan's progress and the alerts that it has queued.
package final class PushQueue: Sendable {
    /// Fills the queue with pushes about messages.
    package let scans: FanOutScans
    private let database: AccountsDatabase
    /// Then ``PushProgress`` says what was pushed and which addresses are invalid.
    private let isInCluster: Bool
    /// Nil where nothing is pushed.
    private let queued = Mutex<PushQueued?>(nil)
    /// In a cluster the newest reads: their dismissals may be lost with the gateway that pushes.
    private let reads = Mutex(Deque<Read>())

    private struct Read: Sendable {
        let device: EntryID?
        let former: Int64
        let position: ServerFrame.Position
        let channel: ChannelName
        let time: WallTime
    }

    /// Makes a queue; in a cluster it is the gateway's own, made anew when it begins to push.
    init(_ database: AccountsDatabase, isInCluster: Bool = false) {
        self.database = database
        self.isInCluster = isInCluster
        scans = FanOutScans(database, isInCluster: isInCluster)
    }

    /// Begins where other gateways have come to: see ``PushProgress``; with the dismissals of what
    /// was read shortly before.
    package func resume(_ service: PushService) async throws {
        try await database.write { [self] db in
            for table in ["push_queue", "push_walks", "push_early", "push_services"] {
                try db.execute(
                    sql: "DELETE FROM \(table) WHERE service = ?", arguments: [service.rawValue])
            }
            try db.execute(
                sql: """
                    INSERT INTO push_walks (service, channel, through)
                    SELECT service, channel, through FROM pushed_channels WHERE service = ?1;
                    """, arguments: [service.rawValue])
            try db.execute(
                sql: "INSERT INTO push_services (service) VALUES (?)",
                arguments: [service.rawValue])
            guard service == .apns,
                let time = try Int64.fetchOne(db, sql: "SELECT time FROM applied")
            else { return }
            for read in recentReads(at: WallTime(milliseconds: time)) {
                _ = try Self.insertDismissals(after: read, db)
            }
        }
    }

    private func recentReads(at now: WallTime) -> [Read] {
        let since = now.advanced(by: .zero - PushLimits.handover)
        return reads.withLock { reads in
            while let first = reads.first, first.time < since { reads.removeFirst() }
            return Array(reads)
        }
    }

    private func remember(_ read: Read) {
        let since = read.time.advanced(by: .zero - PushLimits.handover)
        reads.withLock { reads in
            while let first = reads.first,
                first.time < since || reads.count >= PushLimits.handoverReads
            {
                reads.removeFirst()
            }
            reads.append(read)
        }
    }

    /// Up to where nothing waits any more, of channels in which that has changed; first of those in
    /// which the most has.
    package func done(
        _ service: PushService, limit: Int = ClusterLimits.pushNotes
    ) async throws -> [PushProgress.Done] {
        try await database.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT w.channel AS channel, min(w.through, coalesce(q.first - 1, w.through)) AS done
                    FROM push_walks w
                    LEFT JOIN (SELECT channel, min(seq) AS first FROM push_queue
                      WHERE service = ?1 AND kind = 'alert' GROUP BY channel) q
                    ON q.channel = w.channel
                    LEFT JOIN pushed_channels p ON p.service = ?1 AND p.channel = w.channel
                    WHERE w.service = ?1 AND done > coalesce(p.through, 0)
                    ORDER BY done - coalesce(p.through, 0) DESC, w.channel LIMIT ?2
                    """, arguments: [service.rawValue, limit]
            ).compactMap { row in
                // An unreadable one is replaced by the channel's next scan.
                try? PushProgress.Done(
                    channel: ChannelName(row.checked("channel")), through: row.checked("done"))
            }
        }
    }

    /// Sets the observer of pushes that other changes queue: reading on one device queues a
    /// `dismiss` for the others.
    package func onQueued(_ queued: PushQueued?) { self.queued.withLock { $0 = queued } }

    /// The number of waiting pushes of a service.
    package func count(_ service: PushService) async throws -> Int {
        try await database.read { db in
            try Int.fetchOne(
                db, sql: "SELECT count(*) FROM push_queue WHERE service = ?",
                arguments: [service.rawValue]) ?? 0
        }
    }

    /// The number of waiting alerts of a service, of what fan-out scans have queued, and how many
    /// of them are delayed.
    package func alertCount(
        _ service: PushService
    ) async throws -> (all: Int, delayed: Int) {
        try await database.read { db in
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT count(*), count(CASE WHEN failing = 1 THEN 1 END) FROM push_queue
                    WHERE service = ? AND kind = 'alert'
                    """, arguments: [service.rawValue])
            return (row?[0] ?? 0, row?[1] ?? 0)
        }
    }

    /// The waiting alerts about one message for a user's devices.
    ///
    /// - Returns: nil in a cluster, where only the gateway that pushes has them.
    /// - Throws: ``RepriseCore/RepriseError``.
    package func waiting(
        for seq: Int64, in channel: ChannelName, of user: UserID
    ) async throws -> [WaitingPush]? {
        guard !isInCluster else { return nil }
        return try await database.read { db in
            try Row.fetchAll(
                db, sql: Self.waitingSQL, arguments: [user.text, channel.text, seq]
            ).compactMap { row in
                guard let service = PushService(rawValue: try row.checked(1)) else { return nil }
                return WaitingPush(
                    device: try EntryID(row.checked(0)), service: service,
                    attempts: try row.checked(2), due: WallTime(milliseconds: try row.checked(3)),
                    expires: WallTime(milliseconds: try row.checked(4)))
            }
        }
    }

    /// The waiting alerts about a message for a user: by an index, because anybody may ask, and the
    /// delayed ones of all users may be many.
    package static let waitingSQL = """
        SELECT device, service, attempts, due, expires FROM push_queue
        WHERE user = ? AND channel = ? AND seq = ? AND kind = 'alert' ORDER BY id
        """

    /// The due pushes of a service, earliest first, with all data that decides about them.
    ///
    /// - Parameters:
    ///   - service: the service.
    ///   - now: the wall clock.
    ///   - limit: the most pushes.
    ///   - held: rows in flight, which are skipped.
    /// - Returns: the pushes, the unreadable rows, and when the next push is due.
    /// - Throws: ``RepriseCore/RepriseError``.
    package func due(
        _ service: PushService, now: WallTime, limit: Int, except held: Set<Int64> = []
    ) async throws -> Page {
        try await database.read { db in
            let numbers = try Self.dueNumbers(service, now, limit, held, db)
            var select = try DuePushStatement(db, service, now: now)
            defer { select.reset() }
            var page = Page(pushes: [], broken: [], next: nil)
            page.pushes.reserveCapacity(numbers.count)
            for number in numbers where try select.find(number) {
                do {
                    page.pushes.append(try select.push(number))
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

    /// The result of ``due(_:now:limit:except:)``.
    package struct Page: Sendable {
        package var pushes: [DuePush]
        package var broken: [Int64]
        package var next: WallTime?
    }

    /// Removes unreadable rows, so that they block no others.
    package func remove(_ numbers: [Int64]) async throws -> Changes {
        try await database.write { db in
            var changes = Changes()
            for number in numbers {
                let isDelayed = try Bool.fetchOne(
                    db,
                    sql: """
                        SELECT failing = 1 FROM push_queue WHERE id = ? AND kind = 'alert'
                        """, arguments: [number])
                if let isDelayed { changes.remove(isDelayed: isDelayed) }
                try db.execute(sql: "DELETE FROM push_queue WHERE id = ?", arguments: [number])
            }
            return changes
        }
    }

    /// Makes pushes due whose wait exceeds the longest possible one: the wall clock was set back.
    package func hurry(_ service: PushService, now: WallTime) async throws {
        let farthest = now.advanced(by: PushLimits.retryAfterLongest + .seconds(60))
        try await database.write { db in
            try db.execute(
                sql: "UPDATE push_queue SET due = ? WHERE service = ? AND due > ?",
                arguments: [now.milliseconds, service.rawValue, farthest.milliseconds])
        }
    }

    /// Records the disposition of pushes.
    @discardableResult
    package func settle(
        _ settled: [PushSettled], of service: PushService, now: WallTime
    ) async throws -> Changes {
        try await database.write { [isInCluster] db in
            var settlement = try PushSettlement(db, of: service, isInCluster: isInCluster)
            for one in settled { try settlement.record(one, now: now) }
            try settlement.displace()
            return settlement.changes
        }
    }

    /// The result of ``settle(_:of:now:)``.
    package struct Changes: Sendable {
        /// How many alerts have left the queue.
        package var removed = 0
        /// How many more alerts in it are delayed; negative if fewer.
        package var delayed = 0
        /// Those of them that newer ones of the same users have displaced.
        package var displaced: [PushEntry] = []

        mutating func remove(isDelayed: Bool) {
            removed += 1
            if isDelayed { delayed -= 1 }
        }
    }

    /// Queues dismissals of banners and badge updates for a user's other devices, after a read on
    /// one.
    ///
    /// In the transaction that moves the position. Only for devices that were pushed a message that
    /// is now read.
    ///
    /// - Returns: the number of queued pushes.
    func queueDismissals(
        on device: EntryID?, after former: Int64, _ position: ServerFrame.Position,
        in channel: ChannelName, at now: WallTime, _ db: Database
    ) throws -> Int {
        guard position.read > former else { return 0 }
        let read = Read(
            device: device, former: former, position: position, channel: channel, time: now)
        if isInCluster { remember(read) }
        guard queued.withLock({ $0?.services.contains(.apns) ?? false }) else { return 0 }
        return try Self.insertDismissals(after: read, db)
    }

    private static func insertDismissals(after read: Read, _ db: Database) throws -> Int {
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
                read.time.advanced(by: PushLimits.dismissAfter).milliseconds, kind.rawValue,
                read.channel.text, read.position.read,
                read.time.advanced(by: PushLimits.life).milliseconds, read.channel.text,
                read.position.user.text, read.device?.text ?? "", read.former,
            ])
            count += db.changesCount
        }
        return count
    }

    /// Tells the observer of dismissals; they are durable.
    func queuedDismissals(_ count: Int) {
        if count > 0 { queued.withLock { $0 }?.told(.apns, count) }
    }
}
