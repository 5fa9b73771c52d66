import GRDB
package import RepriseCore
package import RepriseWire

/// A user's mute.
package struct Mute: Hashable, Sendable {
    package enum Subject: Hashable, Sendable {
        case channel(ChannelName)
        /// All messages of this user, in every channel.
        case user(UserID)
    }

    package var subject: Subject
    /// Its end; nil for ever.
    package var until: WallTime?
    /// Whether messages that mention the user are not muted: by default as
    /// ``Subject/exceptsMentions``.
    package var exceptMentions: Bool

    package init(_ subject: Subject, until: WallTime? = nil, exceptMentions: Bool? = nil) {
        self.subject = subject
        self.until = until
        self.exceptMentions = exceptMentions ?? subject.exceptsMentions
    }
}

extension Mute.Subject {
    /// Whether mentions come through where nobody has said otherwise: those in a muted channel, not
    /// those by a muted user.
    package var exceptsMentions: Bool {
        switch self {
        case .channel: true
        case .user: false
        }
    }

    var columns: (kind: String, name: String) {
        switch self {
        case .channel(let channel): ("channel", channel.text)
        case .user(let user): ("user", user.text)
        }
    }
}

extension Mute {
    init(row: Row) throws {
        let kind: String = try row.checked("kind")
        let until: Int64? = try row.checked("until")
        let excepted: Bool? = try row.checked("excepted")
        self.init(
            kind == "user"
                ? .user(try UserID(row.checked("name")))
                : .channel(try ChannelName(row.checked("name"))),
            until: until.map { WallTime(milliseconds: $0) }, exceptMentions: excepted)
    }
}
