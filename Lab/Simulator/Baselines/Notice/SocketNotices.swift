/// `case-badge-banner` transcribed: a message that comes over the socket triggers a local
/// notification.
///
/// Quotes are the case study's. Kinder than it, which says nothing of this: a message is stored
/// before it is shown, and the catch-up is exact, so that no message is lost and none shown twice.
/// The case study is about the person being *told*. (Its "before" column is no algorithm: there
/// were no notices.)
package struct SocketNotices {
    package enum Action: Hashable, Sendable {
        case store(message: Int)
        /// "Trigger local notification → Banner appears!".
        case banner(message: Int)
        /// "Shows total unread messages".
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

    /// "WebSocket delivers message", in the foreground and in the background alike.
    package mutating func messageReceived(_ message: Int) -> [Action] {
        guard stored.insert(message).inserted else { return [] }
        unread += 1
        return [.store(message: message), .banner(message: message), .badge(unread)]
    }

    /// What waited in the database comes when the app opens: no banner, "badge updates".
    package mutating func caughtUp(_ messages: [Int]) -> [Action] {
        let new = messages.filter { stored.insert($0).inserted }
        unread += new.count
        return new.isEmpty ? [] : new.map { .store(message: $0) } + [.badge(unread)]
    }
}
