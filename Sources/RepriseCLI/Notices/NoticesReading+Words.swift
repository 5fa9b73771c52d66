import RepriseCore
import RepriseNotices

extension NoticesReading.Decided {
    /// Why it was decided so, and the sequel, as `notices` and `trace` print it.
    ///
    /// - Parameter isTapped: whether a tap on its notification is recorded.
    /// - Returns: such as `by live: new, then read`.
    func words(isTapped: Bool = false) -> String {
        var text = "by \(way): \(reason)"
        if reason == NoticeMachine.foundReason { text += " (the system had shown it)" }
        // A notification that was not shown cannot be tapped.
        if isTapped || ended == "open" || ended == "dismiss",
            presentation.isDisjoint(with: [.banner, .list])
        {
            text += ", shown by a push all the same"
        }
        switch ended {
        case nil: break
        case "open": text += ", then tapped"
        case "dismiss": text += ", then put away"
        case let why?: text += ", then \(why)"
        }
        if alerts > 1 { text += ", \(alerts) alerts" }
        if unconfirmed > 0 { text += ", \(unconfirmed) unconfirmed" }
        return text
    }
}
