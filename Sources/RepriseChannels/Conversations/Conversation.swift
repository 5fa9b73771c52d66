public import RepriseCore
public import RepriseWire

/// A channel of which the user is a member, as a list of conversations shows it.
///
/// ```swift
/// for await conversations in client.conversations(newest: 50) { show(conversations) }
/// ```
public struct Conversation: Identifiable, Hashable, Sendable {
    /// What a member may do.
    public enum Role: String, Hashable, Sendable {
        /// Manages members and settings, and may delete others' messages.
        case owner
        case member
    }

    /// The channel that has its messages.
    public let channel: ChannelName
    /// Its title; nil: none was given.
    public let title: String?
    /// What the user may do there.
    public let role: Role
    /// When the user became a member.
    public let since: WallTime
    /// The number of members, this user included.
    public let memberCount: Int
    /// The other members, by name; nil if there are more than 50 members.
    public let others: [UserID]?
    /// Whether the user has muted it; a mute ends by itself at ``mutedUntil``.
    public let isMuted: Bool
    /// When the mute ends; nil: never, or not muted.
    public let mutedUntil: WallTime?
    /// The newest message on this device, also one that was not sent yet.
    public let last: ChannelMessage?
    /// The user's unread messages, at most 10,000, which means so many or more.
    public let unread: Int
    /// How many of them mention the user in `notice.mentions`.
    public let mentions: Int
    /// Whether the user has begun it on this device, and the server does not know it yet.
    public let isPending: Bool
    /// What the others are called, of those who have said so.
    public let profiles: [UserID: Profile]
    /// Whether the user has archived it: until its next message, or for as long as it is muted.
    public let isArchived: Bool
    /// What the user has begun to write on this device; nil: nothing.
    public let draft: String?

    /// What to call it: its title, else the others' names, else the channel's name.
    public var displayName: String {
        if let title, !title.isEmpty { return title }
        let names = (others ?? []).map { profiles[$0]?.name ?? $0.text }
        return names.isEmpty ? id : names.joined(separator: ", ")
    }

    /// Whether it is the one of two users alone.
    public var isDirect: Bool { channel.isDirect }

    /// The channel's name.
    public var id: String { channel.text }

    /// When the newest message was stored; without one, when the user became a member.
    public var activity: WallTime { last?.time ?? since }
}

/// The limits of conversations; `docs/limits/device.md` lists each with its effect.
package enum ConversationLimits {
    /// The most conversations whose channels are followed by themselves.
    ///
    /// The rest of a connection's 1,000 channels is the app's.
    package static let followed = 900
    /// The most conversations that a device keeps.
    package static let kept = 20_000
    /// The most conversations of a list.
    package static let listed = 1_000
    /// The most bytes of a title.
    package static let titleBytes = 256
    /// The most bytes of a draft.
    package static let draftBytes = 16_384
    /// The most drafts of a device.
    package static let drafts = 1_000
    /// The pauses of a message whose channel is being made.
    package static let beingMade = Backoff(base: .milliseconds(200), longest: .seconds(5))
    /// How often, and in what pauses, it is looked whether the directory is read: for two seconds.
    package static let looks = 40
    package static let look = Duration.milliseconds(50)
    /// The pause after a failure of the disk.
    package static let retry = Duration.seconds(1)
    /// The most members that an entry names.
    package static let named = 50

    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge`, `.malformed`.
    package static func check(title: String?) throws {
        guard (title?.utf8.count ?? 0) <= titleBytes else {
            throw RepriseError(
                .tooLarge, "A title has at most \(titleBytes) bytes.", remedy: "Shorten it.")
        }
        guard title.map(PushText.isLine) ?? true else {
            throw RepriseError(
                .malformed,
                "A title is one line, without controls and changes of the text's direction.")
        }
    }
}
