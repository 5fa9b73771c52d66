package import RepriseCore
package import RepriseWire

/// The person's settings, as far as decisions need them.
package struct NoticePreferences: Sendable {
    package var channelMute: @Sendable (ChannelName) -> NoticeState.Mute = { _ in .none }
    package var senderMute: @Sendable (UserID) -> NoticeState.Mute = { _ in .none }
    package var isQuiet: @Sendable (WallTime) -> Bool = { _ in false }
    /// Whether nothing rings while the person is active on another device.
    package var isSilentElsewhere = false

    /// Writes the settings into the mirror, for the extension.
    package var mirror: @Sendable (inout NoticeMirror) -> Void = { _ in }

    package init() {}
}
