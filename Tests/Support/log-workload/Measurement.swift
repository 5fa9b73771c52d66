import Foundation
import RepriseCore
import RepriseServer
import RepriseWire
import Synchronization

/// What the log and the committer reach on this machine, with bodies of 128 bytes.
struct Measurement {
    let folder: String
    let count: Int
    private let body = Array(("\"" + String(repeating: "x", count: 126) + "\"").utf8)

    init(folder: String, count: Int) {
        self.folder = folder
        self.count = count
    }

    func run() async throws {
        let log = try SQLiteMessageLog.open(at: folder)
        let committer = Committer(log: log) { _ in }
        let channels = try (0..<64).map { try ChannelName("channel-\($0)") }
        try await appending(log, channels, batch: 1_024)
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
        var spent: Duration = .zero
        for turn in 0..<count / batch {
            let messages = (0..<batch).map {
                NewMessage(
                    channel: channels[(turn + $0) % channels.count], id: .random(), body: body)
            }
            let start = ContinuousClock.now
            _ = try await log.append(messages)
            spent += ContinuousClock.now - start
        }
        print(
            "append, \(batch) a commit: \(rate(count / batch * batch, spent.inSeconds)) messages/s")
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
        let turns = 2_000
        let start = ContinuousClock.now
        for _ in 0..<turns {
            _ = try await committer.commit([
                NewMessage(channel: channel, id: .random(), body: body)
            ])
        }
        let seconds = (ContinuousClock.now - start).inSeconds
        print("1 × 1 in flight: \(Int(seconds / Double(turns) * 1e6)) µs a message")
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

    private func rate(_ count: Int, _ seconds: Double) -> String {
        "\(Int(Double(count) / seconds))"
    }
}
