import RepriseCore
import Synchronization

/// The remaining time for chains.
final class ChainsBudget: Sendable {
    private let end = Mutex<Duration?>(nil)

    func set(until: Duration?) { end.withLock { $0 = until } }

    func remaining(_ clock: any Timekeeper) -> Duration? {
        end.withLock { $0 }.map { max($0 - clock.uptime(), .zero) }
    }
}
