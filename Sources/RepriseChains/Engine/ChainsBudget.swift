import RepriseCore
import Synchronization

/// The remaining time for chains, and a signal for callers that wait until none runs.
final class ChainsBudget: Sendable {
    private struct Bell {
        var rings = 0
        var last = 0
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var cancelled: Set<Int> = []
    }

    private let end = Mutex<Duration?>(nil)
    private let bell = Mutex(Bell())

    func set(until: Duration?) { end.withLock { $0 = until } }

    func remaining(_ clock: any Timekeeper) -> Duration? {
        end.withLock { $0 }.map { max($0 - clock.uptime(), .zero) }
    }

    /// How often it has rung.
    var rings: Int { bell.withLock { $0.rings } }

    /// Wakes all waiters.
    func ring() {
        let waiting = bell.withLock { bell in
            bell.rings += 1
            defer { bell.waiting = [:] }
            return bell.waiting.values
        }
        for waiter in waiting { waiter.resume() }
    }

    /// Returns when it has rung more often than that, or the task is cancelled.
    func wait(beyond rings: Int) async {
        let number = bell.withLock { bell in
            bell.last += 1
            return bell.last
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = bell.withLock { bell in
                    guard bell.rings <= rings, !bell.cancelled.contains(number) else {
                        return true
                    }
                    bell.waiting[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = bell.withLock { bell in
                bell.cancelled.insert(number)
                return bell.waiting.removeValue(forKey: number)
            }
            waiter?.resume()
        }
        bell.withLock { bell in _ = bell.cancelled.remove(number) }
    }
}
