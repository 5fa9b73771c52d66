/// What the system has made of the app.
package enum AppPhase: Sendable, Equatable {
    case foreground
    /// The app may run for so long.
    case background(granted: Duration)
}

/// A part of the client that takes part in the app's life.
///
/// To be told and to use the time are two steps, so that all parts can be told of a change before
/// anybody hears of the next one.
package protocol AppLifeFollower: Sendable {
    /// Takes in what is so from now on, without waiting for anything.
    ///
    /// - Returns: what is left to do, which takes time and ends early if the app's life goes on
    ///   meanwhile.
    func enter(_ phase: AppPhase) -> @Sendable () async -> Void
}
