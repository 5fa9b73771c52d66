import Foundation

/// One connection through the proxy: two sockets, and a `FaultyStream` for each direction.
///
/// Confined to the proxy's thread.
final class ProxiedConnection {
    private let client: TCPSocket
    private let server: TCPSocket
    private let tally: ProxyTally
    private var streams: [FaultProxy.Direction: FaultyStream]
    private var isConnecting = true
    /// Both sockets are closed; it can be forgotten.
    private(set) var isClosed = false

    init(client: TCPSocket, server: TCPSocket, faults: [FaultProxy.Fault], tally: ProxyTally) {
        self.client = client
        self.server = server
        self.tally = tally
        streams = Dictionary(
            uniqueKeysWithValues: FaultProxy.Direction.allCases.map { direction in
                (direction, FaultyStream(faults.filter { $0.direction == direction }))
            })
    }

    private func source(_ direction: FaultProxy.Direction) -> TCPSocket {
        direction == .toServer ? client : server
    }

    private func destination(_ direction: FaultProxy.Direction) -> TCPSocket {
        direction == .toServer ? server : client
    }

    /// Changes the stream of a direction, and performs the resulting actions.
    func change(
        _ direction: FaultProxy.Direction,
        _ body: (inout FaultyStream) -> [FaultyStream.Action]
    ) {
        guard !isClosed, var stream = streams[direction] else { return }
        let actions = body(&stream)
        streams[direction] = stream
        let other: FaultProxy.Direction = direction == .toServer ? .toClient : .toServer
        for action in actions {
            switch action {
            case .met(let kind): tally.met(kind)
            case .stallOther:
                streams[other]?.stall()
                tally.met(.halfOpened)
            case .finishBoth: streams[other]?.finish()
            case .resetBoth: reset()
            }
        }
    }

    /// RST to both sides.
    func reset() {
        guard !isClosed else { return }
        tally.met(.reset)
        close { $0.reset() }
    }

    private func close(_ end: (TCPSocket) -> Void) {
        isClosed = true
        end(client)
        end(server)
    }

    // MARK: Input and output

    /// The events to wait for: none of a socket that is not read, or its end would wake the loop
    /// for ever.
    func interests(at now: Duration) -> [pollfd] {
        var result: [pollfd] = []
        for direction in FaultProxy.Direction.allCases {
            let opposite: FaultProxy.Direction = direction == .toServer ? .toClient : .toServer
            var events: Int32 = 0
            if wantsRead(direction) { events |= Int32(POLLIN) }
            if direction == .toClient, isConnecting { events |= Int32(POLLOUT) }
            if wantsWrite(opposite, at: now) { events |= Int32(POLLOUT) }
            result.append(
                pollfd(
                    fd: events == 0 ? -1 : source(direction).descriptor, events: Int16(events),
                    revents: 0))
        }
        return result
    }

    private func wantsRead(_ direction: FaultProxy.Direction) -> Bool {
        !isConnecting && streams[direction]?.isReading == true
    }

    private func wantsWrite(_ direction: FaultProxy.Direction, at now: Duration) -> Bool {
        !isConnecting && streams[direction]?.ready(at: now) != nil
    }

    /// When to act although no socket is ready.
    var due: Duration? { isConnecting ? nil : streams.values.compactMap(\.due).min() }

    /// Moves the bytes that can be moved now.
    func turn(at now: Duration, _ buffer: UnsafeMutableRawBufferPointer, serverIsReady: Bool) {
        if isConnecting {
            guard serverIsReady else { return }
            // The client learns that the server is absent.
            guard server.isConnected else { return close { $0.reset() } }
            isConnecting = false
        }
        for direction in FaultProxy.Direction.allCases { read(direction, buffer, at: now) }
        for direction in FaultProxy.Direction.allCases { write(direction, at: now) }
        for direction in FaultProxy.Direction.allCases { finish(direction) }
        if !isClosed, streams.values.allSatisfy(\.isOver) { close { $0.close() } }
    }

    private func read(
        _ direction: FaultProxy.Direction, _ buffer: UnsafeMutableRawBufferPointer, at now: Duration
    ) {
        guard !isClosed, wantsRead(direction) else { return }
        switch source(direction).read(into: buffer) {
        case .wait: break
        case .bytes(let count):
            change(direction) {
                $0.bytesReceived(Array(buffer.prefix(count))[...], at: now)
            }
            tally.waiting(streams[direction]?.waiting ?? 0)
        case .end: streams[direction]?.sourceEnded(byReset: false)
        case .failed:
            streams[direction]?.sourceEnded(byReset: true)
            // The other direction has no receiver.
            streams[direction == .toServer ? .toClient : .toServer]?.abandon()
        }
    }

    private func write(_ direction: FaultProxy.Direction, at now: Duration) {
        while !isClosed, let bytes = streams[direction]?.ready(at: now) {
            switch destination(direction).write(bytes) {
            case .bytes(let count):
                streams[direction]?.written(count, at: now)
                tally.forwarded(count, direction)
            case .wait: return
            case .end, .failed: streams[direction]?.abandon()
            }
        }
    }

    private func finish(_ direction: FaultProxy.Direction) {
        guard !isClosed, let stream = streams[direction], stream.mayFinish else { return }
        if stream.endsWithReset { return close { $0.reset() } }
        streams[direction]?.finished()
        destination(direction).finish()
    }
}
