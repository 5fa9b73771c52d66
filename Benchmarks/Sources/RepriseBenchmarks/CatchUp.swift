import Foundation
import NIOCore
import NIOPosix

/// A backlog of messages of 128 bytes, read by one connection.
struct CatchUp {
    let server: ServerProcess
    let channel: String

    /// Publishes `count` messages, 1,024 in flight.
    ///
    /// - Parameters:
    ///   - count: how many.
    ///   - place: the channel of each, by its number; this catch-up's own if nothing is said.
    /// - Throws: what the connection throws.
    func fill(_ count: Int, to place: (@Sendable (Int) -> String)? = nil) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { Task { try? await group.shutdownGracefully() } }
        let loop = group.next()
        let connection = try await RawConnection.open(
            to: server.address, device: "fill", on: loop)
        let done = loop.makePromise(of: Void.self)
        let body = String(repeating: "x", count: 126)
        let run = UInt32.random(in: 0 ... .max)
        let channel = channel
        try await Task.sleep(for: .milliseconds(200))
        try await loop.submit {
            let filler = Filler(connection.value, count: count, done: done) { number in
                #"{"type":"publish","channelId":"\#(place?(number) ?? channel)","id":"\#(run)-\#(number)","body":"\#(body)"}"#
            }
            connection.value.onRead = { filler.answered($0.frames) }
            filler.answered(connection.value.frames)
        }.get()
        try await done.futureResult.get()
    }

    private final class Filler {
        private let connection: RawConnection
        private let count: Int
        private let done: EventLoopPromise<Void>
        private let message: (Int) -> String
        private let welcome: Int
        private var sent = 0
        private var isDone = false

        init(
            _ connection: RawConnection, count: Int, done: EventLoopPromise<Void>,
            message: @escaping (Int) -> String
        ) {
            self.connection = connection
            self.count = count
            self.done = done
            self.message = message
            welcome = connection.frames
        }

        func answered(_ frames: Int) {
            let answers = frames - welcome
            while sent < count, sent - answers < 1_024 {
                sent += 1
                connection.send(message(sent), flush: false)
            }
            connection.flush()
            if answers >= count, !isDone {
                isDone = true
                done.succeed()
            }
        }
    }

    struct Outcome {
        var perSecond: Double
        /// The server's resident memory above what it had before, at its highest.
        var memory: Int
    }

    /// Reads it all and throws it away: the server's side alone.
    func read(_ count: Int) async throws -> Outcome {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { Task { try? await group.shutdownGracefully() } }
        let loop = group.next()
        let idle = server.residentBytes
        let connection = try await RawConnection.open(
            to: server.address, device: "reader", on: loop)
        let done = loop.makePromise(of: Int.self)
        let end = Array(#"{"type":"sync_complete""#.utf8)
        let channel = channel
        let clock = ContinuousClock()
        let start = clock.now
        try await loop.submit {
            let welcome = connection.value.frames
            connection.value.onText = { text in
                guard text.count < 400, text.starts(with: end) else { return }
                done.succeed(connection.value.frames - welcome)
            }
            connection.value.send(#"{"type":"subscribe","channels":[{"channelId":"\#(channel)"}]}"#)
        }.get()
        let watch = Task { [server] in
            var most = idle
            while !Task.isCancelled {
                most = max(most, server.residentBytes)
                try? await Task.sleep(for: .milliseconds(20))
            }
            return most
        }
        let frames = try await done.futureResult.get()
        let seconds = (clock.now - start).inSeconds
        watch.cancel()
        guard frames >= count else {
            throw BenchmarkError("a catch-up brought \(frames) frames for \(count) messages")
        }
        return Outcome(perSecond: Double(count) / seconds, memory: await watch.value - idle)
    }
}
