import Logging
import Synchronization

/// Tells the log why a gateway that starts is not ready, until it ends.
///
/// ```swift
/// let waiting = StartNotice("no server of NATS is reached", logger)
/// defer { waiting.end() }
/// ```
final class StartNotice: Sendable {
    /// When it tells first, and how often from then on.
    static let (first, every): (Duration, Duration) = (.seconds(2), .seconds(5))

    private let reason: Mutex<String>
    private let telling = Mutex<Task<Void, Never>?>(nil)

    init(_ reason: String, _ logger: Logger) {
        self.reason = Mutex(reason)
        let task = Task { [weak self] in
            var pause = StartNotice.first
            while (try? await Task.sleep(for: pause)) != nil, let self {
                logger.notice("not ready: \(self.reason.withLock(\.self))")
                pause = StartNotice.every
            }
        }
        telling.withLock { $0 = task }
    }

    /// Why it is not ready now.
    func note(_ reason: String) { self.reason.withLock { $0 = reason } }

    func end() { telling.withLock { $0.take() }?.cancel() }
}
