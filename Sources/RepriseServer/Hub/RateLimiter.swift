package import RepriseWire
import Synchronization

/// The publish rate limit of each user over all transports: one object for WebSocket and HTTP.
///
/// ```swift
/// if let wait = limiter.take(of: user, now: clock.uptime()) {
///     refuse(.rateLimited, retryAfter: wait)
/// }
/// ```
package final class RateLimiter: Sendable {
    private let buckets: Mutex<Buckets>

    package init(_ rate: TokenBucket.Rate) { buckets = Mutex(Buckets(rate)) }

    /// Takes a token for the publisher; admins and unauthenticated publishers are not limited.
    ///
    /// - Returns: nil to proceed; otherwise how long to wait.
    package func wait(for who: Principal, now: Duration) -> Duration? {
        guard let user = who.user, !who.isAdmin else { return nil }
        return take(of: user, now: now)
    }

    /// Takes a token for the user.
    ///
    /// - Returns: nil to proceed; otherwise how long to wait.
    package func take(of user: UserID, now: Duration) -> Duration? {
        buckets.withLock { $0.take(of: user, now: now) }
    }
}

/// The token buckets of recently active users.
///
/// A bucket unused for as long as it takes to fill equals a new one, and is forgotten: of two
/// generations the older one is dropped when that time has passed. So memory is bounded by the
/// active users, without a sweep.
package struct Buckets: Sendable {
    private let rate: TokenBucket.Rate
    private var young: [UserID: TokenBucket] = [:]
    private var old: [UserID: TokenBucket] = [:]
    private var turnsAt: Duration?

    package init(_ rate: TokenBucket.Rate) { self.rate = rate }

    /// The number of buckets.
    package var count: Int { young.count + old.count }

    package mutating func take(of user: UserID, now: Duration) -> Duration? {
        age(now)
        var bucket = young[user] ?? old.removeValue(forKey: user) ?? TokenBucket(rate, now: now)
        defer { young[user] = bucket }
        return bucket.take(rate, now: now)
    }

    private mutating func age(_ now: Duration) {
        let end = turnsAt ?? now + rate.refill
        turnsAt = end
        guard now >= end else { return }
        old = now >= end + rate.refill ? [:] : young
        young = [:]
        turnsAt = now + rate.refill
    }
}
