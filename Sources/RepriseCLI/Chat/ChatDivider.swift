import RepriseChannels
import RepriseWire

/// Decides the place of the line *new*: after the read messages when the first unread one came, and
/// it stays there.
///
/// It does not follow the unread count, which is updated apart from the list and by the user's
/// other devices. After the person has read, by a key or on another device, the next unread message
/// moves it; until then it stays, also when all is read. Sending a message removes it.
struct ChatDivider: Hashable, Sendable {
    /// The sequence before it; nil: hidden.
    private var place: Int64?
    private var isRead = true

    /// Updates it after a change of the unread messages.
    ///
    /// - Returns: its new place.
    mutating func moved(by start: UnreadStart) -> Int64? {
        if start.unread.count == 0 {
            isRead = true
        } else if isRead && place.map({ start.after != $0 }) ?? true && start.isKnown
            || place.map({ start.after < $0 }) ?? false
        {
            // A position before the former one is of another log.
            place = start.after
            isRead = false
        }
        return place
    }

    /// The person is present: the messages on the screen are read.
    mutating func attended() { isRead = true }

    mutating func spoken() {
        place = nil
        isRead = true
    }
}
