import RepriseCore
import Synchronization
import Testing

@Suite("Signals", .timeLimit(.minutes(1)))
struct SignalTests {
    /// Counts how often a loop that waits has been woken.
    private final class Loop: Sendable {
        private let woken = Mutex(0)
        let signal = Signal()

        var count: Int { woken.withLock { $0 } }

        func run() async {
            while true {
                await signal.wait()
                if Task.isCancelled { return }
                woken.withLock { $0 += 1 }
            }
        }

        /// Gives a loop that does not wait the time to show it.
        func rest() async { for _ in 0..<1_000 { await Task.yield() } }
    }

    @Test("a wait that is cancelled ends alone: the next loop is woken as often as it is raised")
    func cancelled() async {
        let loop = Loop()
        for lives in 1...3 {
            let task = Task { await loop.run() }
            loop.signal.raise()
            while loop.count < lives { await Task.yield() }
            await loop.rest()
            #expect(loop.count == lives)
            task.cancel()
            await task.value
        }
    }

    @Test("raised twice before anybody looks, it wakes once, and at once")
    func coalesces() async {
        let loop = Loop()
        loop.signal.raise()
        loop.signal.raise()
        let task = Task { await loop.run() }
        while loop.count < 1 { await Task.yield() }
        await loop.rest()
        #expect(loop.count == 1)
        task.cancel()
        await task.value
    }

    @Test("a task that is cancelled before it waits leaves a raised signal to the next")
    func leaves() async {
        let signal = Signal()
        signal.raise()
        let cancelled = Task {
            while !Task.isCancelled { await Task.yield() }
            await signal.wait()
        }
        cancelled.cancel()
        await cancelled.value
        // It would not return otherwise.
        await signal.wait()
    }

    @Test("of several that wait each raise wakes one")
    func several() async {
        let loop = Loop()
        let tasks = (0..<3).map { _ in Task { await loop.run() } }
        for count in 1...6 {
            loop.signal.raise()
            while loop.count < count { await Task.yield() }
            await loop.rest()
            #expect(loop.count == count)
        }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}
