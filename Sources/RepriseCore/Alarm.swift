import Synchronization

/// A call at a time of a clock, once; another time replaces it.
package final class Alarm: Sendable {
    private struct State {
        var due: Duration?
        var number = 0
        var timer: Task<Void, Never>?
    }

    private let clock: any Timekeeper
    private let state = Mutex(State())

    package init(_ clock: any Timekeeper) { self.clock = clock }

    deinit { cancel() }

    /// The time of the call, also once it is over; nil: none is set.
    package var due: Duration? { state.withLock { $0.due } }

    /// Sets the time; nil cancels, and the same time again changes nothing.
    package func set(_ due: Duration?, call: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            guard due != state.due else { return }
            state.timer?.cancel()
            state.due = due
            state.number += 1
            let number = state.number
            state.timer = due.map { due in
                Task { [weak self, clock] in
                    do { try await clock.sleep(until: due) } catch { return }
                    guard self?.began(number) == true else { return }
                    await call()
                }
            }
        }
    }

    package func cancel() { set(nil) {} }

    /// A call that has begun is not cancelled: it may set the alarm itself.
    private func began(_ number: Int) -> Bool {
        state.withLock { state in
            guard state.number == number else { return false }
            state.timer = nil
            return true
        }
    }
}

extension Signal {
    /// Waits until it is raised, or the clock reaches `end`.
    package func wait(until end: Duration, by clock: any Timekeeper) async {
        let alarm = Alarm(clock)
        alarm.set(end) { [self] in raise() }
        await wait()
        alarm.cancel()
    }
}
