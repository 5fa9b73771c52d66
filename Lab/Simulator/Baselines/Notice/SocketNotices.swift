/// `case-badge-banner` transcribed: a message that comes over the socket triggers a local
/// notification.
///
/// Line numbers are those of `seeds/004`. Kinder than the case study, which says nothing of it: a
/// message is stored before it is shown, and the catch-up is exact, so that no message is lost and
/// none shown twice. What the case study stands for is that the person is *told*. (Its "before"
/// column, 186–192, is no algorithm: there were no notices.)
package struct SocketNotices {
    package enum Action: Hashable, Sendable {
        case store(message: Int)
        /// "Trigger local notification → Banner appears!" (101–102).
        case banner(message: Int)
        /// "Shows total unread messages" (10).
        case badge(Int)
    }

    private var stored: Set<Int> = []
    private var unread = 0

    /// - Parameters:
    ///   - stored: what the app's database holds.
    ///   - unread: how many of them have not been read.
    package init(stored: some Sequence<Int>, unread: Int) {
        self.stored = Set(stored)
        self.unread = unread
    }

    /// "WebSocket delivers message" (100), in the foreground and in the background alike (50–63).
    package mutating func messageReceived(_ message: Int) -> [Action] {
        guard stored.insert(message).inserted else { return [] }
        unread += 1
        return [.store(message: message), .banner(message: message), .badge(unread)]
    }

    /// What waited in the database comes when the app opens (106–107): no banner, "badge updates"
    /// (122).
    package mutating func caughtUp(_ messages: [Int]) -> [Action] {
        let new = messages.filter { stored.insert($0).inserted }
        unread += new.count
        return new.isEmpty ? [] : new.map { .store(message: $0) } + [.badge(unread)]
    }
}
