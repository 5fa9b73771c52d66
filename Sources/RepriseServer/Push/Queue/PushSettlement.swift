import GRDB
import RepriseCore
import RepriseWire

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

/// Records dispositions in one transaction.
///
/// The statements are prepared once: a message to a large channel has a hundred thousand pushes.
struct PushSettlement {
    private let db: Database
    private let isInCluster: Bool
    private var update: FastStatement
    private var note: FastStatement
    private var delete: FastStatement

    /// In a cluster the journal notes what was pushed and which addresses are invalid.
    init(_ db: Database, isInCluster: Bool) throws {
        self.db = db
        self.isInCluster = isInCluster
        update = try FastStatement(
            db, "UPDATE push_queue SET due = ?, attempts = attempts + ? WHERE id = ?")
        note = try FastStatement(db, Self.noteSQL)
        // A read during a dismissal advances the dismissal's row: then it stays.
        delete = try FastStatement(db, "DELETE FROM push_queue WHERE id = ? AND seq = ?")
    }

    mutating func record(_ settled: PushSettled, now: WallTime) throws {
        let entry = settled.entry
        switch settled.acknowledgement {
        case .again(let wait, let isAttempt):
            return try again(
                entry, due: now.advanced(by: wait), attempts: isAttempt ? 1 : 0)
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

    /// Notes what a device was pushed, if the device is still there.
    static let noteSQL = """
        INSERT INTO device_positions (user, device, channel, delivered, pushed)
        SELECT user, id, ?1, 0, ?2 FROM devices WHERE user = ?3 AND id = ?4
        ON CONFLICT DO UPDATE SET pushed = excluded.pushed WHERE excluded.pushed > pushed
        """

    private mutating func again(_ entry: PushEntry, due: WallTime, attempts: Int64) throws {
        try update.bind(due.milliseconds)
        try update.bind(attempts)
        try update.bind(entry.number)
        try update.run()
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
    }
}
