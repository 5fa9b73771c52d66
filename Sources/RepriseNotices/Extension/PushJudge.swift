package import RepriseCore
package import RepriseWire

/// Decides how a push is shown: a pure function of its inputs.
package struct PushJudge: Sendable {
    /// The content to show, and the record.
    package struct Judgement: Hashable, Sendable {
        /// The content to show.
        package var content: NotificationContent
        /// The record; nil: not a push of our messages.
        package var record: ShownRecord?
    }

    /// The app's mirror; nil: none is readable.
    package var mirror: NoticeMirror?
    /// Why not.
    package var withoutMirror: RepriseError.Code?
    /// The signed-in user, where the mirror does not say; nil: not known either.
    package var user: UserID?
    /// The extension's records that the app has not merged yet.
    package var records: [ShownRecord]
    /// The wall clock.
    package var now: WallTime

    package init(
        mirror: NoticeMirror?, withoutMirror: RepriseError.Code? = nil, user: UserID? = nil,
        records: [ShownRecord] = [], now: WallTime
    ) {
        self.mirror = mirror
        self.withoutMirror = withoutMirror
        self.user = user
        self.records = records
        self.now = now
    }

    /// Decides.
    ///
    /// An unknown push is shown unchanged: a notification must not be hidden by mistake.
    ///
    /// - Parameter request: the system's request.
    /// - Returns: the content to show. It keeps its text, because content without any would be
    ///   ignored.
    package func judge(_ request: NotificationRequest) -> Judgement {
        guard let hint = try? PushHint(payload: request.content.info), hint.kind == .alert,
            let id = hint.id
        else { return Judgement(content: request.content, record: nil) }
        if hint.isForeign(to: me) {
            return Judgement(content: Self.hidden(request.content), record: nil)
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
        var content = Self.dressed(request.content, decision.presentation, badge)
        content.conversation = hint.conversation
        return Judgement(content: content, record: record)
    }

    /// Decides while nobody is signed in: a push that names its user is for a former one.
    ///
    /// - Returns: the content to show; unchanged on a server without users, and of an unknown push.
    package static func contentForNobody(_ content: NotificationContent) -> NotificationContent {
        guard let hint = try? PushHint(payload: content.info), hint.to != nil else {
            return content
        }
        return hidden(content)
    }

    private var me: UserID? { mirror?.me.flatMap { try? UserID($0) } ?? user }

    private func notice(_ hint: PushHint, _ id: EntryID) -> Notice {
        Notice(
            id: id, channel: hint.channel, seq: hint.seq, sender: hint.from,
            isMention: hint.isMention, published: hint.time ?? now, source: .push)
    }

    /// The extension only runs if the system may show something, and the system applies current
    /// settings itself: those in the mirror may be old.
    private func state(_ hint: PushHint, _ id: EntryID) -> NoticeState {
        var state = NoticeState(
            me: me, settings: NotificationSettings(authorization: .authorized), now: now)
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

    /// Hides the content of a push for the former user; the app removes it when it runs.
    private static func hidden(_ content: NotificationContent) -> NotificationContent {
        var content = dressed(content, [], nil)
        (content.title, content.subtitle, content.body) = ("", "", "…")
        content.badge = nil
        return content
    }

    /// An extension cannot suppress a push: a silenced one is listed without a sound, until the app
    /// removes it.
    private static func dressed(
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
    /// Whether the message adds to the unread count.
    var countsAsUnread: Bool {
        switch self {
        case .mine, .deleted, .read, .before: false
        case .onScreen, .shown, .senderMuted, .channelMuted, .notPermitted, .quiet, .late,
            .provisional, .new:
            true
        }
    }
}
