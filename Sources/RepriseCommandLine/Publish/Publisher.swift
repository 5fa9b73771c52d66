package import RepriseCore
import RepriseWire

/// Publishes a sequence of bodies over one connection, and over the next one when that breaks.
///
/// Ids are kept over reconnections, and each message names its predecessor: whatever is cut or
/// restarted in the middle, every message is stored once, in order.
package struct Publisher: Sendable {
    /// A server that has not answered for so long is given up for a new connection.
    private static let silence = Duration.seconds(30)

    private let server: String
    private let dialer: any SocketDialer
    private let queue: PublishQueue
    private let caller: Caller?
    private let timeout: Duration
    private let onReconnect: @Sendable () -> Void

    /// - Parameters:
    ///   - server: the address.
    ///   - dialer: opens connections.
    ///   - queue: says what is sent next.
    ///   - caller: the publisher's identity; asked for a token at each connection.
    ///   - timeout: how long to go on trying without progress, once there has been a connection.
    ///   - onReconnect: called at the welcome of each connection but the first.
    package init(
        server: String, dialer: any SocketDialer, queue: PublishQueue, caller: Caller? = nil,
        timeout: Duration = .seconds(60),
        onReconnect: @escaping @Sendable () -> Void = {}
    ) {
        self.server = server
        self.dialer = dialer
        self.queue = queue
        self.caller = caller
        self.timeout = timeout
        self.onReconnect = onReconnect
    }

    /// Publishes everything; returns when all of it is stored.
    ///
    /// - Throws: what `bodies` throws, once everything before it is stored; ``RepriseError``.
    package func run<Bodies: AsyncSequence & Sendable>(_ bodies: Bodies) async throws
    where Bodies.Element == [UInt8] {
        try await withThrowingTaskGroup(of: (any Error)?.self) { group in
            group.addTask {
                var failure: (any Error)?
                do { try await feed(bodies) } catch { failure = error }
                queue.endInput()
                return failure
            }
            group.addTask {
                try await connections()
                return nil
            }
            var failure: (any Error)?
            for _ in 0..<2 { failure = try await group.next().flatMap { $0 } ?? failure }
            if let failure { throw failure }
        }
    }

    private func feed<Bodies: AsyncSequence>(_ bodies: Bodies) async throws
    where Bodies.Element == [UInt8] {
        for try await body in bodies {
            while !queue.admit(body) {
                try Task.checkCancellation()
                await queue.room.wait()
            }
        }
    }

    // MARK: Connections

    private func connections() async throws {
        let backoff = Backoff(base: .milliseconds(100), longest: .seconds(3))
        var trouble = Trouble()
        while !queue.isDone {
            let start = ContinuousClock.now
            do {
                try await connection {
                    if trouble.hasConnected { onReconnect() }
                    trouble.hasConnected = true
                }
                return
            } catch let error where Self.isWorthRetrying(error) {
                queue.disconnected()
                trouble.failed(
                    after: .now - start, acknowledged: queue.progress.acknowledged, at: .now)
                guard trouble.hasConnected, trouble.duration < timeout
                else { throw error }
                let wait = backoff.delay(failures: trouble.failures, jitter: .random(in: 0..<1))
                try await Task.sleep(for: max(wait, .milliseconds(10)))
            }
        }
    }

    /// For how long nothing has worked.
    private struct Trouble {
        var hasConnected = false
        private(set) var failures = 0
        private(set) var duration = Duration.zero
        private var since: ContinuousClock.Instant?
        private var acknowledged = 0

        mutating func failed(
            after lifetime: Duration, acknowledged: Int, at now: ContinuousClock.Instant
        ) {
            // A connection with acknowledgements, or a long idle one, resets the backoff.
            if acknowledged > self.acknowledged || lifetime > .seconds(30) {
                since = nil
                failures = 0
            }
            self.acknowledged = acknowledged
            failures += 1
            duration = now - (since ?? now)
            since = since ?? now
        }
    }

    /// Whether a retry may succeed: not if the server refuses for good.
    private static func isWorthRetrying(_ error: any Error) -> Bool {
        guard let error = error as? RepriseError else { return error is SocketFailure }
        return [.unreachable, .timedOut, .unavailable, .notReprise].contains(error.code)
    }

    private func connection(_ onWelcome: () -> Void) async throws {
        let socket = try await WireConnection.open(
            server, dialer: dialer, token: caller?.token())
        onWelcome()
        let work = queue.connected()
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await socket.read { try queue.received($0) } }
                group.addTask { try await watch() }
                group.addTask {
                    try await write(to: socket, work)
                    throw Finished()
                }
                try await group.next()
            }
        } catch is Finished {
            await socket.close()
            return
        } catch {
            await socket.close()
            throw error
        }
    }

    private struct Finished: Error {}

    private func write(to socket: WireConnection, _ work: Signal) async throws {
        while true {
            try Task.checkCancellation()
            switch queue.next() {
            case .send(let frames): try await socket.send(frames)
            case .sleep(let until): try await Task.sleep(until: until, clock: .continuous)
            case .wait: await work.wait()
            case .done: return
            }
        }
    }

    /// Ends an unresponsive connection, and everything if the server only refuses.
    private func watch() async throws {
        while true {
            try await Task.sleep(for: .milliseconds(250))
            let progress = queue.progress
            let quiet = ContinuousClock.now - progress.lastNews
            guard progress.isWaiting else { continue }
            if let refusal = progress.refusal, quiet > timeout {
                let words = refusal.printable
                throw CommandFailure(
                    .unavailable,
                    ["The server stores nothing: \(words)", words.retryRemedy]
                        .compactMap(\.self).joined(separator: " "))
            }
            if progress.refusal == nil, quiet > Self.silence {
                throw RepriseError(
                    .timedOut, "The server has not answered for \(Self.silence.shown).",
                    remedy: "Look at the server's log, and publish again.")
            }
        }
    }
}
