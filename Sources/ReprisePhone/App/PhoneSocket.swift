import RepriseApple
package import RepriseCore
import Synchronization

/// WebSocket connections over the phone's network.
package struct PhoneDialer: SocketDialer {
    private let dialer: any SocketDialer
    private let network: PhonePaths
    private let rules: PhoneRules

    package init(dialer: any SocketDialer, network: PhonePaths, rules: PhoneRules) {
        self.dialer = dialer
        self.network = network
        self.rules = rules
    }

    package func dial(url: String, protocol name: String, maximumFrameBytes: Int) async throws
        -> any Socket
    {
        try await network.pass()
        let socket = try await dialer.dial(
            url: url, protocol: name, maximumFrameBytes: maximumFrameBytes)
        return PhoneSocket(PhoneWebSocketTask(socket, rules), network)
    }
}

/// A connection that breaks when the phone goes offline.
///
/// Does with what the system reports what `URLSessionSocket` does, by the same ``SocketEnd``.
private final class PhoneSocket: Socket {
    private let task: PhoneWebSocketTask
    private let network: PhonePaths
    private let watch: Task<Void, Never>

    init(_ task: PhoneWebSocketTask, _ network: PhonePaths) {
        self.task = task
        self.network = network
        watch = Task {
            for await network in network.changes where network == .off { return await task.lose() }
        }
    }

    deinit {
        watch.cancel()
        Task { [task] in await task.socket.close(code: 1_001) }
    }

    func receive() async throws -> [[UInt8]]? {
        let frames = try await task.end.receive { call in task.receive(call) }
        if let frames { try await network.carry(frames.reduce(0) { $0 + $1.count }) }
        return frames
    }

    func send(_ frames: [[UInt8]]) async throws {
        try await network.carry(frames.reduce(0) { $0 + $1.count })
        try await task.socket.send(frames)
    }

    func close(code: UInt16) async {
        task.end.closing()
        watch.cancel()
        await task.socket.close(code: code)
        task.end.failed(SocketFailure("The connection was closed."))
    }

    var closeCode: UInt16? { task.end.closeCode }

    func ping() async throws { try await task.socket.ping() }
}

/// The system's side of a connection: reports its end by the rules.
private final class PhoneWebSocketTask: Sendable {
    /// Between the failure of `receive` and the end of the task.
    private static let pause = Duration.milliseconds(50)

    let socket: any Socket
    let end = SocketEnd()
    private let rules: PhoneRules
    private let isLost = Mutex(false)

    init(_ socket: any Socket, _ rules: PhoneRules) {
        self.socket = socket
        self.rules = rules
    }

    func receive(_ call: Race<[[UInt8]]>) {
        Task {
            do {
                guard let frames = try await socket.receive() else { return await closed() }
                call.end(.success(frames))
            } catch {
                broke(error)
            }
        }
    }

    /// The network is gone: nothing of the peer arrives any more.
    func lose() async {
        isLost.withLock { $0 = true }
        broke(SocketFailure("The network was lost."))
        await socket.close(code: 1_001)
    }

    private func broke(_ error: any Error) {
        if rules.brokenSocket == .receiveFails { end.failed(error) }
        end.completed(code: 0, error)
    }

    private func closed() async {
        guard !isLost.withLock(\.self) else { return }
        let failure = SocketFailure("The connection was closed by the peer.")
        // Without a close frame the task has no code.
        let code = await socket.closeCode.map(Int.init) ?? 0
        switch rules.closedSocket {
        case .codeFirst:
            end.closed(code: code)
            end.failed(failure)
        case .failureFirst:
            end.failed(failure)
            try? await Task.sleep(for: Self.pause)
        }
        end.completed(code: code, failure)
    }
}
