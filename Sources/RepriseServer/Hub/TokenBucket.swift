/// A token bucket: `burst` at once, then `perSecond`.
package struct TokenBucket: Hashable, Sendable {
    /// The burst and the sustained rate.
    package struct Rate: Hashable, Sendable {
        package var perSecond: Double
        package var burst: Double

        package init(perSecond: Double, burst: Double) {
            self.perSecond = max(perSecond, 0.001)
            self.burst = max(burst, 1)
        }

        /// After this long without use a bucket is full.
        package var refill: Duration { .seconds(burst / perSecond) }
    }

    private var level: Double
    private var asOf: Duration

    /// A full bucket.
    package init(_ rate: Rate, now: Duration) {
        level = rate.burst
        asOf = now
    }

    /// Takes a token.
    ///
    /// - Returns: nil if one was available; otherwise the time until one is.
    package mutating func take(_ rate: Rate, now: Duration) -> Duration? {
        level = min(rate.burst, level + max(0, (now - asOf) / .seconds(1)) * rate.perSecond)
        asOf = max(asOf, now)
        guard level < 1 else {
            level -= 1
            return nil
        }
        return .milliseconds(Int64(((1 - level) / rate.perSecond * 1_000).rounded(.up)))
    }
}
