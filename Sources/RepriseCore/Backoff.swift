/// The wait before the next attempt, with full jitter, so that a fleet never retries in lockstep.
///
/// The n-th failure waits a random time in `0..<min(longest, base · 2ⁿ⁻¹)`.
/// Source: Exponential Backoff And Jitter, AWS Architecture Blog, 2015.
public struct Backoff: Hashable, Sendable {
    /// The ceiling of the wait after the first failure.
    public var base: Duration
    /// The ceiling that no wait exceeds.
    public var longest: Duration

    /// Makes a schedule of waits.
    ///
    /// - Parameters:
    ///   - base: the ceiling after the first failure.
    ///   - longest: the ceiling that no wait exceeds.
    public init(base: Duration = .seconds(1), longest: Duration = .seconds(300)) {
        self.base = max(base, .zero)
        self.longest = max(longest, .zero)
    }

    /// The longest wait after so many failures.
    package func ceiling(failures: Int) -> Duration {
        let doublings = min(max(failures - 1, 0), 40)
        var ceiling = base
        for _ in 0..<doublings where ceiling < longest { ceiling = ceiling + ceiling }
        return min(ceiling, longest)
    }

    /// The wait before the next attempt.
    ///
    /// - Parameters:
    ///   - failures: how often it has failed, 1 or more.
    ///   - jitter: drawn by the driver, 0..<1.
    /// - Returns: 0 up to ``ceiling(failures:)``.
    package func delay(failures: Int, jitter: Double) -> Duration {
        ceiling(failures: failures) * min(max(jitter, 0), 1)
    }
}
