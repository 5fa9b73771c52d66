import RepriseCore
import Synchronization
import Testing

@Suite("Condition variables", .timeLimit(.minutes(1)))
struct ConditionVariableTests {
    /// A value that tasks wait for, and how often they have checked it.
    private final class Flag: Sendable {
        private let state = Mutex((isSet: false, checks: 0))
        let changes = ConditionVariable()

        var checks: Int { state.withLock { $0.checks } }

        func set() {
            state.withLock { $0.isSet = true }
            changes.notifyAll()
        }

        func wait(isCancellable: Bool = false) -> Task<Void, Never> {
            Task {
                await changes.wait(isCancellable: isCancellable) {
                    state.withLock { state in
                        state.checks += 1
                        return state.isSet
                    }
                }
            }
        }

        func isChecked(_ times: Int) async { while checks < times { await Task.yield() } }

        /// Gives tasks that do not wait the time to show it.
        func rest() async { for _ in 0..<1_000 { await Task.yield() } }
    }

    @Test("a notification wakes every task; one whose condition is false waits on")
    func all() async {
        let flag = Flag()
        let tasks = (0..<3).map { _ in flag.wait() }
        await flag.isChecked(3)
        flag.changes.notifyAll()
        await flag.isChecked(6)
        await flag.rest()
        #expect(flag.checks == 6)
        flag.set()
        for task in tasks { await task.value }
    }

    @Test("a notification during the check is not lost")
    func duringCheck() async {
        let changes = ConditionVariable()
        var checks = 0
        await changes.wait {
            checks += 1
            if checks == 1 { changes.notifyAll() }
            return checks == 2
        }
        #expect(checks == 2)
    }

    @Test("a cancellable wait ends with its task, though its condition is false")
    func cancelled() async {
        let flag = Flag()
        let task = flag.wait(isCancellable: true)
        await flag.isChecked(1)
        task.cancel()
        await task.value
    }

    @Test("a wait that is not cancellable outlasts a cancellation, and does not check meanwhile")
    func outlasts() async {
        let flag = Flag()
        let task = flag.wait()
        await flag.isChecked(1)
        task.cancel()
        await flag.rest()
        flag.changes.notifyAll()
        await flag.isChecked(2)
        await flag.rest()
        #expect(flag.checks == 2)
        flag.set()
        await task.value
    }
}
