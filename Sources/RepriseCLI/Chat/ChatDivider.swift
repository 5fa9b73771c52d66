import RepriseChannels
import RepriseWire

/// Decides where the line *new* stands: it is put behind what was read when the first unread
/// message came, and stays there.
///
/// It does not follow the count, which comes beside the list and not with it, and which others of
/// the user's devices change. Once the person has read, by a key or on another device, the next
/// unread message moves it; until then it stays, also when all is read. Saying something takes it
/// away.
struct ChatDivider: Hashable, Sendable {
    /// It stands behind this sequence; nil: there is none.
    private var place: Int64?
    private var isRead = true

    /// What is unread has changed.
    ///
    /// - Returns: where it stands now.
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

    /// A person was there: what is on the screen is read.
    mutating func attended() { isRead = true }

    mutating func spoken() {
        place = nil
        isRead = true
    }
}
