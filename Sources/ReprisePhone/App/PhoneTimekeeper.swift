import Foundation
import RepriseCore
import Synchronization

/// The phone's clocks in an app's process: the machine's, moved by the phone.
final class PhoneTimekeeper: Timekeeper {
    private struct State {
        var clock: PhoneClock
        /// Sleeping tasks: each change wakes them to read the clock again.
        var sleepers: [Int: CheckedContinuation<Void, Never>] = [:]
        var last = 0
    }

    private let machine = SystemTimekeeper()
    private let state: Mutex<State>

    init(_ clock: PhoneClock) { state = Mutex(State(clock: clock)) }

    var boot: String { machine.boot }

    func wall() -> WallTime {
        machine.wall().advanced(
            by: .milliseconds(state.withLock { $0.clock.calendarMilliseconds }))
    }

    func uptime() -> Duration {
        machine.uptime() + .milliseconds(state.withLock { $0.clock.uptimeMilliseconds })
    }

    /// The phone's time zone.
    var zone: TimeZone {
        TimeZone(identifier: state.withLock { $0.clock.zone }) ?? .gmt
    }

    func set(_ clock: PhoneClock) {
        let sleepers = state.withLock { state in
            state.clock = clock
            defer { state.sleepers = [:] }
            return Array(state.sleepers.values)
        }
        for sleeper in sleepers { sleeper.resume() }
    }

    func sleep(until moment: Duration) async throws {
        while true {
            try Task.checkCancellation()
            let clock = state.withLock { $0.clock }
            let left = moment - machine.uptime() - .milliseconds(clock.uptimeMilliseconds)
            guard left > .zero else { return }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Task.sleep(for: left) }
                group.addTask { await self.change(from: clock) }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    /// Returns when the clock was moved, or the task is cancelled.
    private func change(from clock: PhoneClock) async {
        let id = state.withLock { state in
            state.last += 1
            return state.last
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { sleeper in
                // Registered first and looked at then: a change between the two is not missed.
                let isOver = state.withLock { state in
                    state.sleepers[id] = sleeper
                    return state.clock != clock
                }
                if isOver || Task.isCancelled { wake(id) }
            }
        } onCancel: {
            wake(id)
        }
    }

    private func wake(_ id: Int) {
        state.withLock { $0.sleepers.removeValue(forKey: id) }?.resume()
    }
}
