/// How many messages a user has not read, and the head at which they were counted.
///
/// A message is unread if its sequence lies in (max(read, joined, floor − 1), head], the user did
/// not publish it, it is not deleted, and it is no edit or deletion. A count of an older head never
/// replaces one of a newer.
public struct Unread: Hashable, Sendable {
    /// The count; at most ``WireLimits/unreadCounted``, which means "that many or more".
    public var count: Int64
    /// The head at which it was counted.
    public var head: Int64
    /// How many of them mention the user in `notice.mentions`; at most
    /// ``WireLimits/unreadCounted``.
    public var mentions: Int64

    /// Makes a count.
    public init(count: Int64, head: Int64, mentions: Int64 = 0) {
        self.count = count
        self.head = head
        self.mentions = mentions
    }

    /// The last sequence before those that can be unread.
    ///
    /// - Parameters:
    ///   - read: the read position; 0 if nothing is read.
    ///   - joined: the head when the user joined; 0 if the user has always been there.
    ///   - floor: the newest sequence that retention has removed.
    /// - Returns: the last sequence that cannot be unread; unread messages have a greater one.
    public static func start(read: Int64, joined: Int64, floor: Int64) -> Int64 {
        max(read, joined, floor)
    }
}
