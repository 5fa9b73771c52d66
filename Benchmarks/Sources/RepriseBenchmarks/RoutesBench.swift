import Foundation
import NIOCore
import Reprise
import RepriseNIO
import Synchronization

/// A tap that waits for the app's store, beside the least that its hand-over takes: a commit and a
/// look into memory.
struct RoutesBench {
    private static let now = WallTime(milliseconds: 1_795_258_800_000)

    /// From the moment at which `load()` returns until the app's loop has the route, in
    /// milliseconds.
    ///
    /// - Parameter lives: how often the feature begins anew; in each of them one tap waits.
    /// - Returns: one time a life.
    /// - Throws: what the feature throws; `BenchmarkError`.
    func handed(lives: Int) async throws -> FormsBench.Times {
        try await withFolder { folder in
            var configuration = AccountClient.Configuration()
            configuration.reminders = Reminders.Configuration()
            let reprise = try await AccountClient.open(
                at: folder, server: "http://127.0.0.1:9", dialer: NIODialer(),
                configuration: configuration)
            guard let reminders = reprise.reminders else {
                throw BenchmarkError("there are no reminders")
            }
            await reprise.setReady(.ui)
            var times = FormsBench.Times()
            var taps = reminders.routes.makeAsyncIterator()
            for life in 0..<lives {
                try await reminders.received(Self.tap(life))
                let store = GoalsInMemory()
                let system = QuietNotifications()
                let run = Task {
                    try await reminders.run(store: store, notifications: system)
                }
                guard let tap = await taps.next() else { throw BenchmarkError("no tap") }
                let end = MonotonicTime.now
                guard case .active = tap.resolution else { throw BenchmarkError(tap.reason) }
                times.add(from: store.loadedAt, to: end)
                try await tap.presented()
                run.cancel()
                _ = try? await run.value
            }
            await reprise.close()
            return times
        }
    }

    private static func tap(_ number: Int) -> NotificationResponse {
        let info =
            #"{"reprise":{"v":2,"sort":"goal","id":"goal-\#(number % 200)","reminder":"r0"}}"#
        let content = NotificationContent(title: "Goal", info: Array(info.utf8))
        let request = NotificationRequest(id: "n\(number)", content: content)
        return NotificationResponse(
            notification: DeliveredNotification(
                request: request, date: now.advanced(by: .seconds(number)), isRemote: false))
    }

    /// An entry of the journal alone, whose gate is opened.
    func entry(rounds: Int) async throws -> FormsBench.Times {
        try await withFolder { folder in
            let journal = try await Journal.open(
                at: folder, kinds: [EntryKind("bare", requires: [.store])])
            let (arrivals, sender) = AsyncStream.makeStream(of: Int64.self)
            let known = Mutex(Dictionary(uniqueKeysWithValues: (0..<200).map { ("\($0)", $0) }))
            await journal.handle("bare") { entry in
                let id = String(decoding: entry.payload, as: UTF8.self)
                guard known.withLock({ $0[id] }) != nil else { return }
                sender.yield(MonotonicTime.now)
            }
            await journal.setReady(.journal)
            var times = FormsBench.Times()
            var arrived = arrivals.makeAsyncIterator()
            for round in 0..<rounds {
                try await journal.record(
                    NewEntry(kind: "bare", source: "bench", payload: Array("\(round % 200)".utf8)))
                let start = MonotonicTime.now
                await journal.setReady(.store)
                guard let end = await arrived.next() else { throw BenchmarkError("no entry") }
                times.add(from: start, to: end)
                await journal.setNotReady(.store)
            }
            await journal.close()
            return times
        }
    }

    /// A commit, and a look into memory.
    func bare(rounds: Int) async throws -> FormsBench.Times {
        try await withFolder { folder in
            let storage = try BareStorage(folder: folder.path)
            let known = Dictionary(uniqueKeysWithValues: (0..<200).map { ("goal-\($0)", $0) })
            var times = FormsBench.Times()
            for round in 0..<rounds {
                let row = ByteBuffer(repeating: 0x78, count: 180)
                let start = MonotonicTime.now
                await withCheckedContinuation { continuation in
                    storage.store([row]) { _ in continuation.resume() }
                }
                guard known["goal-\(round % 200)"] != nil else { throw BenchmarkError("gone") }
                times.add(from: start, to: MonotonicTime.now)
            }
            return times
        }
    }

    private func withFolder<T>(_ body: (URL) async throws -> T) async throws -> T {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await body(folder)
    }
}

/// 200 goals with 3 reminders each; says when it was loaded.
private final class GoalsInMemory: ReminderStore {
    private let loaded = Mutex<Int64>(0)
    private let all: [RemindedEntity]

    init() {
        all = (0..<200).map { number in
            RemindedEntity(
                id: "goal-\(number)",
                reminders: (0..<3).map { index in
                    Reminder(
                        id: "r\(index)",
                        schedule: Schedule(
                            .daily, at: [TimeOfDay((number + index * 7) % 24, number % 60)]),
                        title: "Goal \(number)")
                })
        }
    }

    var loadedAt: Int64 { loaded.withLock { $0 } }

    func load() async throws {
        try await Task.sleep(for: .milliseconds(20))
        loaded.withLock { $0 = MonotonicTime.now }
    }

    func find(_ route: Route) async throws -> EntityFinding {
        guard all.contains(where: { $0.id == route.id }) else { return .unknown }
        return .found(Entity(id: route.id, title: "Goal", state: .active))
    }

    func reminded() async throws -> [RemindedEntity] { all }
    func reminded(_ ids: Set<String>) async throws -> [RemindedEntity] {
        all.filter { ids.contains($0.id) }
    }
    var changes: AsyncStream<ReminderChange> { AsyncStream { _ in } }
    func apply(_ command: ReminderCommand) async throws {}
    func isApplied(_ id: EntryID) async throws -> Bool { false }
}

/// Takes everything.
private final class QuietNotifications: UserNotifications {
    private let requests = Mutex<[String: NotificationRequest]>([:])

    func settings() async throws -> NotificationSettings {
        NotificationSettings(authorization: .authorized)
    }
    func requestAuthorization(provisional: Bool) async throws -> Bool { true }
    func add(_ request: NotificationRequest) async throws {
        requests.withLock { $0[request.id] = request }
    }
    func pending() async throws -> [NotificationRequest] {
        requests.withLock { Array($0.values) }
    }
    func delivered() async throws -> [DeliveredNotification] { [] }
    func removePending(_ ids: [String]) async throws {
        requests.withLock { requests in for id in ids { requests[id] = nil } }
    }
    func removeDelivered(_ ids: [String]) async throws {}
    func setBadge(_ count: Int) async throws {}
    func setCategories(_ categories: [NotificationCategory]) async throws {}
}
