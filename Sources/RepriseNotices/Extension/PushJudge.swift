package import RepriseCore
import RepriseWire

/// Decides what becomes of a push: pure, on what was read before.
package struct PushJudge: Sendable {
    /// What is shown, and what is written down.
    package struct Judgement: Hashable, Sendable {
        /// What is shown.
        package var content: NotificationContent
        /// What is written down; nil: it is no push of a message of ours.
        package var record: ShownRecord?
    }

    /// What the app has left; nil: nothing that can be read.
    package var mirror: NoticeMirror?
    /// Why not.
    package var withoutMirror: RepriseError.Code?
    /// What the extension has shown since, as far as the app has not taken it over.
    package var records: [ShownRecord]
    /// What the calendar says.
    package var now: WallTime

    package init(
        mirror: NoticeMirror?, withoutMirror: RepriseError.Code? = nil, records: [ShownRecord] = [],
        now: WallTime
    ) {
        self.mirror = mirror
        self.withoutMirror = withoutMirror
        self.records = records
        self.now = now
    }

    /// Decides.
    ///
    /// What it does not understand is shown as it came: a notification that is not hidden by
    /// mistake is worth more than one that is.
    ///
    /// - Parameter request: as the system has it.
    /// - Returns: what is shown. It has the text that it came with, because content without any
    ///   would be ignored.
    package func judge(_ request: NotificationRequest) -> Judgement {
        guard let hint = try? PushHint(payload: request.content.info), hint.kind == .alert,
            let id = hint.id
        else { return Judgement(content: request.content, record: nil) }
        if hint.isForeign(to: mirror?.me.flatMap { try? UserID($0) }) {
            return Judgement(content: hidden(request.content), record: nil)
        }
        let decision = NoticeDecision.decide(notice(hint, id), in: state(hint, id))
        var record = ShownRecord(hint, of: id, at: now)
        record.withoutMirror = mirror == nil ? (withoutMirror?.name ?? "missing") : nil
        record.reason = decision.reason.rawValue
        record.presentation = decision.presentation.rawValue
        record.isUnread = decision.reason.countsAsUnread
        let badge = ExtensionBadge.figure(mirror, records + [record])
        record.badge = badge?.count ?? request.content.badge.map { Int64($0) }
        record.badgeAsOf = badge?.asOf
        return Judgement(
            content: dressed(request.content, decision.presentation, badge), record: record)
    }

    private func notice(_ hint: PushHint, _ id: EntryID) -> Notice {
        Notice(
            id: id, channel: hint.channel, seq: hint.seq, sender: hint.from,
            published: hint.time ?? now, source: .push)
    }

    /// That the extension runs says that the system lets the app show something, and what a person
    /// has switched off the system takes away itself: the settings in the mirror may be those of
    /// yesterday.
    private func state(_ hint: PushHint, _ id: EntryID) -> NoticeState {
        var state = NoticeState(
            me: mirror?.me.flatMap { try? UserID($0) },
            settings: NotificationSettings(authorization: .authorized), now: now)
        if records.contains(where: { $0.id == id.text })
            || mirror?.shown?.contains(id.text) == true
        {
            state.shown = .standing
        }
        guard let mirror else { return state }
        if let standing = mirror.standings[hint.channel.text] {
            state.read = standing.read
            state.before = standing.before
        }
        state.channelMute = mirror.channelMutes[hint.channel.text]?.state ?? .none
        state.senderMute = hint.from.flatMap { mirror.senderMutes[$0.text]?.state } ?? .none
        state.isQuiet = mirror.quietHours?.contains(now) ?? false
        return state
    }

    /// Of a push for who was signed in before nothing is told to who is now; the app takes it away
    /// when it runs.
    private func hidden(_ content: NotificationContent) -> NotificationContent {
        var content = dressed(content, [], nil)
        (content.title, content.subtitle, content.body) = ("", "", "…")
        content.badge = nil
        return content
    }

    /// An extension cannot keep a push from being shown: what nobody should be told of goes into
    /// the list without a sound, until the app takes it away.
    private func dressed(
        _ content: NotificationContent, _ presentation: PresentationOptions,
        _ badge: ExtensionBadge?
    ) -> NotificationContent {
        var content = content
        if !presentation.contains(.sound) { content.sound = false }
        if !presentation.contains(.banner) { content.interruption = .passive }
        if let badge { content.badge = Int(clamping: badge.count) }
        return content
    }
}

extension NoticeMirror {
    /// The quiet hours, if they can be understood.
    var quietHours: QuietHours? {
        guard let quiet, quiet.count == 3 else { return nil }
        return try? QuietHours(from: quiet[0], to: quiet[1], zone: quiet[2])
    }
}

extension NoticeDecision.Reason {
    /// Whether the message is one more that nobody has read.
    var countsAsUnread: Bool {
        switch self {
        case .mine, .deleted, .read, .before: false
        case .onScreen, .shown, .senderMuted, .channelMuted, .notPermitted, .quiet, .late,
            .provisional, .new:
            true
        }
    }
}
