package import RepriseWire
import Synchronization

/// How fast each user may publish, by whichever way: one object for WebSocket and HTTP.
///
/// ```swift
/// if let wait = limiter.take(of: user, now: clock.uptime()) { refuse(.rateLimited, retryAfter: wait) }
/// ```
package final class RateLimiter: Sendable {
    private let buckets: Mutex<Buckets>

    package init(_ rate: TokenBucket.Rate) { buckets = Mutex(Buckets(rate)) }

    /// Takes one for who publishes; those without a name and admins are not limited.
    ///
    /// - Returns: nil if it may go on; otherwise how long to wait.
    package func wait(for who: Principal, now: Duration) -> Duration? {
        guard let user = who.user, !who.isAdmin else { return nil }
        return take(of: user, now: now)
    }

    /// Takes one for the user.
    ///
    /// - Returns: nil if the user may go on; otherwise how long to wait.
    package func take(of user: UserID, now: Duration) -> Duration? {
        buckets.withLock { $0.take(of: user, now: now) }
    }
}

/// The buckets of those who were active lately.
///
/// A bucket that was not used for as long as it takes to fill is as good as a new one, and is
/// forgotten: there are two generations, and the older one is dropped when that time has passed. So
/// memory is bounded by who was active, without a sweep.
package struct Buckets: Sendable {
    private let rate: TokenBucket.Rate
    private var young: [UserID: TokenBucket] = [:]
    private var old: [UserID: TokenBucket] = [:]
    private var turnsAt: Duration?

    package init(_ rate: TokenBucket.Rate) { self.rate = rate }

    /// How many are remembered.
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
