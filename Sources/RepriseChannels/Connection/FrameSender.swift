import RepriseCore
import Synchronization

/// Sends frames over one connection in the order given, without blocking the caller.
///
/// Its senders bound the queue: the outbox by its messages in flight, the others by one frame for
/// each channel and answer of the server or tick of their clocks.
final class FrameSender: Sendable {
    private struct State {
        var unsent: [[UInt8]] = []
        var isSending = false
    }

    private let socket: any Socket
    private let state = Mutex(State())

    init(_ socket: any Socket) { self.socket = socket }

    func send(_ frames: [[UInt8]]) {
        let begins = state.withLock { state in
            state.unsent += frames
            guard !state.isSending, !state.unsent.isEmpty else { return false }
            state.isSending = true
            return true
        }
        if begins { Task { await drain() } }
    }

    /// Sends all queued frames together.
    ///
    /// A failed send needs no handling: the connection has ended, and its reader reports it.
    private func drain() async {
        while let frames = next() { try? await socket.send(frames) }
    }

    private func next() -> [[UInt8]]? {
        state.withLock { state in
            guard !state.unsent.isEmpty else {
                state.isSending = false
                return nil
            }
            defer { state.unsent = [] }
            return state.unsent
        }
    }
}
