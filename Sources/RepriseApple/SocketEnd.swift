package import RepriseCore
import Synchronization

/// The end of a WebSocket connection, from what the system reports of it, in whatever order.
///
/// A TCP connection that breaks without a close frame may complete the task and leave the handler
/// of `receive` uncalled: <https://github.com/WebKit/WebKit/pull/28392>. A handler may also fail
/// before the code of the peer's close frame is known.
package final class SocketEnd: Sendable {
    private struct State {
        var closeCode: UInt16?
        var isClosing = false
    }

    /// The calls that wait: the connection's end ends each.
    package let calls = PendingCalls()
    private let state = Mutex(State())

    /// The connection is open.
    package init() {}

    /// The code of the peer's close frame, if one has come.
    package var closeCode: UInt16? { state.withLock { $0.closeCode } }

    /// Waits for the next frames.
    ///
    /// - Parameter begin: asks the system, whose failure goes to ``failed(_:)``.
    /// - Returns: the frames; nil after the peer's close frame.
    /// - Throws: the reason of an end without one.
    package func receive<Frames: Sendable>(
        _ begin: (Race<Frames>) -> Void
    ) async throws -> Frames? {
        do {
            return try await calls.wait(begin)
        } catch {
            if closeCode != nil { return nil }
            throw error
        }
    }

    /// The system's code may be our own from now on.
    package func closing() { state.withLock { $0.isClosing = true } }

    /// The connection cannot go on: its end is due, and says whether a close frame has come.
    package func failed(_ error: any Error) {
        calls.end(error, after: AppleLimits.end)
    }

    /// The peer's close frame has come (`didCloseWith`).
    package func closed(code: Int) {
        state.withLock { $0.closeCode = URLFailure.peerCode(code) }
    }

    /// The connection has ended (`didCompleteWithError`).
    ///
    /// - Parameters:
    ///   - code: the task's, which may be reported here alone.
    ///   - error: why, if it has failed.
    package func completed(code: Int, _ error: (any Error)?) {
        state.withLock { state in
            if !state.isClosing, state.closeCode == nil {
                state.closeCode = URLFailure.peerCode(code)
            }
        }
        calls.end(error ?? SocketFailure("The connection ended."))
    }
}
