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

    package init(_ subject: Subject, until: WallTime? = nil) {
        self.subject = subject
        self.until = until
    }
}

extension Mute.Subject {
    var columns: (kind: String, name: String) {
        switch self {
        case .channel(let channel): ("channel", channel.text)
        case .user(let user): ("user", user.text)
        }
    }
}

extension Mute {
    init(row: Row) throws {
        let kind: String = row["kind"]
        let until: Int64? = row["until"]
        self.init(
            kind == "user"
                ? .user(try UserID(row["name"])) : .channel(try ChannelName(row["name"])),
            until: until.map { WallTime(milliseconds: $0) })
    }
}
