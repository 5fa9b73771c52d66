package import RepriseCore

/// Decides when the token that says who we are to Apple is made anew: no younger than 20 minutes,
/// no older than 60.
///
/// - SeeAlso: Apple, "Establishing a token-based connection to APNs": "Refresh your token no more
///   than once every 20 minutes and no less than once every 60 minutes."
package struct APNsToken: Sendable {
    private var text: String?
    private var made: Duration = .zero
    private var madeWall = WallTime(milliseconds: 0)
    private var isRefused = false

    package init() {}

    /// The token to send, if it need not be made.
    ///
    /// One that was refused is made anew as soon as the calendar has been put right: it said a
    /// wrong time, and Apple has never taken it.
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

    /// A token that another process has made, if it is of an age at which it would not be made
    /// anew.
    package mutating func kept(_ text: String, issued: WallTime, now: Duration, wall: WallTime) {
        let age = issued.duration(to: wall)
        // From the future: the calendar was put back, and Apple would not take it.
        guard age >= .zero, age < PushLimits.apnsTokenAge else { return }
        self.text = text
        made = now - age
        madeWall = issued
    }

    /// Apple does not take a token.
    ///
    /// - Returns: whether it is the one in use.
    package mutating func refused(_ refused: String) -> Bool {
        guard refused == text else { return false }
        isRefused = true
        return true
    }

    /// Apple says that a token is too old.
    ///
    /// - Returns: whether there is, or will be, another: if it is too young to be renewed, the
    ///   clocks must be apart.
    package mutating func expired(_ refused: String, now: Duration) -> Bool {
        guard refused == text else { return true }
        isRefused = true
        guard now - made >= PushLimits.apnsTokenAgeLeast else { return false }
        text = nil
        return true
    }
}
