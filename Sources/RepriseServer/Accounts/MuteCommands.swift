import GRDB
package import RepriseCore
package import RepriseWire

/// Adds a mute, or changes its end.
package struct SetMute: AccountCommand {
    package var mute: Mute
    package var user: UserID

    package init(_ mute: Mute, of user: UserID) { (self.mute, self.user) = (mute, user) }

    /// - Throws: ``RepriseCore/RepriseError`` `.full` at ``PushLimits/mutes``.
    package func apply(in view: AccountsView) throws {
        let (kind, name) = mute.subject.columns
        try view.db.execute(
            sql: "DELETE FROM mutes WHERE user = ? AND until <= ?",
            arguments: [user.text, view.time.milliseconds])
        if view.db.changesCount > 0 {
            try view.db.execute(
                sql: """
                    DELETE FROM mute_mentions WHERE user = ?1
                    AND (kind, name) NOT IN (SELECT kind, name FROM mutes WHERE user = ?1)
                    """, arguments: [user.text])
        }
        let others = try Int.fetchOne(
            view.db,
            sql: "SELECT count(*) FROM mutes WHERE user = ? AND NOT (kind = ? AND name = ?)",
            arguments: [user.text, kind, name])
        guard (others ?? 0) < PushLimits.mutes else { throw AccountBound.mutes }
        try view.db.execute(
            sql: """
                INSERT INTO mutes (user, kind, name, until) VALUES (?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET until = excluded.until
                """, arguments: [user.text, kind, name, mute.until?.milliseconds])
        try view.db.execute(
            sql: mute.exceptMentions == mute.subject.exceptsMentions
                ? "DELETE FROM mute_mentions WHERE user = ? AND kind = ? AND name = ?"
                : """
                INSERT OR REPLACE INTO mute_mentions (user, kind, name, excepted)
                VALUES (?, ?, ?, \(mute.exceptMentions ? 1 : 0))
                """, arguments: [user.text, kind, name])
        try view.tell(mute.subject, of: user)
    }

    package func effects(of outcome: Void) -> AccountEffects { AccountEffects(mute.subject) }
}

/// Ends a mute; a missing one is ignored.
package struct RemoveMute: AccountCommand {
    package var subject: Mute.Subject
    package var user: UserID

    package init(_ subject: Mute.Subject, of user: UserID) {
        (self.subject, self.user) = (subject, user)
    }

    package func apply(in view: AccountsView) throws {
        let (kind, name) = subject.columns
        try view.db.execute(
            sql: "DELETE FROM mutes WHERE user = ? AND kind = ? AND name = ?",
            arguments: [user.text, kind, name])
        try view.db.execute(
            sql: "DELETE FROM mute_mentions WHERE user = ? AND kind = ? AND name = ?",
            arguments: [user.text, kind, name])
        try view.tell(subject, of: user)
    }

    package func effects(of outcome: Void) -> AccountEffects { AccountEffects(subject) }
}

extension AccountsView {
    fileprivate func tell(_ subject: Mute.Subject, of user: UserID) throws {
        guard case .channel(let channel) = subject else { return }
        let isMember = try Member.fetch(user, of: channel, db) != nil
        if isMember { try tell(user, of: channel) }
    }
}

extension AccountEffects {
    fileprivate init(_ muted: Mute.Subject) {
        if case .channel = muted { isTold = true }
    }
}

/// Sets quiet hours of a user, or of one registered device; nil ends them.
package struct SetQuietHours: AccountCommand {
    package var hours: QuietHours?
    package var user: UserID
    package var device: EntryID?

    package init(_ hours: QuietHours?, of user: UserID, on device: EntryID? = nil) {
        (self.hours, self.user, self.device) = (hours, user, device)
    }

    /// - Returns: false if there is no such device.
    package func apply(in view: AccountsView) throws -> Bool {
        guard let hours else {
            try view.db.execute(
                sql: "DELETE FROM quiet_hours WHERE user = ? AND device = ?",
                arguments: [user.text, device?.text ?? ""])
            return true
        }
        if let device {
            let isThere = try Bool.fetchOne(
                view.db, sql: "SELECT EXISTS (SELECT 1 FROM devices WHERE user = ? AND id = ?)",
                arguments: [user.text, device.text])
            guard isThere == true else { return false }
        }
        try view.db.execute(
            sql: """
                INSERT OR REPLACE INTO quiet_hours (user, device, start_minute, end_minute, zone)
                VALUES (?, ?, ?, ?, ?)
                """,
            arguments: [user.text, device?.text ?? "", hours.start, hours.end, hours.zone])
        return true
    }
}
