import GRDB
package import RepriseCore
package import RepriseWire

/// Fills the push queue by fan-out scans over the members of channels.
///
/// The log is the queue of messages, so that no message is lost between its commit and its pushes:
/// a scan continues where the last one ended, and its position is stored in the same transaction as
/// the pushes that it has queued.
package final class FanOutScans: Sendable {
    private let database: AccountsDatabase
    /// Then other gateways may have pushed some of a scan's messages.
    private let isInCluster: Bool

    init(_ database: AccountsDatabase, isInCluster: Bool) {
        self.database = database
        self.isInCluster = isInCluster
    }

    /// Starts a service: messages stored before are not pushed.
    ///
    /// - Parameters:
    ///   - service: the service.
    ///   - head: the newest message of a channel.
    /// - Throws: ``RepriseCore/RepriseError``; a repeated call continues.
    package func begin(
        _ service: PushService, head: @Sendable (ChannelName) async throws -> Int64
    ) async throws {
        if try await hasBegun(service) { return }
        var after: ChannelName?
        while true {
            let names = try await channels(after: after)
            guard let last = names.last else { break }
            var heads: [(ChannelName, Int64)] = []
            for name in names { heads.append((name, try await head(name))) }
            try await database.write { [heads] db in
                for (name, head) in heads {
                    try db.execute(
                        sql: """
                            INSERT OR IGNORE INTO push_walks (service, channel, through)
                            VALUES (?, ?, ?)
                            """, arguments: [service.rawValue, name.text, head])
                }
            }
            after = last
        }
        try await database.write { db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO push_services (service) VALUES (?)",
                arguments: [service.rawValue])
        }
    }

    /// Whether a service was started.
    package func hasBegun(_ service: PushService) async throws -> Bool {
        try await database.read { db in
            try Bool.fetchOne(
                db, sql: "SELECT EXISTS (SELECT 1 FROM push_services WHERE service = ?)",
                arguments: [service.rawValue]) ?? false
        }
    }

    /// The channels that have members, sorted by name.
    package func channels(after: ChannelName?) async throws -> [ChannelName] {
        try await database.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT name FROM channels WHERE name > ? AND members > 0
                    ORDER BY name LIMIT ?
                    """,
                arguments: [after?.text ?? "", PushLimits.channelsPerPage]
            ).map { try ChannelName($0) }
        }
    }

    /// A service's progress in a channel; nil for a channel without members.
    package func scan(
        _ service: PushService, in channel: ChannelName
    ) async throws -> FanOutScan? {
        try await database.read { db in
            let members = try Int.fetchOne(
                db, sql: "SELECT members FROM channels WHERE name = ?", arguments: [channel.text])
            guard let members, members > 0 else { return nil }
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT through, target, user FROM push_walks
                    WHERE service = ? AND channel = ?
                    """,
                arguments: [service.rawValue, channel.text])
            // Without a readable one it begins anew: what was pushed is pushed again, not lost.
            if let row, let scan = try? FanOutScan(row, of: channel) { return scan }
            // Messages from before the first member joined are not pushed.
            let first = try Int64.fetchOne(
                db, sql: "SELECT min(joined) FROM members WHERE channel = ?",
                arguments: [channel.text])
            return FanOutScan(channel: channel, through: first ?? 0, target: nil, user: "")
        }
    }

    /// Queues pushes about messages for the next members of a channel, and stores the scan's
    /// progress in the same transaction.
    ///
    /// - Parameters:
    ///   - scan: the progress; updated by this step.
    ///   - service: the service.
    ///   - target: the message up to which the scan goes.
    ///   - candidates: the messages, in order.
    ///   - now: when the pushes are due.
    /// - Returns: the number of queued pushes.
    /// - Throws: ``RepriseCore/RepriseError``; then nothing was queued.
    package func step(
        _ scan: inout FanOutScan, _ service: PushService, to target: Int64,
        _ candidates: [PushCandidate], now: WallTime
    ) async throws -> Int {
        let channel = scan.channel
        let found = try await self.found(service, channel, after: scan.user, candidates)
        if let last = found.last {
            scan.user = last
            scan.target = target
        } else {
            scan = FanOutScan(channel: channel, through: target, target: nil, user: "")
        }
        return try await database.write { [scan, found] db in
            try Self.save(scan, service, db)
            return try Self.queue(found, candidates, service, channel, now, db)
        }
    }

    /// Queues pushes about messages for those devices of the next members that are not connected.
    ///
    /// ``step(_:_:to:_:now:)``, which comes to all devices later, leaves out what this has queued.
    ///
    /// - Parameters:
    ///   - service: the service.
    ///   - channel: the channel; it is not scanned otherwise meanwhile.
    ///   - user: the last member of the step before; empty at the beginning.
    ///   - target: the message up to which the scan goes.
    ///   - candidates: all messages from the last scan on, in order.
    ///   - now: when the pushes are due.
    ///   - connected: which devices are.
    /// - Returns: the number of queued pushes, and the last member, if there may be more after it.
    /// - Throws: ``RepriseCore/RepriseError``; then nothing was queued.
    package func early(
        _ service: PushService, in channel: ChannelName, after user: String, to target: Int64,
        _ candidates: [PushCandidate], now: WallTime, connected: ConnectedCheck
    ) async throws -> (added: Int, last: String?) {
        var found = try await self.found(service, channel, after: user, candidates)
        let targets = found.targets.filter { one in
            candidates.contains { one.isTarget(of: $0) }
        }
        let devices = try targets.map { one in
            ConnectingDevice(user: try UserID(one.user), device: try EntryID(one.device))
        }
        let present = await connected(devices)
        found.targets = zip(targets, devices).filter { !present.contains($1) }.map { one, _ in one }
        guard !found.targets.isEmpty else { return (0, found.last) }
        let added = try await database.write { [found] db in
            let note = try db.cachedStatement(
                sql: """
                    INSERT INTO push_early (service, channel, user, device, through)
                    VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET through = excluded.through
                    """)
            for one in found.targets {
                try note.execute(arguments: [
                    service.rawValue, channel.text, one.user, one.device, target,
                ])
            }
            return try Self.queue(found, candidates, service, channel, now, db)
        }
        return (added, found.last)
    }

    /// The next members, and what other gateways have pushed to them of the messages.
    private func found(
        _ service: PushService, _ channel: ChannelName, after user: String,
        _ candidates: [PushCandidate]
    ) async throws -> Step {
        guard let first = candidates.first?.seq, let last = candidates.last?.seq else {
            return Step(last: nil, targets: [])
        }
        let limit = max(1, PushLimits.membersPerStep / candidates.count)
        return try await database.read { [isInCluster] db in
            var step = try Self.step(service, channel, after: user, limit: limit, db)
            if isInCluster {
                step.pushed = try Self.pushed(service, channel, first...last, db)
            }
            return step
        }
    }

    /// A member's device.
    private struct Target: Sendable {
        let user: String
        let device: String
        /// Up to this message it needs no push.
        let floor: Int64

        func isTarget(of candidate: PushCandidate) -> Bool {
            candidate.seq > floor && candidate.from?.text != user
        }
    }

    /// Members and their devices.
    private struct Step: Sendable {
        /// The last member, if there may be more after it.
        var last: String?
        var targets: [Target]
        /// What other gateways have pushed.
        var pushed: Set<Pushed> = []
    }

    private struct Pushed: Hashable, Sendable {
        let seq: Int64
        let user: String
        let device: String
    }

    private static func pushed(
        _ service: PushService, _ channel: ChannelName, _ messages: ClosedRange<Int64>,
        _ db: Database
    ) throws -> Set<Pushed> {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT seq, user, device FROM pushed_messages
                WHERE service = ? AND channel = ? AND seq BETWEEN ? AND ?
                """,
            arguments: [
                service.rawValue, channel.text, messages.lowerBound, messages.upperBound,
            ])
        // What an unreadable one names is pushed again.
        return Set(
            rows.compactMap { row in
                try? Pushed(
                    seq: row.checked(0), user: row.checked(1), device: row.checked(2))
            })
    }

    private static func step(
        _ service: PushService, _ channel: ChannelName, after: String, limit: Int, _ db: Database
    ) throws -> Step {
        let page = """
            SELECT user, joined FROM members WHERE channel = ?1 AND user > ?2
            ORDER BY user LIMIT ?3
            """
        let edge = try Row.fetchOne(
            db, sql: "SELECT count(*) AS n, max(user) AS last FROM (\(page))",
            arguments: [channel.text, after, limit])
        var rows = try FastStatement(
            db,
            """
            SELECT d.user, d.id,
            max(m.joined, coalesce(p.read, 0), coalesce(dp.delivered, 0), coalesce(e.through, 0))
            FROM (\(page)) m JOIN devices d ON d.user = m.user
            LEFT JOIN positions p ON p.channel = ?1 AND p.user = m.user
            LEFT JOIN device_positions dp
            ON dp.user = d.user AND dp.device = d.id AND dp.channel = ?1
            LEFT JOIN push_early e
            ON e.service = ?4 AND e.channel = ?1 AND e.user = d.user AND e.device = d.id
            WHERE d.\(service.addressColumn) IS NOT NULL
            """)
        defer { rows.reset() }
        try rows.bind(channel.text)
        try rows.bind(after)
        try rows.bind(Int64(limit))
        try rows.bind(service.rawValue)
        var targets: [Target] = []
        while try rows.step() {
            targets.append(
                Target(user: rows.text(0), device: rows.text(1), floor: rows.integer(2)))
        }
        let isFull = edge?["n"] == limit
        // A name that is no text sorts after all others.
        let last = edge.flatMap { String.fromDatabaseValue($0["last"]) }
        return Step(last: isFull ? last : nil, targets: targets)
    }

    /// Stores a service's progress in a channel.
    package func save(_ scan: FanOutScan, _ service: PushService) async throws {
        try await database.write { try Self.save(scan, service, $0) }
    }

    private static func save(_ scan: FanOutScan, _ service: PushService, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO push_walks (service, channel, through, target, user)
                VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
                through = excluded.through, target = excluded.target, user = excluded.user
                """
        ).execute(arguments: [
            service.rawValue, scan.channel.text, scan.through, scan.target, scan.user,
        ])
        guard scan.target == nil else { return }
        try db.cachedStatement(
            sql: "DELETE FROM push_early WHERE service = ? AND channel = ? AND through <= ?"
        ).execute(arguments: [service.rawValue, scan.channel.text, scan.through])
    }

    private static func queue(
        _ step: Step, _ candidates: [PushCandidate],
        _ service: PushService, _ channel: ChannelName, _ now: WallTime, _ db: Database
    ) throws -> Int {
        var insert = try FastStatement(
            db,
            """
            INSERT INTO push_queue
            (service, due, user, device, kind, channel, seq, message, sender, expires, mention)
            VALUES (?, ?, ?, ?, 'alert', ?, ?, ?, ?, ?, ?)
            """)
        var count = 0
        for candidate in candidates {
            let mentioned = Set(candidate.mentions.users.map(\.text))
            for target in step.targets where target.isTarget(of: candidate) {
                let pushed = Pushed(
                    seq: candidate.seq, user: target.user, device: target.device)
                if !step.pushed.isEmpty, step.pushed.contains(pushed) { continue }
                try insert.bind(service.rawValue)
                try insert.bind(now.milliseconds)
                try insert.bind(target.user)
                try insert.bind(target.device)
                try insert.bind(channel.text)
                try insert.bind(candidate.seq)
                try insert.bind(candidate.id.text)
                if let from = candidate.from {
                    try insert.bind(from.text)
                } else {
                    try insert.bindNull()
                }
                try insert.bind(candidate.expires.milliseconds)
                try insert.bind(Int64(mentioned.contains(target.user) ? 1 : 0))
                try insert.run()
                count += 1
            }
        }
        return count
    }
}

extension FanOutScan {
    fileprivate init(_ row: Row, of channel: ChannelName) throws {
        self.init(
            channel: channel, through: try row.checked("through"),
            target: try row.checked("target"), user: try row.checked("user"))
    }
}

extension PushService {
    /// The column of `devices` with the service's push address.
    fileprivate var addressColumn: String {
        switch self {
        case .apns: "push_token"
        case .webPush: "web_endpoint"
        }
    }
}
