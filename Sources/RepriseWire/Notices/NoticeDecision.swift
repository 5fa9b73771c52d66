public import RepriseCore

/// What a person is shown of a message, and why.
public struct NoticeDecision: Hashable, Sendable {
    /// Why: the first of these that holds, in this order.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// The person published it, on this device or another.
        case mine
        /// It was deleted.
        case deleted
        /// The person has read it, here or on another device.
        case read
        /// It was there before the person joined, or before the channel's log began anew.
        case before
        /// It is on the screen, in the foreground.
        case onScreen
        /// It was shown already, whatever brought it then.
        case shown
        /// The person has put the sender aside.
        case senderMuted
        /// The person has put the channel aside.
        case channelMuted
        /// The system does not let the app show anything.
        case notPermitted
        /// These are hours in which nothing should be heard.
        case quiet
        /// It was caught up, and is no news any more.
        case late
        /// The system lets the app show things quietly alone.
        case provisional
        /// Nothing speaks against it.
        case new
    }

    /// How it is shown; with what the person has switched off in the system's settings taken away.
    public let presentation: PresentationOptions
    /// Why.
    public let reason: Reason
    /// Whether a banner that stands has to go.
    public let removesBanner: Bool
}

extension NoticeDecision {
    /// Decides: the same for the app, the service extension and the server.
    ///
    /// It asks nothing and remembers nothing. `docs/notices/decision.md` has it as a table, which a
    /// test compares with this.
    ///
    /// - Parameters:
    ///   - notice: the message.
    ///   - state: everything else.
    /// - Returns: what is shown, and why.
    public static func decide(_ notice: Notice, in state: NoticeState) -> NoticeDecision {
        let reason = reason(notice, state)
        var presentation = reason.presentation
        if !state.settings.alerts { presentation.subtract([.banner, .list]) }
        if !state.settings.sounds { presentation.remove(.sound) }
        if !state.settings.badges { presentation.remove(.badge) }
        return NoticeDecision(
            presentation: presentation, reason: reason,
            removesBanner: state.shown == .standing && reason.endsBanner)
    }

    private static func reason(_ notice: Notice, _ state: NoticeState) -> Reason {
        if let me = state.me, notice.sender == me { return .mine }
        if notice.isDeleted { return .deleted }
        if notice.seq <= state.read { return .read }
        if notice.seq <= state.before { return .before }
        if state.onScreen == notice.channel { return .onScreen }
        if state.shown != .never { return .shown }
        if state.senderMute.holds(notice, at: state.now) { return .senderMuted }
        if state.channelMute.holds(notice, at: state.now) { return .channelMuted }
        switch state.settings.authorization {
        case .notDetermined, .denied: return .notPermitted
        case .authorized, .provisional: break
        }
        if state.isQuiet { return .quiet }
        if notice.source == .catchUp,
            notice.published.duration(to: state.now) > state.lateAfter
        {
            return .late
        }
        return state.settings.authorization == .provisional ? .provisional : .new
    }
}

extension NoticeDecision.Reason {
    /// How a message is shown for this reason, if the system's settings allow all of it.
    var presentation: PresentationOptions {
        switch self {
        case .mine, .deleted, .read, .before, .onScreen, .senderMuted, .channelMuted,
            .notPermitted:
            []
        case .shown: [.badge]
        case .quiet, .late, .provisional: [.list, .badge]
        case .new: [.banner, .list, .sound, .badge]
        }
    }

    /// Whether a banner of the message that stands must not stand any longer.
    var endsBanner: Bool {
        switch self {
        case .mine, .deleted, .read, .before, .onScreen, .senderMuted, .channelMuted: true
        case .shown, .notPermitted, .quiet, .late, .provisional, .new: false
        }
    }
}

extension NoticeState.Mute {
    fileprivate func holds(_ notice: Notice, at now: WallTime) -> Bool {
        switch self {
        case .none: false
        case .until(let end, let exceptMentions):
            now < end && !(exceptMentions && notice.isMention)
        }
    }
}
