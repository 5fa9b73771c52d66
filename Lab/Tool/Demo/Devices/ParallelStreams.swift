import RepriseCommandLine
import RepriseCore
import RepriseSimulator
import RepriseWire
import Synchronization

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

    func dial(url: String, protocol name: String, maximumFrameBytes: Int) async throws
        -> any Socket
    {
        let socket = try await dialer.dial(
            url: url, protocol: name, maximumFrameBytes: maximumFrameBytes)
        return StreamedSocket(socket, seed: seed)
    }
}

private final class StreamedSocket: Socket {
    fileprivate struct Backlog {
        /// Which of the streams is slow.
        let slow: Int
        /// Sequences up to here are backlog.
        var target: Int64 = 0
        /// When each stream is free again.
        var free: [ContinuousClock.Instant] = []
        var next = 0
        var waiting = 0
        var endings: [[UInt8]] = []
    }

    private struct State {
        var random: SeededRandom
        var backlogs: [ChannelName: Backlog] = [:]
        var failure: (any Error)?
        var hasEnded = false
    }

    private let socket: any Socket
    private let state: Mutex<State>
    // Unbounded: a device of the demo reads at once, and is behind by one backlog of the demo at
    // most.
    private let ready = AsyncStream.makeStream(of: [[UInt8]].self)

    init(_ socket: any Socket, seed: UInt64) {
        self.socket = socket
        state = Mutex(State(random: SeededRandom(seed: seed)))
        Task { await self.pump() }
    }

    func receive() async throws -> [[UInt8]]? {
        for await frames in ready.stream { return frames }
        if let failure = state.withLock({ $0.failure }) { throw failure }
        return nil
    }

    func send(_ frames: [[UInt8]]) async throws { try await socket.send(frames) }
    func close(code: UInt16) async { await socket.close(code: code) }
    var closeCode: UInt16? { get async { await socket.closeCode } }

    private func pump() async {
        var decoder = FrameDecoder()
        var failure: (any Error)?
        do {
            while let frames = try await socket.receive() {
                for frame in frames { sort(frame, try decoder.serverFrame(frame)) }
            }
        } catch { failure = error }
        state.withLock { state in
            state.failure = failure
            state.hasEnded = true
        }
        ready.continuation.finish()
    }

    /// Sends a frame of a backlog into a stream, and any other on at once.
    private func sort(_ bytes: [UInt8], _ frame: ServerFrame?) {
        let due = state.withLock { state -> (ChannelName, ContinuousClock.Instant)? in
            switch frame {
            case .subscribed(let subscribed):
                let slow = Int.random(in: 0..<ParallelStreams.count, using: &state.random)
                state.backlogs[subscribed.channel, default: Backlog(slow: slow)]
                    .begin(subscribed.head)
            case .event(let event):
                guard var backlog = state.backlogs[event.channel], event.seq <= backlog.target
                else { break }
                defer { state.backlogs[event.channel] = backlog }
                return (event.channel, backlog.take(using: &state.random))
            case .syncComplete(let complete):
                guard state.backlogs[complete.channel]?.waiting ?? 0 > 0 else { break }
                state.backlogs[complete.channel]?.endings.append(bytes)
                return (complete.channel, .now)
            default: break
            }
            return nil
        }
        guard let (channel, moment) = due else { return send([bytes]) }
        if case .syncComplete = frame { return }
        Task {
            try? await Task.sleep(until: moment, clock: .continuous)
            pass(bytes, of: channel)
        }
    }

    private func pass(_ bytes: [UInt8], of channel: ChannelName) {
        send([bytes] + state.withLock { $0.backlogs[channel]?.passed() ?? [] })
    }

    private func send(_ frames: [[UInt8]]) {
        guard !state.withLock({ $0.hasEnded }) else { return }
        ready.continuation.yield(frames)
    }
}

extension StreamedSocket.Backlog {
    /// A catch-up begins; another may not be over.
    mutating func begin(_ head: Int64) {
        target = head
        free = Array(repeating: .now, count: ParallelStreams.count)
    }

    /// Gives the next event to the next stream.
    ///
    /// - Returns: when it comes out.
    mutating func take(using random: inout SeededRandom)
        -> ContinuousClock.Instant
    {
        let stream = next % ParallelStreams.count
        next += 1
        waiting += 1
        let pause = Int.random(in: 10...50, using: &random) * (stream == slow ? 4 : 1)
        free[stream] = free[stream].advanced(by: .milliseconds(pause))
        return free[stream]
    }

    /// One has come out.
    ///
    /// - Returns: the word that the catch-up is over, behind its last event.
    mutating func passed() -> [[UInt8]] {
        waiting -= 1
        guard waiting == 0 else { return [] }
        defer { endings = [] }
        return endings
    }
}
