public import RepriseCore

/// A device's network, power and free space in memory.
///
/// ```swift
/// let device = ManualDevice()
/// configuration.deviceStatus = device
/// configuration.channels.network = device
/// configuration.dialer = device.dialer(over: server)
/// device.now.network = false                     // connections break, requests fail
/// ```
public final class ManualDevice: DeviceStatus, NetworkStatus {
    fileprivate let states: StateBroadcaster<DeviceConditions>

    /// Makes a device.
    ///
    /// - Parameter conditions: its conditions; everything is available by default.
    public init(_ conditions: DeviceConditions = DeviceConditions()) {
        states = StateBroadcaster(conditions, newest: 1)
    }

    /// The current conditions; set, they hold at once.
    public var now: DeviceConditions {
        get { states.value }
        set { states.announce(newValue) }
    }

    /// The current conditions, then each change; a slow reader gets the newest.
    public var conditions: AsyncStream<DeviceConditions> { states.watch() }

    /// The current path, then each change; a slow reader gets the newest.
    public var paths: AsyncStream<NetworkPath> {
        let conditions = conditions
        let (stream, reader) = AsyncStream.makeStream(
            of: NetworkPath.self, bufferingPolicy: .bufferingNewest(1))
        let relay = Task {
            for await now in conditions {
                reader.yield(
                    NetworkPath(
                        isUsable: now.network, interface: now.unmetered ? "wifi" : "cellular"))
            }
        }
        reader.onTermination = { _ in relay.cancel() }
        return stream
    }

    /// Puts a dialer behind this network: without one nothing is dialled, and connections break.
    ///
    /// - Parameter dialer: opens the connections.
    /// - Returns: the dialer for the app.
    public func dialer(over dialer: any SocketDialer) -> any SocketDialer {
        DeviceDialer(device: self, dialer: dialer)
    }

    /// Puts a transport behind this network: without one every request fails.
    ///
    /// - Parameter transport: performs the requests.
    /// - Returns: the transport for the app.
    public func transport(over transport: any HTTPTransport) -> any HTTPTransport {
        DeviceTransport(device: self, transport: transport)
    }

    fileprivate func check() throws {
        guard now.network else { throw RepriseError(.unreachable, "The device is offline.") }
    }
}

private struct DeviceTransport: HTTPTransport {
    let device: ManualDevice
    let transport: any HTTPTransport

    func exchange(
        _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try device.check()
        try await transport.exchange(request) { answer in
            try device.check()
            try await head(answer)
        } chunk: { bytes in
            try device.check()
            try await chunk(bytes)
        }
    }
}

private struct DeviceDialer: SocketDialer {
    let device: ManualDevice
    let dialer: any SocketDialer

    func dial(url: String, protocol name: String, maximumFrameBytes: Int) async throws
        -> any Socket
    {
        try device.check()
        let socket = try await dialer.dial(
            url: url, protocol: name, maximumFrameBytes: maximumFrameBytes)
        return DeviceSocket(socket, device)
    }
}

/// A connection that ends when the device goes offline.
private final class DeviceSocket: Socket {
    private let socket: any Socket
    private let watch: Task<Void, Never>

    init(_ socket: any Socket, _ device: ManualDevice) {
        self.socket = socket
        let conditions = device.conditions
        watch = Task {
            for await now in conditions where !now.network {
                return await socket.close(code: 1_001)
            }
        }
    }

    deinit { watch.cancel() }

    func receive() async throws -> [[UInt8]]? { try await socket.receive() }
    func send(_ frames: [[UInt8]]) async throws { try await socket.send(frames) }
    func ping() async throws { try await socket.ping() }
    var closeCode: UInt16? { get async { await socket.closeCode } }

    func close(code: UInt16) async {
        watch.cancel()
        await socket.close(code: code)
    }
}
