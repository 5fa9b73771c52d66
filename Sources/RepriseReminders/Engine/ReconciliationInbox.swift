import RepriseCore
import Synchronization

/// The driver's ordered inbox: input from the app's store, the system, the journal, the clock and
/// the app.
///
/// Unread changes of the store are merged into one; all other input comes from people or answers a
/// question.
final class ReconciliationInbox: Sendable {
    private struct State {
        var isOpen = false
        var inputs: [RemindersDriver.Input] = []
        /// One for each run: a cancelled reader must not consume the next one's wake-up.
        let signal = Signal()
    }

    private let state = Mutex(State())

    func open() { state.withLock { $0 = State(isOpen: true) } }

    /// - Returns: the unread input.
    func close() -> [RemindersDriver.Input] {
        state.withLock { state in
            defer { state = State() }
            return state.inputs
        }
    }

    var isEmpty: Bool { state.withLock { $0.inputs.isEmpty } }

    /// - Returns: whether the inbox is open.
    @discardableResult
    func put(_ input: RemindersDriver.Input) -> Bool {
        let signal: Signal? = state.withLock { state in
            guard state.isOpen else { return nil }
            if case .event(.changed(let change)) = input,
                case .event(.changed(let former)) = state.inputs.last
            {
                state.inputs[state.inputs.count - 1] = .event(.changed(former.joined(by: change)))
            } else {
                state.inputs.append(input)
            }
            return state.signal
        }
        signal?.raise()
        return signal != nil
    }

    /// - Returns: all that waits; empty when the task is cancelled.
    func next() async -> [RemindersDriver.Input] {
        while !Task.isCancelled {
            let (inputs, signal) = state.withLock { state in
                defer { state.inputs = [] }
                return (state.inputs, state.signal)
            }
            if !inputs.isEmpty { return inputs }
            await signal.wait()
        }
        return []
    }
}

extension ReminderChange {
    fileprivate func joined(by other: Self) -> Self {
        switch (self, other) {
        case (.everything, _), (_, .everything): return .everything
        case (.entities(let ids), .entities(let more)):
            let all = ids.union(more)
            return all.count > ReminderEngineLimits.changed ? .everything : .entities(all)
        }
    }
}
