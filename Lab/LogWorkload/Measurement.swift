import Foundation
import GRDB
import RepriseCore
import RepriseServer
import RepriseWire
import Synchronization

/// What the log and the committer reach on this machine, with bodies of 128 bytes.
struct Measurement {
    let folder: String
    let count: Int
    private let body = Array(("\"" + String(repeating: "x", count: 126) + "\"").utf8)

    func run() async throws {
        let log = try SQLiteMessageLog.open(at: folder)
        let committer = Committer(log: log) { _ in }
        let channels = try (0..<64).map { try ChannelName("channel-\($0)") }
        for batch in [32, 1_024] { try await appending(log, channels, batch: batch) }
        let running = Task { await committer.run() }
        try await throughput(committer, channels, publishers: 64, window: 16)
        try await latency(committer, channels[0])
        try await reading(log, channels[0])
        committer.shutdown()
        await running.value
        await log.close()
    }

    /// The log alone; what the publishers cost is not counted.
    private func appending(
        _ log: SQLiteMessageLog, _ channels: [ChannelName], batch: Int
    ) async throws {
        var (commits, busy) = ([Duration](), 0.0)
        let written = Self.writtenBytes()
        for turn in 0..<count / batch {
            let messages = (0..<batch).map {
                NewMessage(
                    channel: channels[(turn + $0) % channels.count], id: .random(), body: body)
            }
            let (before, start) = (processorTime(), ContinuousClock.now)
            _ = try await log.append(messages)
            commits.append(ContinuousClock.now - start)
            busy += processorTime() - before
        }
        let spent = commits.reduce(.zero, +)
        commits.sort()
        let times = [(0.5, "median"), (0.99, "p99"), (0.999, "p99.9"), (1, "longest")].map {
            "\($1) \(milliseconds(commits[Int(Double(commits.count - 1) * $0)]))"
        }
        print("\(batch) a commit: \(times.joined(separator: ", ")) ms")
        if let written, let now = Self.writtenBytes() {
            print("written: \((now - written) / (count / batch) / 1_024) KiB a commit")
        }
        print("processor time: \(busy / Double(count) * 1e6) µs a message")
        print(
            "append, \(batch) a commit: \(rate(count / batch * batch, spent.inSeconds)) messages/s")
    }

    /// What this process has written to files; nil if the system does not say.
    private static func writtenBytes() -> Int? {
        let lines = try? String(contentsOfFile: "/proc/self/io", encoding: .utf8).split(
            separator: "\n")
        let line = lines?.first { $0.hasPrefix("wchar: ") }
        return line.flatMap { Int($0.dropFirst(7)) }
    }

    private func milliseconds(_ duration: Duration) -> Double {
        (duration.inSeconds * 1e5).rounded() / 100
    }

    private func throughput(
        _ committer: Committer, _ channels: [ChannelName], publishers: Int, window: Int
    ) async throws {
        let perTask = count / (publishers * window)
        let start = ContinuousClock.now
        await withTaskGroup(of: Void.self) { group in
            for publisher in 0..<publishers {
                let channel = channels[publisher % channels.count]
                for _ in 0..<window {
                    group.addTask { [body] in
                        for _ in 0..<perTask {
                            let message = NewMessage(channel: channel, id: .random(), body: body)
                            _ = try? await committer.commit([message])
                        }
                    }
                }
            }
        }
        let seconds = (ContinuousClock.now - start).inSeconds
        let stored = perTask * publishers * window
        print("\(publishers) × \(window) in flight: \(rate(stored, seconds)) messages/s")
    }

    private func latency(_ committer: Committer, _ channel: ChannelName) async throws {
        try await measure("1 × 1 in flight") {
            _ = try await committer.commit([
                NewMessage(channel: channel, id: .random(), body: body)
            ])
        }
        let bare = try bareDatabase()
        try await measure("a bare SQLite commit") { try insert(into: bare) }
    }

    private func measure(_ name: String, _ body: () async throws -> Void) async throws {
        let turns = 2_000
        let start = ContinuousClock.now
        for _ in 0..<turns { try await body() }
        let seconds = (ContinuousClock.now - start).inSeconds
        print("\(name): \(Int(seconds / Double(turns) * 1e6)) µs")
    }

    /// What a commit costs at least: one table, one row, nothing around it.
    private func bareDatabase() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.journalMode = .wal
        let queue = try DatabaseQueue(path: folder + "/bare.sqlite", configuration: configuration)
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA synchronous = FULL;
                    CREATE TABLE IF NOT EXISTS row (key INTEGER PRIMARY KEY, body BLOB)
                    """)
        }
        return queue
    }

    private func insert(into queue: DatabaseQueue) throws {
        try queue.writeWithoutTransaction { db in
            try db.cachedStatement(sql: "INSERT INTO row (body) VALUES (zeroblob(128))").execute()
        }
    }

    private func reading(_ log: SQLiteMessageLog, _ channel: ChannelName) async throws {
        let head = try await log.state(of: channel).head
        let start = ContinuousClock.now
        var (position, events) = (Int64(0), 0)
        while let missing = SequenceRange(after: position, through: head) {
            let page = try await log.page(
                of: channel, missing: [missing], limit: 512, byteLimit: 1 << 20)
            position = page.through
            events += page.events.count
        }
        let seconds = (ContinuousClock.now - start).inSeconds
        print("reading one channel: \(rate(events, seconds)) messages/s")
    }

    /// Seconds that all threads of this process have worked; on a shared machine steadier than a
    /// clock.
    private func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private func rate(_ count: Int, _ seconds: Double) -> String {
        "\(Int(Double(count) / seconds))"
    }
}
