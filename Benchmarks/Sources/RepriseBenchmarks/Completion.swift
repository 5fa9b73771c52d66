import Foundation
import Histogram
import NIOCore
import NIOPosix
import Reprise
import RepriseCore
import RepriseNIO
import Synchronization

/// How long a device takes to know that it has everything.
enum Completion {
    /// From the arrival of the last backlog event to the state *live*, in a device with a journal
    /// on disk.
    ///
    /// - Returns: milliseconds at p99 over `rounds` devices, each new, with a backlog of 100
    ///   messages.
    static func afterLastEvent(
        server: ServerProcess, rounds: Int = 200, backlog: Int = 100
    ) async throws -> Double {
        try await CatchUp(server: server, channel: "backlog").fill(backlog)
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000_000)
        for _ in 0..<rounds {
            let dialer = WatchingDialer(last: "\"seq\":\(backlog),")
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("reprise-bench-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let reprise = try await AccountClient.open(
                at: folder, server: "http://\(server.address.host):\(server.address.port)",
                dialer: dialer)
            let channel = try reprise.channel("backlog")
            let states = channel.states
            try await channel.subscribe()
            let run = Task { try await reprise.run() }
            for await state in states where state == .live { break }
            let live = MonotonicTime.now
            run.cancel()
            _ = try? await run.value
            await reprise.close()
            guard let arrived = dialer.lastArrived else {
                throw BenchmarkError("the last event never arrived")
            }
            latency.record(UInt64(max(0, live - arrived)))
        }
        return Double(latency.valueAtPercentile(99)) / 1e6
    }

    /// From the arrival of the last backlog event until all of them are committed: the least that
    /// *live* costs.
    ///
    /// - Returns: milliseconds at p99 over `rounds` connections, each with a database of its own.
    static func bareCommits(
        server: ServerProcess, rounds: Int = 200, backlog: Int = 100
    ) async throws -> Double {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { Task { try? await group.shutdownGracefully() } }
        let last = Array("\"seq\":\(backlog),".utf8)
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000_000)
        for round in 0..<rounds {
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("reprise-bench-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let storage = try BareStorage(folder: folder.path)
            let loop = group.next()
            let connection = try await RawConnection.open(
                to: server.address, device: "bare-\(round)", on: loop)
            let done = loop.makePromise(of: Int64.self)
            try await loop.submit {
                connection.value.onText = { text in
                    let arrived = MonotonicTime.now
                    let isLast = text.prefix(80).indices.contains {
                        text[$0...].starts(with: last)
                    }
                    storage.store([ByteBuffer(bytes: text)]) { _ in
                        if isLast { done.succeed(MonotonicTime.now - arrived) }
                    }
                }
                connection.value.send(#"{"type":"subscribe","channels":[{"channelId":"backlog"}]}"#)
            }.get()
            latency.record(UInt64(max(0, try await done.futureResult.get())))
            try await loop.submit { connection.value.context?.close(promise: nil) }.get()
        }
        return Double(latency.valueAtPercentile(99)) / 1e6
    }

    /// Many channels of one connection, each with some messages that the device missed.
    ///
    /// - Returns: seconds from the start of the client until all channels are live.
    static func ofManyChannels(
        server: ServerProcess, channels: Int = 1_000, missed: Int = 10
    ) async throws -> Double {
        let names = (0..<channels).map { "many\($0)" }
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await CatchUp(server: server, channel: "")
            .fill(channels * missed) { names[$0 % names.count] }
        let reprise = try await AccountClient.open(
            at: folder, server: "http://\(server.address.host):\(server.address.port)",
            dialer: NIODialer())
        let clock = ContinuousClock()
        let start = clock.now
        let run = Task { try await reprise.run() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in names {
                let channel = try reprise.channel(name)
                group.addTask { try await channel.subscribe() }
            }
            try await group.waitForAll()
        }
        for name in names {
            for await state in try reprise.channel(name).states where state == .live { break }
        }
        let seconds = (clock.now - start).inSeconds
        run.cancel()
        _ = try? await run.value
        let ledger = try await reprise.ledger()
        await reprise.close()
        let expected = Int64(channels * missed)
        guard ledger.isBalanced, ledger.accepted == expected else {
            throw BenchmarkError("the device accepted \(ledger.accepted) of \(expected)")
        }
        return seconds
    }
}

/// Notes when the frame arrives that contains `last`.
private final class WatchingDialer: SocketDialer {
    private let last: [UInt8]
    private let arrived = Mutex<Int64?>(nil)
    private let dialer = NIODialer()

    init(last: String) { self.last = Array(last.utf8) }

    var lastArrived: Int64? { arrived.withLock { $0 } }

    func dial(
        url: String, protocol name: String, maximumFrameBytes: Int
    ) async throws -> any Socket {
        WatchedSocket(
            socket: try await dialer.dial(
                url: url, protocol: name, maximumFrameBytes: maximumFrameBytes),
            onFrames: { [self] frames in
                let now = MonotonicTime.now
                guard
                    frames.contains(where: { $0.starts(with: [UInt8(ascii: "{")]) && contains($0) })
                else { return }
                arrived.withLock { $0 = $0 ?? now }
            })
    }

    private func contains(_ frame: [UInt8]) -> Bool {
        frame.count > last.count
            && (0...(frame.count - last.count)).contains {
                frame[$0] == last[0] && frame[$0..<$0 + last.count].elementsEqual(last)
            }
    }
}

private struct WatchedSocket: Socket {
    let socket: any Socket
    let onFrames: @Sendable ([[UInt8]]) -> Void

    func send(_ frames: [[UInt8]]) async throws { try await socket.send(frames) }

    func receive() async throws -> [[UInt8]]? {
        let frames = try await socket.receive()
        if let frames { onFrames(frames) }
        return frames
    }

    func close(code: UInt16) async { await socket.close(code: code) }

    var closeCode: UInt16? { get async { await socket.closeCode } }
}
