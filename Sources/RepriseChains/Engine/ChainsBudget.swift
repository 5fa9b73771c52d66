import RepriseCore
import Synchronization

/// How long the system lets chains run still.
final class ChainsBudget: Sendable {
    private let end = Mutex<Duration?>(nil)
    /// Raised when nothing runs any more.
    let changed = Signal()

    func set(until: Duration?) { end.withLock { $0 = until } }

    func remaining(_ clock: any Timekeeper) -> Duration? {
        end.withLock { $0 }.map { max($0 - clock.uptime(), .zero) }
    }
}
