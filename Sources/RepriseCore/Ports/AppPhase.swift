/// The phase of the app's life cycle.
package enum AppPhase: Sendable, Equatable {
    case foreground
    /// The app may run for so long.
    case background(granted: Duration)
}

/// A part of the client that follows the app's life cycle.
///
/// Two steps, notification and work, so that all parts learn of a change before any learns of the
/// next.
package protocol AppLifeFollower: Sendable {
    /// Takes the new phase, without waiting.
    ///
    /// - Returns: the work that is left; it takes time, and ends early if the phase changes
    ///   meanwhile.
    func enter(_ phase: AppPhase) -> @Sendable () async -> Void
}
