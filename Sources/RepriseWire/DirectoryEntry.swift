import Crypto

extension ChannelName {
    private static let directoryPrefix = "directory:"
    private static let directPrefix = "direct:"

    /// The channel in which a user's conversations are told.
    ///
    /// By a hash, because not every user's name is one of a channel.
    package static func directory(of user: UserID) -> ChannelName {
        ChannelName(unchecked: directoryPrefix + digits(of: user.text))
    }

    /// Whether it is a directory: the channel in which the server tells a user's conversations.
    ///
    /// Its owner alone reads it, and nobody publishes there. `welcome` names it.
    package var isDirectory: Bool { text.utf8.starts(with: Self.directoryPrefix.utf8) }

    /// The one conversation of two users alone, the same for both.
    package static func direct(_ one: UserID, _ other: UserID) -> ChannelName {
        // No name has a space.
        let names = [one, other].map(\.text).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        return ChannelName(unchecked: directPrefix + digits(of: names.joined(separator: " ")))
    }

    /// Whether it is a conversation of two users alone.
    package var isDirect: Bool { text.utf8.starts(with: Self.directPrefix.utf8) }

    private static func digits(of text: String) -> String {
        SHA256.hash(data: Array(text.utf8)).prefix(16)
            .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// The body of a message in a directory: what a channel is to the directory's user from now on.
///
/// The newest entry of a channel counts; each tells all of it, so earlier ones are never needed.
/// Between ``Marker/begin`` and ``Marker/end`` every conversation is told: one that is not has
/// ended. A reader ignores entries, markers and fields that it does not know.
///
/// ```
/// {"conversation":"team","role":"owner","joined":12,"since":1765869151000,"visibility":"private",
///  "title":"Team","members":2,"others":["ben"],"muted":true}
/// {"conversation":"team","left":true}
/// {"list":"begin"}
/// ```
package struct DirectoryEntry: Hashable, Sendable, Codable {
    package enum Marker: String, Codable, Sendable {
        case begin, end
    }

    /// Begins or ends a whole list; then the other fields are nil.
    package var list: Marker?
    /// The channel's name.
    package var conversation: String?
    /// The user is no member any more; then the other fields are nil.
    package var left: Bool?
    package var role: String?
    /// The channel's head when the user joined.
    package var joined: Int64?
    /// When the user joined: milliseconds since 1970.
    package var since: Int64?
    package var visibility: String?
    package var title: String?
    /// The number of members.
    package var members: Int64?
    /// The other members by name; nil in a channel with more than 50.
    package var others: [String]?
    /// The profiles of those of them who have one, by user.
    package var profiles: [String: Profile]?
    /// Whether the user has muted the channel.
    package var muted: Bool?
    /// When the mute ends: milliseconds since 1970; nil: never.
    package var mutedUntil: Int64?
    /// When the user has archived the channel: milliseconds since 1970; nil: not.
    package var archived: Int64?

    package init(_ list: Marker) { self.list = list }

    package init(conversation: ChannelName) { self.conversation = conversation.text }
}
