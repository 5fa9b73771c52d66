import Foundation
import RepriseCore

/// The proxy's thread: waits for sockets, for time and for commands.
final class ProxyLoop {
    /// More connections at once are refused.
    private static let maximumConnections = 512

    private let listener: TCPSocket
    private let server: Int
    private let mailbox: ProxyMailbox
    private let tally: ProxyTally
    private let clock = SystemTimekeeper()
    private var plan: FaultProxy.Plan
    private var accepted = 0
    private var connections: [ProxiedConnection] = []
    private var isRefusing = false
    private var delay: Duration = .zero
    private var bytesPerSecond: Int?

    init(
        listener: TCPSocket, server: Int, plan: FaultProxy.Plan, mailbox: ProxyMailbox,
        tally: ProxyTally
    ) {
        self.listener = listener
        self.server = server
        self.plan = plan
        self.mailbox = mailbox
        self.tally = tally
    }

    func run() {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 16)
        defer { buffer.deallocate() }
        var lastWords: [ProxyMailbox.Command] = []
        while true {
            let ready = wait()
            let (commands, isStopping) = mailbox.take()
            guard !isStopping else {
                lastWords = commands
                break
            }
            for command in commands { command(self) }
            let now = clock.uptime()
            for (connection, isReady) in ready {
                connection.turn(at: now, buffer, serverIsReady: isReady)
            }
            accept()
            connections.removeAll { $0.isClosed }
        }
        listener.close()
        for connection in connections { connection.reset() }
        for command in lastWords + mailbox.shut() { command(self) }
    }

    /// Sleeps until an event.
    ///
    /// - Returns: the connections, and whether the server's socket of each is ready.
    private func wait() -> [(ProxiedConnection, Bool)] {
        let now = clock.uptime()
        var polled = [
            pollfd(fd: mailbox.wakeDescriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        for connection in connections { polled += connection.interests(at: now) }
        _ = poll(&polled, nfds_t(polled.count), timeout(at: now))
        return connections.enumerated().map { index, connection in
            (connection, polled[2 + index * 2 + 1].revents != 0)
        }
    }

    /// Milliseconds, rounded up; due work waits for a socket instead.
    private func timeout(at now: Duration) -> Int32 {
        guard let due = connections.compactMap(\.due).filter({ $0 > now }).min() else { return -1 }
        let (seconds, attoseconds) = (due - now).components
        return Int32(min(seconds, 3_600)) * 1_000 + Int32(attoseconds / 1_000_000_000_000_000) + 1
    }

    private func accept() {
        while let client = listener.accept() {
            let planned = plan.connection(accepted)
            accepted += 1
            tally.connected()
            guard !planned.isRefused, !isRefusing, connections.count < Self.maximumConnections
            else {
                tally.met(.refused)
                client.reset()
                continue
            }
            guard let server = TCPSocket.connect(to: server) else {
                client.reset()
                continue
            }
            let connection = ProxiedConnection(
                client: client, server: server, faults: planned.faults, tally: tally)
            change([connection]) { [delay, bytesPerSecond] in
                (delay > .zero ? $0.set(delay: delay) : [])
                    + (bytesPerSecond == nil ? [] : $0.set(bytesPerSecond: bytesPerSecond))
            }
            connections.append(connection)
        }
    }

    private func change(
        _ connections: [ProxiedConnection], _ directions: Set<FaultProxy.Direction>? = nil,
        _ body: (inout FaultyStream) -> [FaultyStream.Action]
    ) {
        for connection in connections {
            for direction in directions ?? Set(FaultProxy.Direction.allCases) {
                connection.change(direction, body)
            }
        }
    }

    // MARK: Commands

    func cut(_ ending: FaultProxy.Ending) {
        for connection in connections where !connection.isClosed {
            switch ending {
            case .reset: connection.reset()
            case .finish:
                change([connection]) { stream in
                    stream.finish()
                    return []
                }
                tally.met(.finished)
            }
        }
    }

    func halfOpen(_ directions: Set<FaultProxy.Direction>) {
        change(connections, directions) { stream in
            guard !stream.isStalled else { return [] }
            stream.stall()
            return [.met(.halfOpened)]
        }
    }

    func hold() {
        change(connections) { stream in
            stream.isHeld = true
            return [.met(.held)]
        }
    }

    func release() {
        change(connections) { stream in
            stream.isHeld = false
            return []
        }
    }

    func lose(_ bytes: Int, _ direction: FaultProxy.Direction) {
        change(connections, [direction]) { $0.lose(bytes) }
    }

    func delay(_ delay: Duration) {
        self.delay = delay
        change(connections) { $0.set(delay: delay) }
    }

    func throttle(_ bytesPerSecond: Int?) {
        self.bytesPerSecond = bytesPerSecond
        change(connections) { $0.set(bytesPerSecond: bytesPerSecond) }
    }

    func refuse(_ isRefusing: Bool) { self.isRefusing = isRefusing }

    func heal() {
        plan = .none
        isRefusing = false
        delay = .zero
        bytesPerSecond = nil
        change(connections) { stream in
            stream.heal()
            return []
        }
    }
}
