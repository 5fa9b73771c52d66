package import RepriseCore

/// The phone's network as an app sees it.
package final class PhonePaths: NetworkStatus {
    /// A slow reader gets the newest.
    private let state: StateBroadcaster<PhoneNetwork>

    package init(_ network: PhoneNetwork) { state = StateBroadcaster(network, newest: 1) }

    var now: PhoneNetwork { state.value }

    package func set(_ network: PhoneNetwork) { state.announce(network) }

    /// The current network, then each change.
    var changes: AsyncStream<PhoneNetwork> { state.watch() }

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
package struct PhoneTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let network: PhonePaths

    package init(transport: any HTTPTransport, network: PhonePaths) {
        self.transport = transport
        self.network = network
    }

    package func exchange(
        _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await network.pass()
        try await transport.exchange(request) { answer in
            try await network.carry(0)
            try await head(answer)
        } chunk: { bytes in
            try await network.carry(bytes.count)
            try await chunk(bytes)
        }
    }
}
