import GRDB
import RepriseCore
import RepriseWire

/// Selects due pushes by their rows' numbers, with all data that decides about each.
struct DuePushStatement {
    private let service: PushService
    private let now: WallTime
    private var select: FastStatement

    init(_ db: Database, _ service: PushService, now: WallTime) throws {
        self.service = service
        self.now = now
        select = try FastStatement(db, Self.sql)
    }

    /// Steps to a row.
    ///
    /// - Returns: false if there is none.
    mutating func find(_ number: Int64) throws -> Bool {
        select.reset()
        try select.bind(number)
        try select.bind(now.milliseconds)
        try select.bind(
            now.advanced(by: .zero - PushPayloadLimits.activeElsewhere).milliseconds)
        return try select.step()
    }

    /// The push of the row found.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` for an unreadable row.
    func push(_ number: Int64) throws -> DuePush { try DuePush(number, select, service) }

    mutating func reset() { select.reset() }

    private static let sql = """
        SELECT q.user, q.device, q.kind, q.channel, q.seq, q.message, q.sender, q.attempts, q.expires,
        d.push_token, d.push_since, d.web_endpoint, d.web_key, d.web_secret,
        coalesce(dp.delivered, 0), coalesce(dp.pushed, 0), coalesce(p.read, 0), m.joined, c.title,
        EXISTS (SELECT 1 FROM mutes WHERE user = q.user AND kind = 'channel' AND name = q.channel
          AND (until IS NULL OR until > ?2)),
        EXISTS (SELECT 1 FROM mutes WHERE user = q.user AND kind = 'user' AND name = q.sender
          AND (until IS NULL OR until > ?2)),
        coalesce(qd.start_minute, qu.start_minute), coalesce(qd.end_minute, qu.end_minute),
        coalesce(qd.zone, qu.zone),
        q.sender IS NULL OR EXISTS (SELECT 1 FROM members
          WHERE channel = q.channel AND user = q.sender AND role = 'owner'),
        pr.name, pr.picture, q.mention, xc.excepted, xu.excepted,
        EXISTS (SELECT 1 FROM active_devices
          WHERE user = q.user AND device <> q.device AND time > ?3),
        q.failing
        FROM push_queue q
        LEFT JOIN devices d ON d.user = q.user AND d.id = q.device
        LEFT JOIN device_positions dp
        ON dp.user = q.user AND dp.device = q.device AND dp.channel = q.channel
        LEFT JOIN positions p ON p.channel = q.channel AND p.user = q.user
        LEFT JOIN members m ON m.channel = q.channel AND m.user = q.user
        LEFT JOIN channels c ON c.name = q.channel
        LEFT JOIN profiles pr ON pr.user = q.sender
        LEFT JOIN mute_mentions xc ON xc.user = q.user AND xc.kind = 'channel' AND xc.name = q.channel
        LEFT JOIN mute_mentions xu ON xu.user = q.user AND xu.kind = 'user' AND xu.name = q.sender
        LEFT JOIN quiet_hours qd ON qd.user = q.user AND qd.device = q.device
        LEFT JOIN quiet_hours qu ON qu.user = q.user AND qu.device = ''
        WHERE q.id = ?1
        """
}

extension DuePush {
    /// By the columns of ``DuePushStatement``.
    fileprivate init(_ number: Int64, _ row: FastStatement, _ service: PushService) throws {
        let (seq, attempts) = (row.integer(4), row.integer(7))
        guard let kind = PushHint.Kind(rawValue: row.text(2)),
            (0...WireLimits.greatestSequence).contains(seq),
            (0...Int64(Int32.max)).contains(attempts)
        else {
            throw RepriseError(.corrupt, "The accounts have a push that cannot be read.")
        }
        self.init(
            entry: PushEntry(
                number: number, user: try UserID(row.text(0)), device: try EntryID(row.text(1)),
                kind: kind, channel: try ChannelName(row.text(3)), seq: seq,
                message: try row.optional(5).map { try EntryID($0) },
                from: try row.optional(6).map { try UserID($0) }, attempts: Int(attempts),
                expires: WallTime(milliseconds: row.integer(8)), isMention: row.integer(27) != 0,
                isDelayed: row.integer(31) != 0),
            address: try Self.address(row, service),
            addressSince: WallTime(milliseconds: row.integer(10)), delivered: row.integer(14),
            read: row.integer(16), pushed: row.integer(15), isMember: !row.isNull(17),
            isMuted: Self.isMuted(row), isActiveElsewhere: row.integer(30) != 0,
            quietHours: row.isNull(21)
                ? nil
                : QuietHours(
                    unchecked: Int(row.integer(21)), to: Int(row.integer(22)), zone: row.text(23)),
            title: row.optional(18), isFromOwner: row.integer(24) != 0,
            sender: row.isNull(25)
                ? nil : Profile(name: row.optional(25), picture: row.optional(26)))
    }

    /// Whether the channel's or the author's mute, of those that have not ended, silences it.
    private static func isMuted(_ row: FastStatement) -> Bool {
        let mutes: [(exists: Int32, excepted: Int32, usual: Bool)] = [
            (19, 28, true), (20, 29, false),
        ]
        return mutes.contains { mute in
            let excepted =
                row.isNull(mute.excepted) ? mute.usual : row.integer(mute.excepted) != 0
            return row.integer(mute.exists) != 0
                && NoticeState.Mute.until(WallTime(milliseconds: .max), exceptMentions: excepted)
                    .holds(isMention: row.integer(27) != 0, at: WallTime(milliseconds: 0))
        }
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

extension FastStatement {
    fileprivate func optional(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }
}
