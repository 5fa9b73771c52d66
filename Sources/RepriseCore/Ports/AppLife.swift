/// The app's life cycle, reported to the facade by an adapter of the platform.
///
/// The last call counts, even while an earlier call has not returned. So call at once, and do slow
/// work afterwards: an app that saves before it calls `background` may already be back in the
/// foreground by then.
public protocol AppLife: Sendable {
    /// The app is in the background and may run for so long.
    ///
    /// Returns when no work is left: pending frames are sent, the connection is closed, and
    /// everything is durable. Then the app may be suspended. It returns shortly before `granted` is
    /// over, or when the app is in the foreground again.
    ///
    /// - Parameter granted: how long the app may run, as the system says; not a guess.
    func background(granted: Duration) async

    /// The app is in the foreground.
    func foreground() async

    /// The system is short of memory.
    func memoryPressure() async
}
