import Foundation
import GRDB
import Logging
import RepriseCore
import RepriseJournal
import RepriseWire

extension Journal {
    /// The mirror for the extension.
    var noticeMirror: Mirror<NoticeMirror> {
        Mirror(in: sharedLocation, version: NoticeMirror.version)
    }
}

extension Notices.Configuration {
    /// Whether the spool is empty: checked before each round in the background.
    func isSpoolEmpty(_ journal: Journal) -> Bool {
        let folder = journal.sharedLocation.appendingPathComponent("spool").path
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
        return names?.isEmpty ?? true
    }
}

extension NoticeStore {
    /// The mirror's current content.
    func mirror(
        _ settings: NotificationSettings, _ preferences: NoticePreferences, _ db: Database
    ) throws -> NoticeMirror {
        var mirror = NoticeMirror(me: try messages.user(db)?.text, settings: settings)
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT channel, MAX(read, dismissed), before, head FROM noticesChannel
                    ORDER BY changed DESC LIMIT ?
                    """), arguments: [NoticeLimits.mirrored])
        var order: [String] = []
        while let row = try rows.next() {
            order.append(row[0])
            mirror.standings[row[0]] = NoticeMirror.Status(
                read: row[1], before: row[2], head: row[3])
        }
        let badge = try NoticeBadgeRow.read(db)
        mirror.badge = badge.effective.count
        mirror.badgeAsOf = badge.asOf
        mirror.shown = try String.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id FROM noticesMessage INDEXED BY noticesMessageStanding
                    WHERE standing < 2 AND standing = 1 ORDER BY decided DESC LIMIT ?
                    """), arguments: [NoticeLimits.mirroredShown])
        preferences.mirror(&mirror)
        return mirror.fitted(order: order)
    }

    /// The app has left a channel: its notifications are removed.
    func leave(_ channel: ChannelName, at now: WallTime, _ db: Database) throws {
        for var row in try NoticeRows.standing(in: channel, db) {
            _ = NoticeMachine.take(.ended("left"), &row.machine)
            try NoticeRows.write(row, at: now, db)
        }
    }

    // MARK: Pushes

    /// Handles a push without an alert, or the other content of one with an alert.
    func heard(_ hint: PushHint, at now: WallTime, _ db: Database) throws {
        // For the former user: its badge is not this user's.
        if hint.isForeign(to: try messages.user(db)) { return }
        if let badge = hint.badge { _ = try NoticeBadgeRow.counted(badge, db) }
        // Without a row the badge would be 0 until the log has come, and 0 removes delivered
        // notifications.
        var row =
            try NoticeChannelRow.find(hint.channel, db) ?? NoticeChannelRow(heardOf: hint.channel)
        if hint.badge != nil { row.wanted = max(row.wanted, hint.head) }
        if hint.kind == .dismiss { row.dismissed = max(row.dismissed, hint.seq) }
        try row.write(at: now, db)
    }

    /// The person has tapped a notification or put it away, and the system has taken it from the
    /// notification centre.
    ///
    /// If nothing here has heard of the message, the system has shown a push of it.
    func touched(_ hint: PushHint, by action: String, at now: WallTime, _ db: Database) throws {
        guard let id = hint.id else { return }
        if hint.isForeign(to: try messages.user(db)) { return }
        var row = try knownRow(id, at: now, db) ?? NoticeRow(hint, id: id, at: now)
        _ = NoticeMachine.take(.touched(action), &row.machine)
        try NoticeRows.write(row, at: now, db)
    }

    /// An extension has shown a message.
    func shown(_ record: ShownRecord, at now: WallTime, _ db: Database) throws -> ChannelName {
        let (id, channel) = (try EntryID(record.id), try ChannelName(record.channel))
        var row =
            try NoticeRows.row(id, db)
            ?? NoticeRow(
                id: id, channel: channel, seq: record.seq,
                time: WallTime(milliseconds: record.at))
        let isNew = row.machine == nil
        // One record a message: it may have been looked at before its entry was handled.
        if row.machine?.way == .extension { return channel }
        configuration.logger.tell(
            .debug, "The extension has shown a message.",
            [
                "message": id.text, "channel": channel.text, "seq": "\(record.seq)",
                "reason": record.reason, "presentation": "\(record.presentation)",
            ])
        let step = NoticeMachine.take(
            .extensionShowed(
                PresentationOptions(rawValue: record.presentation), reason: record.reason),
            &row.machine)
        if isNew { try NoticeRows.count(record.reason, db) }
        if step.isSecondAlert { try NoticeRows.count("secondAlert", db) }
        try NoticeRows.write(row, at: now, db)
        if let count = record.counted, let asOf = record.countedAsOf {
            var hint = PushHint(
                kind: .badge, channel: channel, seq: record.seq, head: record.head)
            hint.badge = PushHint.Badge(count: count, asOf: WallTime(milliseconds: asOf))
            try heard(hint, at: now, db)
        }
        try NoticeBadgeRow.forgetShown(db)
        return channel
    }

    // MARK: In the foreground

    /// Decides the presentation of an arrival.
    func arrived(
        _ hint: PushHint, _ id: EntryID, isRemote: Bool, _ moment: Moment, _ db: Database
    ) throws -> NoticeMachine.Step {
        if hint.isForeign(to: try messages.user(db)) { return NoticeMachine.Step() }
        if isRemote { try heard(hint, at: moment.wall, db) }
        var row = try NoticeRows.row(id, db) ?? NoticeRow(hint, id: id, at: moment.wall)
        let known = row.machine
        let log = try messages.standing(of: hint.channel, db)
        var channel = try NoticeChannelRow.find(hint.channel, db)
        if let log { channel?.read = log.read }
        let isDeleted = try log.map { try messages.find(hint.seq, in: $0.log, db).isDeleted }
        let message = NoticeMessage(
            id: id, channel: hint.channel, seq: hint.seq, from: hint.from,
            time: hint.time ?? moment.wall, isDeleted: isDeleted ?? false, body: [])
        let decision = decide(
            message, .push, channel, NoticeMachine.shown(known), try messages.user(db), moment)
        tell(message, .push, decision.reason.rawValue, decision.presentation)
        let event: NoticeMachine.Event =
            isRemote ? .pushArrived(decision) : .localArrived(decision)
        var step = NoticeMachine.take(event, &row.machine)
        if known == nil { try NoticeRows.count(decision.reason.rawValue, db) }
        if row.machine != known { try NoticeRows.write(row, at: moment.wall, db) }
        // A push brings the server's figure. Ours is newer if our log has all that it counted.
        if isRemote, try NoticeBadgeRow.read(db).effective.count != hint.badge?.count {
            step.options.remove(.badge)
        }
        return step
    }
}
