import Foundation
import GRDB
import NIOCore
import Reprise
import RepriseNIO
import Synchronization

/// A message that comes over a real socket to a device with many channels, until the system is
/// asked for its banner; beside a commit alone.
struct NoticesBench {
    /// Channels of which the journal has something, beside the one that is written to.
    let channels: Int

    /// From the moment at which the app's own reader could have the message, and from its
    /// publishing, to the system being asked.
    struct Times {
        /// From the publisher's `publish` to the request, the server's commit and the way included.
        var whole = FormsBench.Times()
        /// From the arrival in the device's journal, as an ordinary reader sees it, to the request;
        /// 0 for a request that is sooner.
        var decision = FormsBench.Times()
    }

    /// - Parameter messages: how many, one after the other.
    /// - Returns: one of each a message.
    /// - Throws: what the feature throws; `BenchmarkError`.
    func banners(messages: Int) async throws -> Times {
        let server = try ServerProcess(["serve-reprise"])
        defer { server.stop() }
        return try await withFolder { folder in
            let url = "http://127.0.0.1:\(server.address.port)"
            let (reprise, notices) = try await device(at: folder, url)
            let system = WatchedCentre()
            let general = try reprise.channel("general")
            let arrivals = Mutex<[EntryID: Int64]>([:])
            try await general.read("bench") { message in
                arrivals.withLock { $0[message.id] = MonotonicTime.now }
            }
            let running = [
                Task { try await reprise.run() },
                Task { try await notices.run(notifications: system) },
            ]
            let writer = try await AccountClient.open(
                at: folder.appendingPathComponent("writer"), server: url, dialer: NIODialer())
            let writing = Task { try await writer.run() }
            for await state in general.states where state == .live { break }
            var times = Times()
            var asked: [EntryID: Int64] = [:]
            var requests = system.requests.makeAsyncIterator()
            for number in 0..<messages {
                let start = MonotonicTime.now
                let id = try await writer.channel("general").publish(
                    #"{"text":"message \#(number)"}"#)
                guard let request = await requests.next() else { throw BenchmarkError("none") }
                guard request.id == id.text else { throw BenchmarkError("another message") }
                times.whole.add(from: start, to: request.at)
                asked[id] = request.at
            }
            for _ in 0..<1_000 where arrivals.withLock({ $0.count }) < messages {
                try await Task.sleep(for: .milliseconds(10))
            }
            let arrived = arrivals.withLock { $0 }
            guard arrived.count == messages else { throw BenchmarkError("the reader has not all") }
            for (id, at) in asked { times.decision.add(from: min(arrived[id] ?? at, at), to: at) }
            for task in running + [writing] { task.cancel() }
            await writer.close()
            await reprise.close()
            return times
        }
    }

    /// A row and a commit, which no decision can do without.
    func bare(rounds: Int) async throws -> FormsBench.Times {
        try await withFolder { folder in
            let storage = try BareStorage(folder: folder.path)
            var times = FormsBench.Times()
            for _ in 0..<rounds {
                let row = ByteBuffer(repeating: 0x78, count: 300)
                let start = MonotonicTime.now
                // One for the message, one for what was decided.
                for _ in 0..<2 {
                    await withCheckedContinuation { continuation in
                        storage.store([row]) { _ in continuation.resume() }
                    }
                }
                times.add(from: start, to: MonotonicTime.now)
            }
            return times
        }
    }

    /// A device whose journal knows of all the channels.
    private func device(at folder: URL, _ url: String) async throws -> (AccountClient, Notices) {
        var configuration = AccountClient.Configuration()
        configuration.notices = Notices.Configuration()
        let reprise = try await AccountClient.open(
            at: folder.appendingPathComponent("device"), server: url, dialer: NIODialer(),
            configuration: configuration)
        guard let notices = reprise.notices else { throw BenchmarkError("there are no notices") }
        let count = channels
        try await reprise.journal.write { db in
            for number in 0..<count {
                try db.execute(
                    sql: """
                        INSERT INTO channelsLog (channel, epoch, coverage, head, version)
                        VALUES (?, 'e1', '[]', 0, 0)
                        """, arguments: ["c\(number)"])
            }
        }
        return (reprise, notices)
    }

    private func withFolder<T>(_ body: (URL) async throws -> T) async throws -> T {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder)
    }
}

/// Takes everything, and says when.
private final class WatchedCentre: UserNotifications {
    struct Request: Sendable {
        var id: String
        var at: Int64
    }

    let requests: AsyncStream<Request>
    private let sender: AsyncStream<Request>.Continuation

    init() { (requests, sender) = AsyncStream.makeStream(of: Request.self) }

    func settings() async throws -> NotificationSettings {
        NotificationSettings(authorization: .authorized)
    }
    func requestAuthorization(provisional: Bool) async throws -> Bool { true }
    func add(_ request: NotificationRequest) async throws {
        sender.yield(Request(id: request.id, at: MonotonicTime.now))
    }
    func pending() async throws -> [NotificationRequest] { [] }
    func delivered() async throws -> [DeliveredNotification] { [] }
    func removePending(_ ids: [String]) async throws {}
    func removeDelivered(_ ids: [String]) async throws {}
    func setBadge(_ count: Int) async throws {}
    func setCategories(_ categories: [NotificationCategory]) async throws {}
}
