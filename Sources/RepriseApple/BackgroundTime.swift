/// How long an app that has gone to the background is used.
package enum BackgroundTime {
    /// The most: less than the half minute that is measured, where the system names no number.
    package static let most = Duration.seconds(25)
    /// How long the client may take to close, once the system says that the time is over.
    package static let closing = Duration.seconds(1)

    /// The time to use.
    ///
    /// - Parameter remaining: `backgroundTimeRemaining` in seconds, which is 1.8e308 where the
    ///   system has not decided yet.
    /// - Returns: at most ``most``.
    package static func granted(remaining: Double) -> Duration {
        remaining.isFinite && remaining < 25 ? .seconds(max(remaining, 0)) : most
    }
}
