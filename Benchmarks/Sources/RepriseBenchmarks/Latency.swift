import Foundation
import Histogram
import NIOCore
import NIOPosix
import Reprise
import RepriseNIO
import Synchronization

/// How long a message takes from its publisher to those who have it, at a steady rate over many
/// connections.
///
/// The time of sending is in the body, by the clock that all processes of the machine share.
struct Latency {
    let server: ServerProcess.Address
    /// Whether to speak the protocol, or to a bare fan-out that sends on what it gets.
    var isBare = false
    var connections = 1_000
    var channels = 100
    var perSecond = 10_000
    /// Long enough that the log seals its ids twice.
    var duration: Duration = .seconds(15)

    struct Outcome {
        /// Milliseconds from sending to the arrival of the frame, over all connections, at p99.
        var arrival: Double
        /// The same at the median.
        var median: Double
        /// Milliseconds from sending until message and position are durable and a transactional
        /// reader has had it, at p99.
        var applied: Double
        /// Messages per second that were sent.
        var rate: Double
    }

    func run() async throws -> Outcome {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        defer { Task { try? await group.shutdownGracefully() } }
        // Who publishes has a thread of his own: behind a thousand readers the steady rate would
        // come in bursts.
        let (loop, pace) = (group.next(), group.next())
        let state = try await loop.submit { NIOLoopBound(State(), eventLoop: loop) }.get()
        for index in 0..<connections {
            let connection = try await RawConnection.open(
                to: server, device: "reader-\(index)", on: loop)
            let channel = index % channels
            try await loop.submit {
                connection.value.onText = { state.value.arrived($0) }
                connection.value.send(
                    #"{"type":"subscribe","channels":[{"channelId":"steady\#(channel)"}]}"#)
                state.value.readers.append(connection.value)
            }.get()
        }
        let publisher = try await RawConnection.open(to: server, device: "pub", on: pace)
        let pacer = try await pace.submit { NIOLoopBound(Pacer(publisher.value), eventLoop: pace) }
            .get()
        let channels10 = (0..<10).map { "steady\($0)" }
        let device: any AppliedClock =
            isBare
            ? try await BareDevice.start(server: server, channels: channels10)
            : try await TimedDevice.start(server: server, channels: channels10)
        try await Task.sleep(for: .milliseconds(500))
        let (channels, perSecond, isBare) = (channels, perSecond, isBare)
        let run = UInt32.random(in: 0 ... .max)
        let start = NIODeadline.now()
        let ticks = pace.scheduleRepeatedTask(
            initialDelay: .zero, delay: .milliseconds(1)
        ) { _ in
            // By the clock, not by ticks: a tick that is late makes up for it.
            let due = Int((NIODeadline.now() - start).nanoseconds) * perSecond / 1_000_000_000
            pacer.value.send(due - pacer.value.sent, channels, run, isBare)
        }
        try await Task.sleep(for: .seconds(1))
        try await loop.submit { state.value.latency.reset() }.get()
        let sent = try await pace.submit { (pacer.value.sent, NIODeadline.now()) }.get()
        device.reset()
        try await Task.sleep(for: duration)
        let rate = try await pace.submit {
            let seconds = Double((NIODeadline.now() - sent.1).nanoseconds) / 1e9
            return Double(pacer.value.sent - sent.0) / seconds
        }.get()
        let outcome = try await loop.submit {
            Outcome(
                arrival: Double(state.value.latency.valueAtPercentile(99)) / 1e6,
                median: Double(state.value.latency.valueAtPercentile(50)) / 1e6,
                applied: device.p99, rate: rate)
        }.get()
        ticks.cancel()
        await device.stop()
        return outcome
    }

    private final class State {
        var readers: [RawConnection] = []
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000_000)

        func arrived(_ text: ByteBufferView) {
            guard let sent = MonotonicTime.sent(in: text) else { return }
            latency.record(UInt64(max(0, MonotonicTime.now - sent)))
        }
    }

    private final class Pacer {
        private let publisher: RawConnection
        private(set) var sent = 0

        init(_ publisher: RawConnection) { self.publisher = publisher }

        func send(_ count: Int, _ channels: Int, _ run: UInt32, _ isBare: Bool) {
            for _ in 0..<max(0, count) {
                sent += 1
                let frame =
                    isBare
                    ? #"{"type":"event","channelId":"steady\#(sent % channels)","seq":\#(sent),"id":"\#(run)-\#(sent)","timestamp":1765869151000,"body":"\#(MonotonicTime.now)"}"#
                    : #"{"type":"publish","channelId":"steady\#(sent % channels)","id":"\#(run)-\#(sent)","body":"\#(MonotonicTime.now)"}"#
                publisher.send(frame, flush: false)
            }
            publisher.flush()
        }
    }
}

/// Nanoseconds of the clock that all processes of a machine share.
enum MonotonicTime {
    static var now: Int64 { Int64(NIODeadline.now().uptimeNanoseconds) }

    /// The number in a body that is a text of digits, at the end of an event.
    static func sent(in event: some BidirectionalCollection<UInt8>) -> Int64? {
        let digits = event.dropLast(2)  // "}
        guard event.last == UInt8(ascii: "}"), event.dropLast().last == UInt8(ascii: "\"") else {
            return nil
        }
        var (value, factor): (Int64, Int64) = (0, 1)
        for byte in digits.reversed() {
            guard byte != UInt8(ascii: "\"") else { return factor > 1_000 ? value : nil }
            guard (0x30...0x39).contains(byte), factor < 1_000_000_000_000_000_000 else {
                return nil
            }
            value += Int64(byte - 0x30) * factor
            factor *= 10
        }
        return nil
    }
}

/// Who notes how long messages took until they were applied.
protocol AppliedClock: Sendable {
    func reset()
    /// Milliseconds.
    var p99: Double { get }
    func stop() async
}

/// A whole device that notes when a message is applied.
final class TimedDevice: AppliedClock {
    private let reprise: AccountClient
    private let folder: URL
    private let run: Task<Void, any Error>
    private let latency: Mutex<Histogram<UInt64>>

    private init(
        _ reprise: AccountClient, folder: URL, run: Task<Void, any Error>,
        latency: consuming sending Histogram<UInt64>
    ) {
        self.reprise = reprise
        self.folder = folder
        self.run = run
        self.latency = Mutex(latency)
    }

    static func start(server: ServerProcess.Address, channels: [String]) async throws -> TimedDevice
    {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-bench-\(UUID().uuidString)")
        let reprise = try await AccountClient.open(
            at: folder, server: "http://\(server.host):\(server.port)", dialer: NIODialer())
        let device = TimedDevice(
            reprise, folder: folder, run: Task { try await reprise.run() },
            latency: Histogram<UInt64>(highestTrackableValue: 60_000_000_000))
        for name in channels {
            try await reprise.channel(name).read(
                "clock", inTransaction: { [weak device] _, messages in device?.applied(messages) })
        }
        return device
    }

    private func applied(_ messages: [Message]) {
        // Inside the transaction, which its commit ends: what that takes is added by the next
        // figure that anybody can see.
        let now = MonotonicTime.now
        latency.withLock { latency in
            for message in messages {
                guard let sent = MonotonicTime.sent(in: message.body + [UInt8(ascii: "}")]) else {
                    continue
                }
                latency.record(UInt64(max(0, now - sent)))
            }
        }
    }

    func reset() { latency.withLock { $0.reset() } }

    /// Milliseconds.
    var p99: Double { latency.withLock { Double($0.valueAtPercentile(99)) / 1e6 } }

    func stop() async {
        run.cancel()
        _ = try? await run.value
        await reprise.close()
        try? FileManager.default.removeItem(at: folder)
    }
}
