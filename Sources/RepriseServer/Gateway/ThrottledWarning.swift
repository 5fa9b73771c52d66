package import Logging
package import RepriseCore
import Synchronization

/// A warning that a peer can cause at will, logged at most once per 10 s.
package final class ThrottledWarning: Sendable {
    package static let pause: Duration = .seconds(10)

    private let logger: Logger
    private let clock: any Timekeeper
    private let state = Mutex((last: Duration?.none, hidden: 0))

    package init(logger: Logger, clock: any Timekeeper) {
        self.logger = logger
        self.clock = clock
    }

    /// Logs it, with the number suppressed since the last.
    package func warn(_ what: Logger.Message, _ metadata: Logger.Metadata = [:]) {
        let now = clock.uptime()
        let hidden: Int? = state.withLock { state in
            if let last = state.last, now < last + Self.pause {
                state.hidden += 1
                return nil
            }
            defer { state = (now, 0) }
            return state.hidden
        }
        guard let hidden else { return }
        logger.warning(
            what,
            metadata: hidden == 0
                ? metadata : metadata.merging(["alsoSinceTheLast": "\(hidden)"]) { $1 })
    }
}
