import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// One publisher, 100 subscribers, 128-byte bodies, at most 256 messages on their way.
struct FanOut {
    let server: ServerProcess.Address
    /// Whether to speak the protocol, or to the bare pipeline that sends back what it gets.
    var isBare = false
    var subscribers = 100
    /// So many more subscribers that never read what they are sent.
    var stopped = 0
    var window = 256
    var duration: Duration = .seconds(5)

    /// - Returns: deliveries per second.
    func run() async throws -> Double {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { Task { try? await group.shutdownGracefully() } }
        let loop = group.next()
        var connections: [NIOLoopBound<RawConnection>] = []
        let state = try await loop.submit {
            NIOLoopBound(State(window: window, subscribers: subscribers), eventLoop: loop)
        }.get()
        for index in 0..<subscribers {
            let connection = try await RawConnection.open(
                to: server, device: "sub-\(index)", on: loop)
            try await loop.submit {
                if !isBare {
                    connection.value.send(#"{"type":"subscribe","channels":[{"channelId":"fan"}]}"#)
                }
                state.value.add(connection.value)
            }.get()
        }
        for index in 0..<stopped {
            let connection = try await RawConnection.open(
                to: server, device: "stopped-\(index)", on: loop)
            connections.append(connection)
            try await loop.submit {
                connection.value.send(#"{"type":"subscribe","channels":[{"channelId":"fan"}]}"#)
                connection.value.stopReading()
            }.get()
        }
        let publisher = try await RawConnection.open(to: server, device: "pub", on: loop)
        try await Task.sleep(for: .milliseconds(500))
        let body = String(repeating: "x", count: 126)
        let run = UInt32.random(in: 0 ... .max)
        try await loop.submit {
            state.value.start(publisher.value) { number in
                isBare
                    ? Self.event(seq: number, body: body)
                    : #"{"type":"publish","channelId":"fan","id":"\#(run)-\#(number)","body":"\#(body)"}"#
            }
        }.get()
        try await Task.sleep(for: .seconds(1))
        let before = try await loop.submit { (state.value.delivered, NIODeadline.now()) }.get()
        try await Task.sleep(for: duration)
        let after = try await loop.submit { (state.value.delivered, NIODeadline.now()) }.get()
        try await loop.submit { state.value.isStopped = true }.get()
        let seconds = Double((after.1 - before.1).nanoseconds) / 1e9
        return Double(after.0 - before.0) / seconds
    }

    /// What Reprise sends for such a message, so that the bare pipeline moves as many bytes.
    private static func event(seq: Int, body: String) -> String {
        #"{"type":"event","channelId":"fan","seq":\#(seq),"id":"1234567890-\#(seq)","timestamp":1765869151000,"body":"\#(body)"}"#
    }

    private final class State {
        let window: Int
        private var connections: [RawConnection] = []
        private var sent = 0
        private var base = 0
        private var publisher: RawConnection?
        private var message: ((Int) -> String)?
        var isStopped = false

        init(window: Int, subscribers: Int) {
            self.window = window
            connections.reserveCapacity(subscribers)
        }

        var delivered: Int { connections.reduce(0) { $0 + $1.frames } }

        func add(_ connection: RawConnection) {
            connection.onRead = { [weak self] _ in self?.topUp() }
            connections.append(connection)
        }

        func start(_ publisher: RawConnection, message: @escaping (Int) -> String) {
            self.publisher = publisher
            self.message = message
            base = connections.map(\.frames).min() ?? 0
            topUp()
        }

        private func topUp() {
            guard let publisher, let message, !isStopped else { return }
            let slowest = (connections.map(\.frames).min() ?? 0) - base
            guard sent - slowest <= window / 2 else { return }
            while sent - slowest < window {
                sent += 1
                publisher.send(message(sent), flush: false)
            }
            publisher.flush()
        }
    }
}
