/// Wakes one sleeper; ringing it more often before that is the same as once.
package struct WakeUp: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    package init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    package func ring() { continuation.yield() }

    /// Returns at the next ring, or when the task is cancelled.
    package func wait() async { for await _ in stream { return } }
}
