import GRDB
import RepriseCore
import RepriseWire

/// The disposition of a push.
package struct PushSettled: Hashable, Sendable {
    package var entry: PushEntry
    package var address: PushAddress?
    package var acknowledgement: PushMachine.Acknowledgement
    /// Whether it waits for its push service or its device's rate: see
    /// ``PushLimits/delayedAlerts``.
    package var isDelayed = false
}

/// Records dispositions in one transaction.
///
/// The statements are prepared once: a message to a large channel has a hundred thousand pushes.
struct PushSettlement {
    /// What has left the queue so far.
    private(set) var changes = PushQueue.Changes()
    private let db: Database
    private let service: PushService
    private let isInCluster: Bool
    /// The users of delayed alerts.
    private var delayed: Set<UserID> = []
    private var update: FastStatement
    private var note: FastStatement
    private var delete: FastStatement

    /// In a cluster the journal notes what was pushed and which addresses are invalid.
    init(_ db: Database, of service: PushService, isInCluster: Bool) throws {
        self.db = db
        self.service = service
        self.isInCluster = isInCluster
        update = try FastStatement(
            db,
            """
            UPDATE push_queue SET due = ?, attempts = attempts + ?, failing = max(failing, ?)
            WHERE id = ?
            """)
        note = try FastStatement(db, Self.noteSQL)
        // A read during a dismissal advances the dismissal's row: then it stays.
        delete = try FastStatement(db, "DELETE FROM push_queue WHERE id = ? AND seq = ?")
    }

    mutating func record(_ settled: PushSettled, now: WallTime) throws {
        let entry = settled.entry
        switch settled.acknowledgement {
        case .again(let wait, let isAttempt):
            return try again(
                settled, due: now.advanced(by: wait), attempts: isAttempt ? 1 : 0)
        case .pushed where entry.kind == .alert && !isInCluster: try notePushed(entry)
        case .dead(let since) where !isInCluster:
            try settled.address.map {
                try RegisteredDevice.removeAddress(
                    $0, of: entry.user, on: entry.device, since: since, db)
            }
        case .pushed, .dropped, .dead: break
        }
        try remove(entry)
    }

    /// Drops the oldest delayed alerts of users who have too many; after the last
    /// ``record(_:now:)``.
    mutating func displace() throws {
        for user in delayed {
            let rows = try Row.fetchAll(
                db.cachedStatement(sql: Self.displacedSQL),
                arguments: [service.rawValue, user.text, PushLimits.delayedAlerts])
            for row in rows {
                try db.cachedStatement(sql: "DELETE FROM push_queue WHERE id = ?")
                    .execute(arguments: [Int64.fromDatabaseValue(row["id"])])
                changes.remove(isDelayed: true)
                if let entry = try? PushEntry(delayed: row, of: user) {
                    changes.displaced.append(entry)
                }
            }
        }
    }

    private static let displacedSQL = """
        SELECT id, device, channel, seq, message, attempts, expires FROM push_queue
        WHERE service = ? AND user = ? AND failing = 1 ORDER BY id DESC LIMIT -1 OFFSET ?
        """

    /// Notes what a device was pushed, if the device is still there.
    static let noteSQL = """
        INSERT INTO device_positions (user, device, channel, delivered, pushed)
        SELECT user, id, ?1, 0, ?2 FROM devices WHERE user = ?3 AND id = ?4
        ON CONFLICT DO UPDATE SET pushed = excluded.pushed WHERE excluded.pushed > pushed
        """

    private mutating func again(_ settled: PushSettled, due: WallTime, attempts: Int64) throws {
        let isDelayed = settled.isDelayed && settled.entry.kind == .alert
        try update.bind(due.milliseconds)
        try update.bind(attempts)
        try update.bind(Int64(isDelayed ? 1 : 0))
        try update.bind(settled.entry.number)
        try update.run()
        guard isDelayed else { return }
        delayed.insert(settled.entry.user)
        if !settled.entry.isDelayed { changes.delayed += db.changesCount }
    }

    private mutating func notePushed(_ entry: PushEntry) throws {
        try note.bind(entry.channel.text)
        try note.bind(entry.seq)
        try note.bind(entry.user.text)
        try note.bind(entry.device.text)
        try note.run()
    }

    private mutating func remove(_ entry: PushEntry) throws {
        try delete.bind(entry.number)
        try delete.bind(entry.seq)
        try delete.run()
        if entry.kind == .alert, db.changesCount > 0 {
            changes.remove(isDelayed: entry.isDelayed)
        }
    }
}

extension PushEntry {
    /// By the columns that ``PushSettlement`` selects.
    fileprivate init(delayed row: Row, of user: UserID) throws {
        let message: String? = try row.checked("message")
        self.init(
            number: try row.checked("id"), user: user,
            device: try EntryID(row.checked("device")), kind: .alert,
            channel: try ChannelName(row.checked("channel")), seq: try row.checked("seq"),
            message: try message.map { try EntryID($0) }, from: nil,
            attempts: try row.checked("attempts"),
            expires: WallTime(milliseconds: try row.checked("expires")))
    }
}
