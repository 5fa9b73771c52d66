public import RepriseChannels
import RepriseCore
public import RepriseWire

/// The user's conversations: every channel of which the user is a member.
///
/// ```swift
/// for await list in client.conversations.newest(50) { show(list) }
///
/// let team = try await client.conversations.make(title: "Team", with: ["ben", "eve"])
/// let ben = try await client.conversations.direct(with: "ben")
/// try await client.channel(ben, of: Note.self).publish(Note(text: "hello"))
/// ```
///
/// One that somebody else begins appears by itself, and is followed; see
/// `Channels.Configuration.followsConversations`. Every change is durable when its function returns
/// and shows in the list at once; the server does it when it can be reached. One that the server
/// refuses is a dead letter of ``RepriseClient/journal``, and the list is as before.
public struct Conversations: Sendable {
    let client: RepriseClient

    /// Those with the newest messages, newest first: the current list, then one after each change,
    /// over every account.
    ///
    /// A list is read only on demand: a slow consumer gets the newest, and skips those between.
    ///
    /// - Parameter count: the most conversations, 1 to 1,000.
    /// - Returns: the lists.
    public func newest(_ count: Int = 100) -> AsyncStream<[Conversation]> {
        client.follow { $0.channels.observeConversations(newest: count) }
    }

    /// The archived ones, which ``newest(_:)`` leaves out, in the same way.
    ///
    /// - Parameter count: the most conversations, 1 to 1,000.
    /// - Returns: the lists.
    public func archived(_ count: Int = 100) -> AsyncStream<[Conversation]> {
        client.follow { $0.channels.observeConversations(newest: count, isArchived: true) }
    }

    /// Makes a private channel, of which the user is the owner and others are members.
    ///
    /// Messages may be published to it at once: they follow when the server has made it. One that
    /// the user owns already keeps its settings, and gets the members.
    ///
    /// - Parameters:
    ///   - name: the channel's; nil: a random one.
    ///   - title: one line of at most 256 bytes; nil: none.
    ///   - users: the other members.
    /// - Returns: the channel's name.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` without
    ///   `configuration.transport`, `.unauthorized` if nobody is signed in, `.badChannelName`,
    ///   `.malformed`, `.tooLarge`, `.full`, and the journal's errors.
    @discardableResult
    public func make(
        _ name: String? = nil, title: String? = nil, with users: [String] = []
    ) async throws -> String {
        let channel = try ChannelName(name ?? EntryID.random().text)
        try await record(
            ConversationChange(
                .make, channel, title: title, users: try users.map { try UserID($0) }))
        return channel.text
    }

    /// Finds or makes the one conversation with another user: both of them, on however many
    /// devices, get the same.
    ///
    /// - Parameter user: the other.
    /// - Returns: the channel's name.
    /// - Throws: as ``make(_:title:with:)``; `.malformed` for the user's own name, too.
    @discardableResult
    public func direct(with user: String) async throws -> String {
        let other = try UserID(user)
        let account = try await account()
        guard let me = account.channels.identity?.user else { throw Self.nobody }
        guard other != me else {
            throw RepriseError(
                .malformed, "A conversation of two has another user.",
                remedy: "Name somebody else.")
        }
        let channel = ChannelName.direct(me, other)
        _ = try await account.channels.record(
            ConversationChange(.direct, channel, users: [other]))
        return channel.text
    }

    /// Makes the user a member of a public channel.
    ///
    /// - Throws: as ``make(_:title:with:)``.
    public func join(_ channel: String) async throws {
        try await record(ConversationChange(.join, try ChannelName(channel)))
    }

    /// Ends the user's membership.
    ///
    /// - Throws: as ``make(_:title:with:)``.
    public func leave(_ channel: String) async throws {
        try await record(ConversationChange(.leave, try ChannelName(channel)))
    }

    /// Makes another user a member; its owners may.
    ///
    /// - Throws: as ``make(_:title:with:)``.
    public func invite(_ user: String, to channel: String) async throws {
        try await record(
            ConversationChange(.invite, try ChannelName(channel), users: [try UserID(user)]))
    }

    /// Ends another user's membership; its owners may.
    ///
    /// - Throws: as ``make(_:title:with:)``.
    public func remove(_ user: String, from channel: String) async throws {
        try await record(
            ConversationChange(.remove, try ChannelName(channel), users: [try UserID(user)]))
    }

    /// Gives a channel another title; its owners may.
    ///
    /// - Parameters:
    ///   - channel: the channel.
    ///   - title: one line of at most 256 bytes; nil: none.
    /// - Throws: as ``make(_:title:with:)``.
    public func rename(_ channel: String, to title: String?) async throws {
        try await record(ConversationChange(.rename, try ChannelName(channel), title: title))
    }

    /// Moves a conversation from ``newest(_:)`` to ``archived(_:)``, on all of the user's devices.
    ///
    /// Its next message brings it back, unless it is muted.
    ///
    /// - Throws: as ``make(_:title:with:)``.
    public func archive(_ channel: String) async throws {
        try await record(ConversationChange(.archive, try ChannelName(channel)))
    }

    /// Moves it back.
    ///
    /// - Throws: as ``make(_:title:with:)``.
    public func unarchive(_ channel: String) async throws {
        try await record(ConversationChange(.unarchive, try ChannelName(channel)))
    }

    /// Keeps what the user has begun to write, for ``RepriseChannels/Conversation/draft``: on this
    /// device alone, until the app removes it, or the user has left the conversation from here.
    ///
    /// It stays where a conversation is gone for another reason, or the server refuses to begin it,
    /// and is there when the conversation is; unless that refusal is discarded, or its place is
    /// needed.
    ///
    /// - Parameters:
    ///   - text: at most 16,384 bytes; nil or empty: nothing.
    ///   - channel: the conversation's.
    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge`, `.badChannelName`; `.noSuchEntry` if
    ///   this device knows no such conversation; `.full` beyond 1,000 drafts; the journal's errors.
    public func setDraft(_ text: String?, in channel: String) async throws {
        try await client.accounts.opened().current.channels.setDraft(text, in: channel)
    }

    /// Says what the user is called; those with whom the user shares a channel see it.
    ///
    /// - Parameter profile: all of it; an empty one removes it.
    /// - Throws: as ``make(_:title:with:)``; `.malformed` for a name of several lines, and for a
    ///   picture without an `https` address.
    public func setProfile(_ profile: Profile) async throws {
        try profile.validate()
        guard let me = try await account().channels.identity?.user else { throw Self.nobody }
        var change = ConversationChange(.profile, .directory(of: me))
        change.profile = profile
        try await record(change)
    }

    /// Hides from all others whether the user is there, and was; or shows it again.
    ///
    /// It counts for all of the user's devices. Others see him as offline. A server that does not
    /// tell presence refuses it: a dead letter.
    ///
    /// - Throws: as ``make(_:title:with:)``.
    public func hidePresence(_ isHidden: Bool) async throws {
        guard let me = try await account().channels.identity?.user else { throw Self.nobody }
        var change = ConversationChange(.presence, .directory(of: me))
        change.isHidden = isHidden
        try await record(change)
    }

    private func record(_ change: ConversationChange) async throws {
        try ConversationLimits.check(title: change.title)
        let account = try await account()
        guard account.channels.identity != nil else { throw Self.nobody }
        _ = try await account.channels.record(change)
    }

    private func account() async throws -> AccountClient {
        guard client.configuration.transport != nil else {
            throw RepriseError(
                .badConfiguration, "Nothing performs HTTP requests.",
                remedy: "Write configuration.transport = NIOTransport().")
        }
        return try await client.accounts.opened().current
    }

    private static let nobody = RepriseError(
        .unauthorized, "Nobody is signed in.", remedy: "Call signIn(_:token:) first.")
}

extension RepriseClient {
    /// The user's conversations, and their changes.
    public var conversations: Conversations { Conversations(client: self) }
}
