package import RepriseCore
package import RepriseWire

/// What the person has set, as far as decisions need it.
package struct NoticePreferences: Sendable {
    package var channelMute: @Sendable (ChannelName) -> NoticeState.Mute = { _ in .none }
    package var senderMute: @Sendable (UserID) -> NoticeState.Mute = { _ in .none }
    package var isQuiet: @Sendable (WallTime) -> Bool = { _ in false }

    /// Puts what is set into the mirror, for the extension.
    package var mirror: @Sendable (inout NoticeMirror) -> Void = { _ in }

    package init() {}
}
