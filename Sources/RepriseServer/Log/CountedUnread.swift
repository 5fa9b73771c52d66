import RepriseCore
import RepriseWire

/// A cache of unread counts in long channels, which saves scanning the same messages again.
///
/// It may be dropped at any time.
struct CountedUnread: Sendable {
    /// The number of unread messages in a range.
    struct Count: Hashable, Sendable {
        var after: Int64
        var through: Int64
        var count: Int64
        /// Whether it holds for any earlier start too, because the count is at its limit.
        var isMost = false
    }

    /// A user's unread messages in a channel.
    struct Answer: Sendable {
        var unread: Unread
        /// To be cached; nil if a full count is cheap.
        var count: Count?
    }

    /// The count from which it is cached.
    static let worthKnowing: Int64 = 1_024
    /// The most counts cached before the older half may be forgotten.
    static let limit = 4_096

    private struct Key: Hashable {
        let user: UserID
        let channel: ChannelName

        init(_ question: UnreadQuestion) {
            user = question.user
            channel = question.channel
        }
    }

    private var newer: [Key: Count] = [:]
    private var older: [Key: Count] = [:]

    subscript(question: UnreadQuestion) -> Count? {
        get {
            let key = Key(question)
            return newer[key] ?? older[key]
        }
        set {
            if newer.count >= Self.limit {
                older = newer
                newer = [:]
            }
            newer[Key(question)] = newValue
        }
    }
}
