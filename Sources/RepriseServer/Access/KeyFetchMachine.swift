/// Decides when a remote key set is fetched: `empty ⇄ fetching → holding ⇄ fetching`.
///
/// Senders of tokens choose the key names in them, so an unknown name causes at most one fetch per
/// ``AccessLimits/betweenFetches``. A failed fetch changes nothing: the known keys stay valid.
package struct KeyFetchMachine: Sendable {
    package enum Answer: Sendable {
        case found(SigningKey)
        /// The set is known and has no such key.
        case notFound
        /// Wait for the fetch in flight, then look up again.
        case wait
        /// Start a fetch, wait for it, then look up again.
        case fetch
        /// No keys are known, and it is too early to fetch again.
        case unavailable
    }

    private var keys: KeySet?
    private var began: Duration?
    private var fetched: Duration?
    private var isFetching = false

    package init() {}

    /// Looks up the key of a token.
    ///
    /// - Parameters:
    ///   - header: the token's header.
    ///   - hasWaited: whether this token has already caused or awaited a fetch; it gets one.
    ///   - now: the uptime.
    /// - Returns: the action to take.
    package func asked(for header: TokenHeader, hasWaited: Bool, now: Duration) -> Answer {
        if let key = keys?.key(for: header) { return .found(key) }
        if hasWaited { return keys == nil ? .unavailable : .notFound }
        if isFetching { return .wait }
        if mayFetch(now) { return .fetch }
        return keys == nil ? .unavailable : .notFound
    }

    /// Whether the keys are so old that they should be fetched in the background.
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
