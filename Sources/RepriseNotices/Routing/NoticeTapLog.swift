import GRDB
import RepriseCore

/// Taps and actions, for people, and which of them the app has presented.
enum NoticeTapLog {
    static func recorded(
        _ id: EntryID, _ arrival: NoticeArrival, at now: WallTime, _ db: Database
    ) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO noticesTap (entry, at, action, channel, message)
                VALUES (?, ?, ?, ?, ?) ON CONFLICT (entry) DO NOTHING
                """
        ).execute(arguments: [
            id.text, now.milliseconds, arrival.action, arrival.channel, arrival.message,
        ])
    }

    static func handed(
        _ id: EntryID, _ routed: NoticeRouted, at now: WallTime, _ db: Database
    ) throws {
        try anew(id, db) {
            // One that came by the spool is not there yet.
            try recorded(id, routed.arrival, at: now, db)
            try db.cachedStatement(
                sql: """
                    UPDATE noticesTap SET resolution = ?, reason = ?, handed = handed + 1
                    WHERE entry = ?
                    """
            ).execute(arguments: [routed.resolution.noticeName, routed.reason, id.text])
        }
    }

    /// It is not dispatched again.
    static func presented(_ id: EntryID, at now: WallTime, _ db: Database) throws {
        try anew(id, db) {
            try db.cachedStatement(
                sql: """
                    INSERT INTO noticesTap (entry, at, action, presented) VALUES (?, ?, 'open', ?)
                    ON CONFLICT (entry)
                    DO UPDATE SET presented = COALESCE(presented, excluded.presented)
                    """
            ).execute(arguments: [id.text, now.milliseconds, now.milliseconds])
        }
    }

    static func ended(
        _ id: EntryID, as resolution: String, at now: WallTime, _ db: Database
    ) throws {
        try anew(id, db) {
            try db.cachedStatement(
                sql: "UPDATE noticesTap SET resolution = ?, presented = ? WHERE entry = ?"
            ).execute(arguments: [resolution, now.milliseconds, id.text])
        }
    }

    /// Writes without the row if that cannot be read, which SQLite refuses to update: the log must
    /// not keep a tap from being acknowledged.
    private static func anew(_ id: EntryID, _ db: Database, _ write: () throws -> Void) throws {
        do {
            try write()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            try db.execute(sql: "DELETE FROM noticesTap WHERE entry = ?", arguments: [id.text])
            try write()
        }
    }

    static func isPresented(_ id: EntryID, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: "SELECT typeof(presented) = 'integer' FROM noticesTap WHERE entry = ?"),
            arguments: [id.text]) ?? false
    }
}

extension Resolution {
    /// Its name in the log.
    var noticeName: String {
        switch self {
        case .active(_, .partGone): "active: message deleted"
        case .active: "active"
        case .paused: "paused"
        case .deleted: "deleted"
        case .missing: "missing"
        case .superseded: "superseded"
        case .malformed: "malformed"
        }
    }
}
