import DequeModule
public import RepriseCore
import Synchronization

/// An in-memory connection: one side is the client's ``RepriseCore/Socket``, a test controls the
/// other.
///
/// ```swift
/// let socket = MemorySocket()
/// socket.push([welcome])                  // arrives at the client, all in one batch
/// let hello = await socket.sent()         // the client's next frame
/// socket.cut()                            // as when a train enters a tunnel
/// ```
public final class MemorySocket: Sendable {
    private struct State {
        var incoming: [[UInt8]] = []
        var outgoing: Deque<[UInt8]> = []
        var ended = false
        var failure: SocketFailure?
        var closeCode: UInt16?
        var clientCloseCode: UInt16?
        var isSilent = false
    }

    private let state = Mutex(State())
    private let changes = ConditionVariable()

    /// Makes an open connection.
    public init() {}

    // MARK: The test's side

    /// Lets frames arrive at the client, together.
    ///
    /// - Parameter frames: UTF-8.
    public func push(_ frames: [[UInt8]]) {
        change { state in
            guard !state.ended, !state.isSilent else { return }
            state.incoming += frames
        }
    }

    /// Ends the connection as a server does, behind the pushed frames.
    ///
    /// - Parameter code: RFC 6455 §7.4.
    public func end(code: UInt16) {
        change { state in
            guard !state.ended else { return }
            state.ended = true
            state.closeCode = code
        }
    }

    /// Ends the connection without a close frame; pushed frames not yet received are lost.
    public func cut() {
        change { state in
            guard !state.ended else { return }
            state.ended = true
            state.incoming = []
            state.failure = SocketFailure("The connection was cut.")
        }
    }

    /// Lets the connection die silently, as in a sleep: nothing arrives any more, and no ping is
    /// answered.
    public func fallSilent() { state.withLock { $0.isSilent = true } }

    /// The next frame that the client sends; nil when the connection has ended or the task is
    /// cancelled.
    public func sent() async -> [UInt8]? {
        while true {
            let (frame, isOver) = state.withLock { ($0.outgoing.popFirst(), $0.ended) }
            if frame != nil || isOver || Task.isCancelled { return frame }
            await changes.wait(isCancellable: true) {
                state.withLock { !$0.outgoing.isEmpty || $0.ended }
            }
        }
    }

    /// Whether the connection has ended, by either side.
    public var hasEnded: Bool { state.withLock { $0.ended } }

    /// The code with which the client has closed, if it has.
    public var clientCloseCode: UInt16? { state.withLock { $0.clientCloseCode } }

    /// Whether everything pushed has been received.
    public var isDrained: Bool { state.withLock { $0.incoming.isEmpty } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in body(&state) }
        changes.notifyAll()
    }
}

extension MemorySocket: Socket {
    /// Waits for frames and returns all that have arrived.
    public func receive() async throws -> [[UInt8]]? {
        while true {
            let result: Result<[[UInt8]]?, SocketFailure>? = state.withLock { state in
                if !state.incoming.isEmpty {
                    defer { state.incoming = [] }
                    return .success(state.incoming)
                }
                guard state.ended else { return nil }
                return state.failure.map { .failure($0) } ?? .success(nil)
            }
            if let result { return try result.get() }
            await changes.wait { state.withLock { !$0.incoming.isEmpty || $0.ended } }
        }
    }

    /// Takes frames that the client sends.
    public func send(_ frames: [[UInt8]]) async throws {
        var failure: SocketFailure?
        change { state in
            guard !state.ended else {
                failure = state.failure ?? SocketFailure("The connection has ended.")
                return
            }
            state.outgoing += frames
        }
        if let failure { throw failure }
    }

    /// Ends the connection from the client's side.
    public func close(code: UInt16) async {
        change { state in
            guard !state.ended else { return }
            state.ended = true
            state.clientCloseCode = code
        }
    }

    /// Returns at once, unless the connection has fallen silent: then when it ends.
    public func ping() async throws {
        await changes.wait { state.withLock { !$0.isSilent || $0.ended } }
        if hasEnded { throw SocketFailure("The connection has ended.") }
    }

    /// The test's close code.
    public var closeCode: UInt16? { state.withLock { $0.closeCode } }
}

/// Dials in-memory connections, and gives the other side of each to a test.
public final class MemoryDialer: SocketDialer {
    private struct State {
        var dialled: Deque<MemorySocket> = []
        var failures: Deque<RepriseError> = []
        var count = 0
    }

    private let state = Mutex(State())
    private let changes = ConditionVariable()

    /// Makes a dialer to which every connection succeeds.
    public init() {}

    /// Lets the next attempt fail; called twice, the next two.
    ///
    /// - Parameter error: the failure.
    public func refuse(_ error: RepriseError) { state.withLock { $0.failures.append(error) } }

    /// How often it was dialled.
    public var count: Int { state.withLock { $0.count } }

    /// The next connection that was dialled.
    ///
    /// - Returns: the test's side of it.
    /// - Throws: `CancellationError`.
    public func accept() async throws -> MemorySocket {
        while true {
            let next: MemorySocket? = state.withLock { state in
                state.dialled.popFirst()
            }
            if let next { return next }
            try Task.checkCancellation()
            await changes.wait(isCancellable: true) { state.withLock { !$0.dialled.isEmpty } }
        }
    }

    /// Opens a connection in memory, whatever the address.
    public func dial(url: String, protocol: String, maximumFrameBytes: Int) async throws
        -> any Socket
    {
        let result: Result<MemorySocket, RepriseError> = state.withLock { state in
            state.count += 1
            if let failure = state.failures.popFirst() { return .failure(failure) }
            let socket = MemorySocket()
            state.dialled.append(socket)
            return .success(socket)
        }
        changes.notifyAll()
        return try result.get()
    }
}
