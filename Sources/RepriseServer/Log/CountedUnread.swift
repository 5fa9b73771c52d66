import RepriseCore
import RepriseWire

/// What was counted unread in long channels, so that asking again does not look at the same
/// messages again.
///
/// It may be forgotten at any time.
struct CountedUnread: Sendable {
    /// How many unread messages lie in a range.
    struct Count: Hashable, Sendable {
        var after: Int64
        var through: Int64
        var count: Int64
        /// Whether it stands for any earlier start, too, because no more are counted.
        var isMost = false
    }

    /// From so many messages on a count is remembered.
    static let worthKnowing: Int64 = 1_024
    /// How many are remembered before the older half may be forgotten.
    private static let limit = 4_096

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
