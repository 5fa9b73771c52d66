package import RepriseCore

/// Decides when the provider token for Apple is renewed: not before 20 minutes, not after 60.
///
/// - SeeAlso: Apple, "Establishing a token-based connection to APNs": "Refresh your token no more
///   than once every 20 minutes and no less than once every 60 minutes."
package struct APNsToken: Sendable {
    private var text: String?
    private var made: Duration = .zero
    private var madeWall = WallTime(milliseconds: 0)
    private var isRefused = false

    package init() {}

    /// The current token, unless it must be renewed.
    ///
    /// A refused one is renewed as soon as the wall clock has been corrected: it had a wrong time,
    /// and Apple has never accepted it.
    package func current(now: Duration, wall: WallTime) -> String? {
        guard let text, now - made < PushLimits.apnsTokenAge else { return nil }
        let moved = madeWall.duration(to: wall) - (now - made)
        return isRefused && abs(moved / .seconds(1)) > 60 ? nil : text
    }

    package mutating func renewed(_ text: String, now: Duration, wall: WallTime) {
        self.text = text
        made = now
        madeWall = wall
        isRefused = false
    }

    /// Reuses another process's token, unless it is due for renewal.
    package mutating func kept(_ text: String, issued: WallTime, now: Duration, wall: WallTime) {
        let age = issued.duration(to: wall)
        // From the future: the wall clock was set back, and Apple would refuse it.
        guard age >= .zero, age < PushLimits.apnsTokenAge else { return }
        self.text = text
        made = now - age
        madeWall = issued
    }

    /// Apple has refused a token.
    ///
    /// - Returns: whether it is the current one.
    package mutating func refused(_ refused: String) -> Bool {
        guard refused == text else { return false }
        isRefused = true
        return true
    }

    /// Apple has reported a token as too old.
    ///
    /// - Returns: whether another exists, or will; if it is too young to be renewed, the clocks
    ///   differ.
    package mutating func expired(_ refused: String, now: Duration) -> Bool {
        guard refused == text else { return true }
        isRefused = true
        guard now - made >= PushLimits.apnsTokenAgeLeast else { return false }
        text = nil
        return true
    }
}
