public import RepriseCore

/// How a message is shown, and why.
public struct NoticeDecision: Hashable, Sendable {
    /// The reason: the first of these that holds, in this order.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// The user published it, on this device or another.
        case mine
        /// It was deleted.
        case deleted
        /// The user has read it, here or on another device.
        case read
        /// It is older than the user's membership, or than the channel's current log.
        case before
        /// It is visible, in the foreground.
        case onScreen
        /// It was already shown, whatever its path then.
        case shown
        /// The user has muted the sender.
        case senderMuted
        /// The user has muted the channel.
        case channelMuted
        /// The system does not allow the app to show notifications.
        case notPermitted
        /// Quiet hours, or the user is active on another device and wants no sound then.
        case quiet
        /// It arrived in a catch-up, and is no longer news.
        case late
        /// The system allows quiet delivery only.
        case provisional
        /// No reason against a banner.
        case new
    }

    /// How it is shown, without the options that the person has switched off in the system's
    /// settings.
    public let presentation: PresentationOptions
    /// The reason.
    public let reason: Reason
    /// Whether a delivered banner has to be removed.
    public let removesBanner: Bool
}

extension NoticeDecision {
    /// Decides: the same for the app, the service extension and the server.
    ///
    /// It is a pure function. `docs/notices/decision.md` has it as a table, which a test compares
    /// with this.
    ///
    /// - Parameters:
    ///   - notice: the message.
    ///   - state: all other inputs.
    /// - Returns: how it is shown, and why.
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
        let isMuted = { (mute: NoticeState.Mute) in
            mute.holds(isMention: notice.isMention, at: state.now)
        }
        if isMuted(state.senderMute) { return .senderMuted }
        if isMuted(state.channelMute) { return .channelMuted }
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
    /// How a message is shown for this reason, if the system's settings allow all options.
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

    /// Whether a delivered banner of the message must be removed.
    var endsBanner: Bool {
        switch self {
        case .mine, .deleted, .read, .before, .onScreen, .senderMuted, .channelMuted: true
        case .shown, .notPermitted, .quiet, .late, .provisional, .new: false
        }
    }
}

extension NoticeState.Mute {
    /// Whether it silences a message, on a device and at the server alike.
    package func holds(isMention: Bool, at now: WallTime) -> Bool {
        switch self {
        case .none: false
        case .until(let end, let exceptMentions): now < end && !(exceptMentions && isMention)
        }
    }
}
