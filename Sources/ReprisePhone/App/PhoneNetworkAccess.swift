package import RepriseCore
import Synchronization

/// The phone's network as an app sees it.
package final class PhonePaths: NetworkStatus {
    private struct State {
        var network: PhoneNetwork
        var readers: [Int: AsyncStream<PhoneNetwork>.Continuation] = [:]
        var last = 0
    }

    private let state: Mutex<State>

    package init(_ network: PhoneNetwork) { state = Mutex(State(network: network)) }

    var now: PhoneNetwork { state.withLock { $0.network } }

    package func set(_ network: PhoneNetwork) {
        let readers = state.withLock { state in
            state.network = network
            return Array(state.readers.values)
        }
        for reader in readers { reader.yield(network) }
    }

    /// The current network, then each change; a slow reader gets the newest.
    var changes: AsyncStream<PhoneNetwork> {
        let (stream, reader) = AsyncStream<PhoneNetwork>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.last += 1
            state.readers[state.last] = reader
            reader.yield(state.network)
            return state.last
        }
        reader.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.readers.removeValue(forKey: id) }
        }
        return stream
    }

    package var paths: AsyncStream<NetworkPath> {
        let changes = changes
        let (stream, reader) = AsyncStream<NetworkPath>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let relay = Task {
            for await network in changes {
                reader.yield(NetworkPath(isUsable: network != .off, interface: "wifi"))
            }
        }
        reader.onTermination = { _ in relay.cancel() }
        return stream
    }

    /// Waits for the network's latency.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.unreachable` while it is off.
    func pass() async throws {
        switch now {
        case .on: return
        case .slow(let latency, _): try await Task.sleep(for: .milliseconds(latency))
        case .off: break
        }
        if now == .off { throw RepriseError(.unreachable, "The phone is offline.") }
    }

    /// Waits as long as the network takes for so many bytes.
    func carry(_ bytes: Int) async throws {
        if case .slow(_, let rate?) = now {
            try await Task.sleep(for: .seconds(Double(bytes) / Double(max(1, rate))))
        }
        if now == .off { throw RepriseError(.unreachable, "The phone is offline.") }
    }
}

/// HTTP over the phone's network.
package struct PhoneFetcher: HTTPFetcher {
    private let fetcher: any HTTPFetcher
    private let network: PhonePaths

    package init(fetcher: any HTTPFetcher, network: PhonePaths) {
        self.fetcher = fetcher
        self.network = network
    }

    package func get(
        _ url: String, headers: [String: String], limit: Int
    ) async throws -> HTTPAnswer {
        try await network.pass()
        let answer = try await fetcher.get(url, headers: headers, limit: limit)
        try await network.carry(answer.body.count)
        return answer
    }
}

/// WebSocket connections over the phone's network.
struct PhoneDialer: SocketDialer {
    let dialer: any SocketDialer
    let network: PhonePaths

    func dial(url: String, protocol name: String, maximumFrameBytes: Int) async throws
        -> any Socket
    {
        try await network.pass()
        let socket = try await dialer.dial(
            url: url, protocol: name, maximumFrameBytes: maximumFrameBytes)
        return PhoneSocket(socket, network)
    }
}

/// A connection that breaks when the phone goes offline.
final class PhoneSocket: Socket {
    private let socket: any Socket
    private let network: PhonePaths
    private let watch: Task<Void, Never>

    init(_ socket: any Socket, _ network: PhonePaths) {
        self.socket = socket
        self.network = network
        watch = Task {
            for await network in network.changes where network == .off {
                return await socket.close(code: 1_001)
            }
        }
    }

    deinit { watch.cancel() }

    func receive() async throws -> [[UInt8]]? {
        let frames = try await socket.receive()
        if let frames { try await network.carry(frames.reduce(0) { $0 + $1.count }) }
        return frames
    }

    func send(_ frames: [[UInt8]]) async throws {
        try await network.carry(frames.reduce(0) { $0 + $1.count })
        try await socket.send(frames)
    }

    func close(code: UInt16) async {
        watch.cancel()
        await socket.close(code: code)
    }

    var closeCode: UInt16? { get async { await socket.closeCode } }

    func ping() async throws { try await socket.ping() }
}
