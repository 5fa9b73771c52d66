import Foundation
import GRDB
import Histogram
import NIOCore
import NIOPosix

/// Durable publishing over WebSocket: each message counts when its acknowledgement, sent after
/// fsync, is back.
struct Publish {
    let server: ServerProcess.Address
    var publishers = 64
    var inFlight = 16
    var duration: Duration = .seconds(5)

    struct Outcome {
        var perSecond: Double
        /// Microseconds from sending to the acknowledgement.
        var median: Double
        var p99: Double
    }

    func run() async throws -> Outcome {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { Task { try? await group.shutdownGracefully() } }
        let loop = group.next()
        let body = String(repeating: "x", count: 126)
        let run = UInt32.random(in: 0 ... .max)
        var drivers: [NIOLoopBound<Driver>] = []
        for index in 0..<publishers {
            let connection = try await RawConnection.open(
                to: server, device: "pub-\(index)", on: loop)
            drivers.append(
                try await loop.submit {
                    let driver = Driver(connection.value) { number in
                        #"{"type":"publish","channelId":"c\#(index)","id":"\#(run)-\#(index)-\#(number)","body":"\#(body)"}"#
                    }
                    return NIOLoopBound(driver, eventLoop: loop)
                }.get())
        }
        try await Task.sleep(for: .milliseconds(300))
        let all = drivers
        try await loop.submit { all.forEach { $0.value.start(inFlight: inFlight) } }.get()
        try await Task.sleep(for: .seconds(1))
        let before = try await loop.submit {
            all.forEach { $0.value.latency.reset() }
            return (all.reduce(0) { $0 + $1.value.acknowledged }, NIODeadline.now())
        }.get()
        try await Task.sleep(for: duration)
        return try await loop.submit {
            let count = all.reduce(0) { $0 + $1.value.acknowledged } - before.0
            let seconds = Double((NIODeadline.now() - before.1).nanoseconds) / 1e9
            var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000_000)
            for driver in all {
                driver.value.isStopped = true
                for entry in driver.value.latency.recordedValues() {
                    latency.record(entry.value, count: entry.count)
                }
            }
            return Outcome(
                perSecond: Double(count) / seconds,
                median: Double(latency.valueAtPercentile(50)) / 1_000,
                p99: Double(latency.valueAtPercentile(99)) / 1_000)
        }.get()
    }

    private final class Driver {
        let connection: RawConnection
        private let message: (Int) -> String
        private var sentAt: [NIODeadline] = []
        private var sent = 0
        private var inFlight = 0
        private(set) var acknowledged = 0
        var latency = Histogram<UInt64>(highestTrackableValue: 60_000_000_000)
        var isStopped = false

        init(_ connection: RawConnection, message: @escaping (Int) -> String) {
            self.connection = connection
            self.message = message
        }

        func start(inFlight: Int) {
            self.inFlight = inFlight
            let welcome = connection.frames
            connection.onRead = { [weak self] connection in
                self?.answered(connection.frames - welcome)
            }
            answered(0)
        }

        private func answered(_ answers: Int) {
            // Acknowledgements of one connection come in the order of its publishes: one
            // connection, one channel.
            let now = NIODeadline.now()
            while acknowledged < answers {
                latency.record(UInt64(max(0, (now - sentAt[acknowledged % inFlight]).nanoseconds)))
                acknowledged += 1
            }
            guard !isStopped else { return }
            while sent - acknowledged < inFlight {
                if sentAt.count < inFlight {
                    sentAt.append(now)
                } else {
                    sentAt[sent % inFlight] = now
                }
                sent += 1
                connection.send(message(sent), flush: false)
            }
            connection.flush()
        }
    }

    /// The same rows into the same disk by a bare loop: one INSERT, one commit with fsync, again.
    static func bareCommits(duration: Duration = .seconds(3)) throws -> Double {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        }
        let queue = try DatabaseQueue(
            path: folder.appendingPathComponent("bare.sqlite").path, configuration: configuration)
        try queue.write {
            try $0.execute(
                sql:
                    "CREATE TABLE m(channel INTEGER, seq INTEGER, id TEXT, body BLOB, PRIMARY KEY(channel, seq)) WITHOUT ROWID"
            )
        }
        let body = Data(repeating: 0x78, count: 128)
        let clock = ContinuousClock()
        let start = clock.now
        var count = 0
        while clock.now - start < duration {
            count += 1
            try queue.write { db in
                try db.cachedStatement(sql: "INSERT INTO m VALUES(1, ?, ?, ?)")
                    .execute(arguments: [count, "1234567890-\(count)", body])
            }
        }
        return Double(count) / (clock.now - start).inSeconds
    }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
