package import RepriseCore
package import RepriseWire
import Synchronization

/// Holds a ``PublishWindow`` between the task that reads lines, the one that writes to the socket
/// and the one that reads from it.
package final class PublishQueue: Sendable {
    /// The progress of publishing.
    package struct Progress: Sendable {
        package var admitted = 0
        package var acknowledged = 0
        package var repeated = 0
        package var firstSequence: Int64?
        package var lastSequence: Int64?
        package var isConnected = false
        var lastNews = ContinuousClock.now
        /// Whether an answer is outstanding.
        package var isWaiting = false
        /// Why the server has refused a message since it stored the last one.
        package var refusal: String?
        /// How long it has waited because the server takes only so many a second.
        package var heldBack = Duration.zero
        /// Whether it has waited for that within the last two seconds.
        package var isHeldBack = false
    }

    /// A writer's next step.
    package enum Next {
        case send([[UInt8]])
        case sleep(until: ContinuousClock.Instant)
        case wait
        case done
    }

    private struct State {
        var window: PublishWindow
        var inputEnded = false
        var isConnected = false
        var pausedUntil: ContinuousClock.Instant?
        var lastNews = ContinuousClock.now
        var refusal: String?
        var heldBack = Duration.zero
        var heldBackUntil: ContinuousClock.Instant?

        /// Sends nothing for so long.
        mutating func pause(_ wait: Duration, for code: RefusalCode) {
            let now = ContinuousClock.now
            let until = now + wait
            if code == .rateLimited {
                // A pause that begins while another lasts is counted from the end of that.
                let start = pausedUntil.map { max($0, now) } ?? now
                heldBack += max(.zero, until - start)
                heldBackUntil = until
            }
            pausedUntil = until
        }
    }

    /// Raised when a message may fit.
    package let room = Signal()
    private let state: Mutex<State>
    /// Raised when there may be work for the writer.
    private let work = Signal()
    private let onAcknowledged: @Sendable (EntryID, Int64) -> Void

    package init(channel: ChannelName, onAcknowledged: @escaping @Sendable (EntryID, Int64) -> Void)
    {
        state = Mutex(State(window: PublishWindow(channel: channel)))
        self.onAcknowledged = onAcknowledged
    }

    package var progress: Progress {
        state.withLock {
            Progress(
                admitted: $0.window.admitted, acknowledged: $0.window.acknowledged,
                repeated: $0.window.repeated, firstSequence: $0.window.firstSequence,
                lastSequence: $0.window.lastSequence, isConnected: $0.isConnected,
                lastNews: $0.lastNews, isWaiting: !$0.window.isEmpty, refusal: $0.refusal,
                heldBack: $0.heldBack,
                isHeldBack: $0.heldBackUntil.map { .now < $0 + .seconds(2) } ?? false)
        }
    }

    var isDone: Bool { state.withLock { $0.inputEnded && $0.window.isEmpty } }

    // MARK: From the reader of lines

    /// Admits a message if it fits.
    package func admit(_ body: [UInt8]) -> Bool {
        let isAdmitted = state.withLock { state in
            guard state.window.hasRoom else { return false }
            if state.window.isEmpty { state.lastNews = .now }
            state.window.admit(body)
            return true
        }
        if isAdmitted { work.raise() }
        return isAdmitted
    }

    func endInput() {
        state.withLock { $0.inputEnded = true }
        work.raise()
    }

    // MARK: From the connection

    /// Begins a connection.
    ///
    /// - Returns: raised when work may be available.
    package func connected() -> Signal {
        state.withLock { state in
            state.isConnected = true
            state.pausedUntil = nil
            state.lastNews = .now
        }
        work.raise()
        return work
    }

    package func disconnected() {
        state.withLock { state in
            state.isConnected = false
            state.window.disconnected()
        }
    }

    package func next() -> Next {
        state.withLock { state in
            if state.inputEnded, state.window.isEmpty { return .done }
            if let until = state.pausedUntil {
                if ContinuousClock.now < until { return .sleep(until: until) }
                state.pausedUntil = nil
            }
            let batch = state.window.batch()
            return batch.isEmpty ? .wait : .send(batch)
        }
    }

    /// Takes the server's answers.
    ///
    /// - Throws: ``RepriseError`` `.refused`.
    package func received(_ frames: [ServerFrame]) throws {
        for frame in frames {
            switch frame {
            case .published(let published):
                let isNews = state.withLock { state in
                    state.lastNews = .now
                    state.refusal = nil
                    return state.window.published(published)
                }
                if isNews { onAcknowledged(published.id, published.seq) }
            case .refused(let refused):
                try state.withLock { state in
                    let jitter = Double.random(in: 0..<1)
                    if let wait = try state.window.refused(refused, jitter: jitter) {
                        state.pause(wait, for: refused.code)
                        // The echo of a refusal says less than the refusal itself.
                        if refused.code != .predecessorMissing { state.refusal = refused.message }
                    }
                }
            default: break
            }
        }
        room.raise()
        work.raise()
    }
}
