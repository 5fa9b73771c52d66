/// Wakes one sleeper; ringing it more often before that is the same as once.
struct WakeUp: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func ring() { continuation.yield() }

    /// Returns at the next ring, or when the task is cancelled.
    func wait() async { for await _ in stream { return } }
}
