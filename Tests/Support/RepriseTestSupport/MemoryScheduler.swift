package import RepriseCore
import Synchronization

/// A system that gives no time by itself: it keeps what it is asked for.
package final class MemoryScheduler: BackgroundScheduler {
    private let state = Mutex<(asked: [BackgroundRequest], refusal: RepriseError?)>(([], nil))

    package init() {}

    package var asked: [BackgroundRequest] { state.withLock { $0.asked } }

    /// From now on, or no longer.
    package func refuse(_ error: RepriseError?) { state.withLock { $0.refusal = error } }

    package func submit(_ request: BackgroundRequest) async throws {
        let refusal = state.withLock { state in
            state.asked.append(request)
            return state.refusal
        }
        if let refusal { throw refusal }
    }

    package func cancel(_ id: String) async throws {}

    package func pending() async throws -> [BackgroundRequest] { asked.suffix(1) }
}

/// Time in the background that a test gives and takes back.
package final class MemorySlot: BackgroundSlot {
    package let id: String
    private let end = Signal()
    private let completions = Mutex<[Bool]>([])

    package init(_ id: String) { self.id = id }

    /// With which success it was completed, each time.
    package var completed: [Bool] { completions.withLock { $0 } }

    package func expire() { end.raise() }

    package func expired() async { await end.wait() }

    package func complete(success: Bool) async {
        completions.withLock { $0.append(success) }
        expire()
    }
}
