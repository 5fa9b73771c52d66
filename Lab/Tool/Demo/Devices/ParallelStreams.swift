import RepriseCommandLine
import RepriseCore
import RepriseSimulator
import RepriseWire

/// Sends a backlog as the original backend did: in parallel streams, out of order, one of them
/// slow.
///
/// A dialer between a device of the demo and its real connection, the same for all devices: a
/// backlog goes through four streams with separate pauses, live messages bypass them, and the end
/// of the catch-up follows its last event. Messages in a stream are lost with the connection.
struct ParallelStreams: SocketDialer {
    /// "4 parallel processing threads" (`case-catch-up`).
    static let count = 4

    let dialer: any SocketDialer
    /// The seed of the pauses.
    let seed: UInt64
    /// Whether the slow stream of the first connection stands still after a few events: they are in
    /// it when the connection breaks, however late that is.
    var standsStill = false
    private let dials = Shared(0)

    func dial(url: String, protocol name: String, maximumFrameBytes: Int) async throws
        -> any Socket
    {
        let socket = try await dialer.dial(
            url: url, protocol: name, maximumFrameBytes: maximumFrameBytes)
        let isFirst = dials.update { count in
            count += 1
            return count == 1
        }
        return StreamedSocket(socket, seed: seed, standsStill: standsStill && isFirst)
    }
}

private actor StreamedSocket: Socket {
    private struct Backlog {
        /// Which of the streams is slow.
        let slow: Int
        /// Sequences up to here are backlog.
        var target: Int64 = 0
        /// When each stream is free again.
        var free: [ContinuousClock.Instant] = []
        var next = 0
        /// Events in the streams.
        var waiting = 0
        /// What follows the last of them.
        var endings: [[UInt8]] = []
    }

    /// How many events come through a slow stream that then stands still.
    private static let moving = 2

    private let socket: any Socket
    private let standsStill: Bool
    private var random: SeededRandom
    private var backlogs: [ChannelName: Backlog] = [:]
    // Unbounded: a device of the demo reads at once, and is behind by one backlog of the demo at
    // most.
    private let ready = AsyncThrowingStream.makeStream(of: [[UInt8]].self)

    init(_ socket: any Socket, seed: UInt64, standsStill: Bool) {
        (self.socket, self.standsStill) = (socket, standsStill)
        random = SeededRandom(seed: seed)
        Task { await self.pump() }
    }

    nonisolated func receive() async throws -> [[UInt8]]? {
        for try await frames in ready.stream { return frames }
        return nil
    }
    func send(_ frames: [[UInt8]]) async throws { try await socket.send(frames) }
    func close(code: UInt16) async { await socket.close(code: code) }
    var closeCode: UInt16? { get async { await socket.closeCode } }

    private func pump() async {
        var decoder = FrameDecoder()
        do {
            while let frames = try await socket.receive() {
                for frame in frames { sort(frame, try decoder.serverFrame(frame)) }
            }
            ready.continuation.finish()
        } catch { ready.continuation.finish(throwing: error) }
    }

    /// Sends a frame of a backlog into a stream, and any other on at once.
    private func sort(_ bytes: [UInt8], _ frame: ServerFrame?) {
        switch frame {
        case .subscribed(let subscribed):
            // A catch-up begins; another may not be over.
            let slow = Int.random(in: 0..<ParallelStreams.count, using: &random)
            var backlog = backlogs[subscribed.channel] ?? Backlog(slow: slow)
            backlog.target = subscribed.head
            backlog.free = Array(repeating: .now, count: ParallelStreams.count)
            backlogs[subscribed.channel] = backlog
        case .event(let event):
            guard var backlog = backlogs[event.channel], event.seq <= backlog.target else { break }
            let stream = backlog.next % ParallelStreams.count
            let pause = Int.random(in: 10...50, using: &random) * (stream == backlog.slow ? 4 : 1)
            let moment = backlog.free[stream].advanced(by: .milliseconds(pause))
            backlog.free[stream] = moment
            let turn = backlog.next / ParallelStreams.count
            backlog.next += 1
            backlog.waiting += 1
            backlogs[event.channel] = backlog
            // Lost with the connection.
            if standsStill, stream == backlog.slow, turn >= Self.moving { return }
            Task {
                try? await Task.sleep(until: moment, clock: .continuous)
                comeOut(bytes, of: event.channel)
            }
            return
        case .syncComplete(let complete):
            guard backlogs[complete.channel]?.waiting ?? 0 > 0 else { break }
            backlogs[complete.channel]?.endings.append(bytes)
            return
        default: break
        }
        ready.continuation.yield([bytes])
    }

    /// The end of a catch-up follows its last event; nothing follows the end of the connection.
    private func comeOut(_ bytes: [UInt8], of channel: ChannelName) {
        guard var backlog = backlogs[channel] else { return }
        backlog.waiting -= 1
        var frames = [bytes]
        if backlog.waiting == 0 {
            frames += backlog.endings
            backlog.endings = []
        }
        backlogs[channel] = backlog
        ready.continuation.yield(frames)
    }
}
