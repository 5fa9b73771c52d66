import RepriseCore

/// Decides when the token that says who we are to Apple is made anew: no younger than 20 minutes, no older than 60.
///
/// - SeeAlso: Apple, "Establishing a token-based connection to APNs": "Refresh your token no more than once every 20 minutes and no less than
///   once every 60 minutes."
package struct APNsToken: Sendable {
    private var text: String?
    private var made: Duration = .zero

    package init() {}

    /// The token to send, if it need not be made.
    package func current(now: Duration) -> String? {
        guard let text, now - made < PushLimits.apnsTokenAge else { return nil }
        return text
    }

    package mutating func renewed(_ text: String, now: Duration) {
        self.text = text
        made = now
    }

    /// Apple says that a token is too old.
    ///
    /// - Returns: whether there is, or will be, another: if it is too young to be renewed, the clocks must be apart.
    package mutating func expired(_ refused: String, now: Duration) -> Bool {
        guard refused == text else { return true }
        guard now - made >= PushLimits.apnsTokenAgeLeast else { return false }
        text = nil
        return true
    }
}
