import RepriseCore
import Synchronization

/// The driver's ordered inbox: input from the journal, the web view, the clock and the app.
///
/// Not an `AsyncStream`: that loses its unread elements when its reader is cancelled, and here each
/// remaining event must return to the journal. Bounded by the limits on events in flight and
/// waiting messages.
final class FormsInbox: Sendable {
    private typealias Reader = CheckedContinuation<FormsDriver.Input?, Never>

    private struct State {
        var isOpen = false
        var inputs: [FormsDriver.Input] = []
        var read = 0
        var messages = 0
        var reader: Reader?

        /// Removes the head; read items leave in pieces, so that none is moved often.
        mutating func forget() {
            read += 1
            guard read >= 256 || read == inputs.count else { return }
            inputs.removeSubrange(..<read)
            read = 0
        }
    }

    private let state = Mutex(State())

    func open() { state.withLock { $0 = State(isOpen: true) } }

    /// - Returns: whether the inbox is open.
    func put(_ input: FormsDriver.Input) -> Bool {
        let (isOpen, reader) = state.withLock { state -> (Bool, Reader?) in
            guard state.isOpen else { return (false, nil) }
            if let reader = state.reader.take() { return (true, reader) }
            state.inputs.append(input)
            return (true, nil)
        }
        reader?.resume(returning: input)
        return isOpen
    }

    /// - Returns: false if too many messages wait.
    func said(_ text: [UInt8], in life: Int) -> Bool {
        let hasRoom = state.withLock { state in
            state.messages += 1
            return state.messages <= FormsEngineLimits.pageMessages
        }
        return hasRoom && put(.said(life: life, text))
    }

    func messageRead() { state.withLock { $0.messages -= 1 } }

    /// - Returns: nil when the task is cancelled; ``close()`` then returns what is left.
    func next() async -> FormsDriver.Input? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = Task.isCancelled
                let input: FormsDriver.Input?? = state.withLock { state in
                    if isCancelled { return .some(nil) }
                    guard state.read < state.inputs.count else {
                        state.reader = continuation
                        return nil
                    }
                    defer { state.forget() }
                    return state.inputs[state.read]
                }
                if let input { continuation.resume(returning: input) }
                // Cancelled between the two: the handler has found no reader.
                if Task.isCancelled { stop() }
            }
        } onCancel: {
            stop()
        }
    }

    private func stop() {
        state.withLock { $0.reader.take() }?.resume(returning: nil)
    }

    /// - Returns: the unread input.
    func close() -> [FormsDriver.Input] {
        state.withLock { state in
            defer { state = State() }
            return Array(state.inputs[state.read...])
        }
    }
}
