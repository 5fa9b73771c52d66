/// Decides when a set of keys that others keep is asked for:
/// `empty ⇄ fetching → holding ⇄ fetching`.
///
/// Whoever sends tokens chooses the names in them, so an unknown name is no reason to ask more
/// often than every ``AccessLimits/betweenFetches``. A fetch that fails changes nothing: the keys
/// that were good stay.
package struct KeyFetchMachine: Sendable {
    package enum Answer: Sendable {
        case found(SigningKey)
        /// The set is known and has no such key.
        case notFound
        /// Wait for the fetch that is under way, and ask again.
        case wait
        /// Begin one, wait for it, and ask again.
        case fetch
        /// There are no keys, and it is too early to ask again.
        case unavailable
    }

    private var keys: KeySet?
    private var began: Duration?
    private var fetched: Duration?
    private var isFetching = false

    package init() {}

    /// Looks for the key of a token.
    ///
    /// - Parameters:
    ///   - header: what the token says.
    ///   - hasWaited: whether this token has caused or awaited a fetch; one is all it gets.
    ///   - now: the uptime.
    /// - Returns: what to do.
    package func asked(for header: TokenHeader, hasWaited: Bool, now: Duration) -> Answer {
        if let key = keys?.key(for: header) { return .found(key) }
        if hasWaited { return keys == nil ? .unavailable : .notFound }
        if isFetching { return .wait }
        if mayFetch(now) { return .fetch }
        return keys == nil ? .unavailable : .notFound
    }

    /// Whether the keys are so old that they are to be fetched in the background.
    package func isStale(now: Duration) -> Bool {
        guard !isFetching, let fetched, mayFetch(now) else { return false }
        return now - fetched >= AccessLimits.keysStay
    }

    package mutating func fetchBegan(now: Duration) {
        isFetching = true
        began = now
    }

    /// A fetch has ended, with keys or without.
    package mutating func fetchEnded(_ fresh: KeySet?, now: Duration) {
        isFetching = false
        guard let fresh else { return }
        keys = fresh
        fetched = now
    }

    private func mayFetch(_ now: Duration) -> Bool {
        guard let began else { return true }
        let pause =
            keys == nil ? AccessLimits.betweenFirstFetches : AccessLimits.betweenFetches
        return now - began >= pause
    }
}
