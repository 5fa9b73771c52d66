/// What the system does with an app, told to who has to know: the facade, by an adapter of the
/// platform.
///
/// What is called last counts, also while an earlier call has not returned. So call at once, and
/// let what has to wait for something come after it: an app that puts a save before `background`
/// may be in the foreground again when it gets to it.
public protocol AppLife: Sendable {
    /// The app is in the background, and the system lets it run for so long.
    ///
    /// Returns when nothing is left to do there: what can be sent is sent, the connection is
    /// closed, and everything is durable. Then the app may be suspended. It returns shortly before
    /// `granted` is over, or when the app is in the foreground again.
    ///
    /// - Parameter granted: how long the app may run; what the system says, not a guess.
    func background(granted: Duration) async

    /// The app is in the foreground.
    func foreground() async

    /// The system is short of memory.
    func memoryPressure() async
}
