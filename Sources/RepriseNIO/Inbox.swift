import RepriseCore
import Synchronization

/// Arrived frames that wait for the reader.
///
/// The event loop inserts, one task removes.
final class Inbox: Sendable {
    /// How many bytes may wait unread before the transport stops reading.
    static let bound = 1_048_576

    /// A frame's overhead, so that empty frames are not free.
    static let frameOverhead = 64

    private enum End {
        case open, closed
        case failed(SocketFailure)
    }

    private struct State {
        var frames: [[UInt8]] = []
        var bytes = 0
        var waiter: CheckedContinuation<[[UInt8]]?, any Error>?
        var end = End.open
        var peerCode: UInt16?
    }

    private let state = Mutex(State())

    /// Whether the transport has to stop reading.
    var isFull: Bool { state.withLock { $0.bytes >= Self.bound } }

    /// The code of the peer's close frame.
    var peerCode: UInt16? {
        get { state.withLock { $0.peerCode } }
        set { state.withLock { $0.peerCode = newValue } }
    }

    /// Inserts the frames of one read; after the end they are dropped.
    func deliver(_ batch: [[UInt8]]) {
        let waiter: CheckedContinuation<[[UInt8]]?, any Error>? = state.withLock { state in
            guard case .open = state.end, !batch.isEmpty else { return nil }
            if let waiter = state.waiter {
                state.waiter = nil
                return waiter
            }
            state.frames += batch
            state.bytes += batch.reduce(0) { $0 + $1.count + Self.frameOverhead }
            return nil
        }
        waiter?.resume(returning: batch)
    }

    /// No more frames arrive; waiting frames can still be read, and the first end counts.
    ///
    /// - Parameter failure: nil if a close frame ended it.
    func finish(_ failure: SocketFailure?) {
        let waiter: CheckedContinuation<[[UInt8]]?, any Error>? = state.withLock { state in
            guard case .open = state.end else { return nil }
            state.end = failure.map(End.failed) ?? .closed
            defer { state.waiter = nil }
            return state.waiter
        }
        if let failure { waiter?.resume(throwing: failure) } else { waiter?.resume(returning: nil) }
    }

    /// The reader has stopped: ends, and drops the waiting frames.
    func discard() {
        finish(nil)
        state.withLock { state in
            state.frames = []
            state.bytes = 0
        }
    }

    /// Takes all waiting frames; waits while there are none.
    ///
    /// - Parameter drained: called if the bound had been reached and no longer is.
    /// - Returns: nil at the end.
    /// - Throws: ``RepriseCore/SocketFailure``; `CancellationError`.
    func take(drained: () -> Void) async throws -> [[UInt8]]? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { enqueue($0, drained) }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    private func enqueue(
        _ waiter: CheckedContinuation<[[UInt8]]?, any Error>, _ drained: () -> Void
    ) {
        var wasFull = false
        let answer: Result<[[UInt8]]?, any Error>? = state.withLock { state in
            if !state.frames.isEmpty {
                defer {
                    state.frames = []
                    state.bytes = 0
                }
                wasFull = state.bytes >= Self.bound
                return .success(state.frames)
            }
            switch state.end {
            case .closed: return .success(nil)
            case .failed(let failure): return .failure(failure)
            case .open: break
            }
            if Task.isCancelled { return .failure(CancellationError()) }
            guard state.waiter == nil else {
                return .failure(SocketFailure("A socket has one reader; a second one came."))
            }
            state.waiter = waiter
            return nil
        }
        if wasFull { drained() }
        if let answer { waiter.resume(with: answer) }
    }
}
