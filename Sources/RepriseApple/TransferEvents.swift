/// Decides when the system may be told that an app has taken all events of a background session.
///
/// The events, their end and the system's handler come from different threads, in any order: the
/// session may have reported the end before the app's delegate is called.
package struct TransferEvents: Sendable {
    private enum Phase { case quiet, arriving, ended }
    private var phase = Phase.quiet

    /// Nothing has come.
    package init() {}

    /// A transfer has ended: the end of the events is still to come.
    package mutating func eventArrived() { phase = .arriving }

    /// The session has reported everything that there was.
    package mutating func eventsEnded() { phase = .ended }

    /// The system's handler has come.
    ///
    /// - Returns: whether the end has come before it; it counts for one handler.
    package mutating func handlerArrived() -> Bool {
        defer { phase = .quiet }
        return phase == .ended
    }
}
