import RepriseCore
import RepriseNIO
import RepriseWire
import Synchronization

/// Publishes without pause, over one connection after the other, and remembers only what was
/// acknowledged.
///
/// It speaks the wire itself, so that what it remembers owes nothing to the SDK under test.
final class LoopPublisher: Sendable {
    private struct State {
        /// In order; sent again with the same ids on the next connection.
        var unanswered: [EntryID] = []
        var acknowledged: Set<String> = []
        var refusals: [String] = []
        /// Set once nothing new is begun: until when to go on with the rest.
        var end: ContinuousClock.Instant?
    }

    private static let window = 16

    private let channel: ChannelName
    private let server: String
    private let state = Mutex(State())

    init(channel: String, server: String) throws {
        self.channel = try ChannelName(channel)
        self.server = server
    }

    /// The ids that the server has said are stored.
    var acknowledged: Set<String> { state.withLock { $0.acknowledged } }

    /// What it refused for good, and what it never answered; nothing should be.
    var faults: [String] {
        state.withLock { state in
            let silence =
                state.unanswered.isEmpty
                ? [] : ["\(state.unanswered.count) messages to \(channel) were never answered"]
            return state.refusals + silence
        }
    }

    /// Begins nothing new; ``run()`` returns once everything is answered, or the time is up.
    func end(within timeout: Duration) { state.withLock { $0.end = .now + timeout } }

    /// Publishes until ``end(within:)`` and the last answer.
    func run() async throws {
        while !isDone {
            do {
                try await connection()
            } catch is CancellationError {
                return
            } catch {
                // The server is dead at the moment; that is what this is about.
                try await Task.sleep(for: .milliseconds(Int.random(in: 5...40)))
            }
        }
    }

    private var isDone: Bool {
        state.withLock { state in
            guard let end = state.end else { return false }
            return state.unanswered.isEmpty || ContinuousClock.now > end
        }
    }

    private func connection() async throws {
        let socket = try await NIODialer(timeout: .seconds(5)).dial(
            url: server + "/v1/connect", protocol: "reprise.v1",
            maximumFrameBytes: WireLimits.frameBytes)
        defer { Task { await socket.close(code: CloseCode.normal.number) } }
        let hello = ClientFrame.Hello(device: .random(), client: "crash-loop")
        try await socket.send([ClientFrame.hello(hello).encoded()])
        let old = state.withLock { $0.unanswered }
        try await socket.send(old.map(frame))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.listen(to: socket) }
            group.addTask { try await self.send(to: socket) }
            try await group.next()
            group.cancelAll()
        }
    }

    private func frame(_ id: EntryID) -> [UInt8] {
        let body = Array(#"{"from":"publisher"}"#.utf8)
        return ClientFrame.publish(.init(channel: channel, id: id, body: body)).encoded()
    }

    /// A few at a time, about 60 a second.
    private func send(to socket: any Socket) async throws {
        while !isDone {
            let new: [EntryID] = state.withLock { state in
                guard state.end == nil else { return [] }
                let count = min(Int.random(in: 0...4), Self.window - state.unanswered.count)
                let new = (0..<max(0, count)).map { _ in EntryID.random() }
                state.unanswered += new
                return new
            }
            if !new.isEmpty { try await socket.send(new.map(frame)) }
            try await Task.sleep(for: .milliseconds(Int.random(in: 5...60)))
        }
    }

    private func listen(to socket: any Socket) async throws {
        var decoder = FrameDecoder()
        while let batch = try await socket.receive() {
            for bytes in batch {
                switch try decoder.serverFrame(bytes) {
                case .published(let published): answered(published.id)
                case .refused(let refused): try answered(refused)
                default: break
                }
            }
        }
        throw SocketFailure("The server has gone.")
    }

    private func answered(_ id: EntryID) {
        state.withLock { state in
            state.unanswered.removeAll { $0 == id }
            state.acknowledged.insert(id.text)
        }
    }

    /// What may be stored or not is sent again, with the same id, over a new connection.
    private func answered(_ refused: ServerFrame.Refused) throws {
        if refused.code.isTemporary { throw SocketFailure(refused.message) }
        state.withLock { state in
            state.unanswered.removeAll { $0.text == refused.id }
            state.refusals.append("\(refused.code): \(refused.message)")
        }
    }
}
