import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseReminders
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// An app's store in memory, which can be told to fail.
final class StoreInMemory: ReminderStore {
    struct Thing: Hashable {
        var entity: Entity
        var reminders: [Reminder]
    }

    struct State {
        var things: [String: Thing] = [:]
        var deleted: Set<String> = []
        var owner: String?
        /// How often loading fails before it succeeds.
        var loadFailures = 0
        /// How often reading fails before it succeeds.
        var readFailures = 0
        var isBlocked = false
        var blocked: [CheckedContinuation<Void, Never>] = []
        /// What was read: nil for everything.
        var reads: [Set<String>?] = []
        var finds = 0
        var watchers: [AsyncStream<ReminderChange>.Continuation] = []
    }

    private let state = Mutex(State())

    @discardableResult
    func with<T: Sendable>(_ body: (inout sending State) -> sending T) -> T {
        state.withLock { body(&$0) }
    }

    /// Changes something and says so.
    func change(_ change: ReminderChange, _ body: (inout State) -> Void) {
        let watchers = state.withLock { state in
            body(&state)
            return state.watchers
        }
        for watcher in watchers { watcher.yield(change) }
    }

    func put(
        _ id: String, _ reminders: [Reminder], state: Entity.State = .active, owner: String? = nil
    ) {
        change(.entities([id])) { all in
            all.deleted.remove(id)
            all.things[id] = Thing(
                entity: Entity(id: id, title: id, state: state, owner: owner), reminders: reminders)
        }
    }

    func set(_ id: String, _ value: Entity.State) {
        change(.entities([id])) { $0.things[id]?.entity.state = value }
    }

    func delete(_ id: String) {
        change(.entities([id])) { all in
            all.things[id] = nil
            all.deleted.insert(id)
        }
    }

    var reads: [Set<String>?] { state.withLock { $0.reads } }

    func unblock() {
        let blocked = state.withLock { state in
            state.isBlocked = false
            defer { state.blocked = [] }
            return state.blocked
        }
        for continuation in blocked { continuation.resume() }
    }

    // MARK: ReminderStore

    func load() async throws {
        let fails = state.withLock { state in
            defer { state.loadFailures = max(0, state.loadFailures - 1) }
            return state.loadFailures > 0
        }
        if fails { throw RepriseError(.busy, "Not yet.") }
    }

    private func read(_ ids: Set<String>?) async throws -> [RemindedEntity] {
        let isBlocked = state.withLock { state in
            state.reads.append(ids)
            return state.isBlocked
        }
        if isBlocked {
            await withCheckedContinuation { continuation in
                let isFree = state.withLock { state in
                    if state.isBlocked { state.blocked.append(continuation) }
                    return !state.isBlocked
                }
                if isFree { continuation.resume() }
            }
        }
        return try state.withLock { state in
            if state.readFailures > 0 {
                state.readFailures -= 1
                throw RepriseError(.diskFailed, "The store has hiccups.")
            }
            return state.things.values
                .filter { $0.entity.state == .active && (ids?.contains($0.entity.id) ?? true) }
                .map {
                    RemindedEntity(
                        id: $0.entity.id, owner: $0.entity.owner, reminders: $0.reminders)
                }
                .filter { !$0.reminders.isEmpty }
        }
    }

    func reminded() async throws -> [RemindedEntity] { try await read(nil) }

    func reminded(_ ids: Set<String>) async throws -> [RemindedEntity] { try await read(ids) }

    func find(_ route: Route) async throws -> EntityFinding {
        state.withLock { state in
            state.finds += 1
            if let thing = state.things[route.id] { return .found(thing.entity) }
            return state.deleted.contains(route.id) ? .deleted(when: nil) : .unknown
        }
    }

    var changes: AsyncStream<ReminderChange> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ReminderChange.self, bufferingPolicy: .unbounded)
        state.withLock { $0.watchers.append(continuation) }
        return stream
    }

    func apply(_ command: ReminderCommand) async throws {}

    func isApplied(_ id: EntryID) async throws -> Bool { false }
}

/// A device with a notification centre, and an app on it that is killed and opened again.
final class RemindersFixture: Sendable {
    let folder: TemporaryFolder
    let time: ManualClock
    let system: MemoryNotifications
    let store: StoreInMemory
    private let zone = Mutex(TimeZone.gmt)

    init(
        authorization: NotificationSettings.Authorization = .authorized,
        beyond: MemoryNotifications.BeyondLimit = .soonestKept
    ) throws {
        folder = try TemporaryFolder()
        // 2027-01-15T08:00:00Z, a Friday.
        time = ManualClock()
        system = MemoryNotifications(clock: time, authorization: authorization, beyond: beyond)
        store = StoreInMemory()
    }

    func travel(to zone: TimeZone) {
        self.zone.withLock { $0 = zone }
        system.travel(to: zone)
    }

    /// One process of the app.
    func open(
        dyingAfter changes: Int? = nil, refreshTask: String? = nil,
        scheduler: (any BackgroundScheduler)? = nil, store: (any ReminderStore)? = nil,
        journal name: String = "journal",
        _ set: (inout Reminders.Configuration) -> Void = { _ in }
    ) async throws -> RemindersProcess {
        var configuration = Reminders.Configuration()
        configuration.timekeeper = time
        configuration.zone = { self.zone.withLock { $0 } }
        configuration.jitter = { 0.5 }
        configuration.refreshTask = refreshTask
        set(&configuration)
        try configuration.check()
        var settings = Journal.Configuration()
        settings.closeGrace = .milliseconds(50)
        settings.timekeeper = time
        let journal = try await Journal.open(
            at: folder.appending(name), kinds: Reminders.kinds(configuration),
            schemas: [Reminders.schema], configuration: settings)
        return RemindersProcess(
            Reminders(journal: journal, configuration: configuration), journal,
            system.connect(dyingAfter: changes), store ?? self.store, scheduler)
    }
}

/// One life of an app.
final class RemindersProcess: Sendable {
    let journal: Journal
    let reminders: Reminders
    let connection: MemoryNotificationsConnection
    let running: Task<Void, any Error>

    init(
        _ reminders: Reminders, _ journal: Journal, _ connection: MemoryNotificationsConnection,
        _ store: any ReminderStore, _ scheduler: (any BackgroundScheduler)?
    ) {
        self.reminders = reminders
        self.journal = journal
        self.connection = connection
        running = Task {
            try await reminders.run(
                store: store, notifications: connection, scheduler: scheduler)
        }
    }

    /// Returns when nothing is under way, or the process is dead.
    func quiet(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await eventually(
            "it is quiet", every: .microseconds(200), sourceLocation: sourceLocation
        ) {
            if connection.isDead { return true }
            return await reminders.isQuiet
        }
    }

    /// Ends in good order.
    func close() async {
        running.cancel()
        _ = await running.result
        await journal.close()
    }

    /// Ends as a process does that is killed: the system hears nothing more, and nothing is
    /// written.
    func kill() async throws {
        connection.kill()
        try await journal.write { db in
            try db.execute(sql: "UPDATE journal SET incarnation = incarnation + 1")
        }
        await close()
    }

    func rows<T: DatabaseValueConvertible & Sendable>(_ sql: String) async throws -> [T] {
        try await journal.read { db in try T.fetchAll(db, sql: sql) }
    }
}

extension Reminder {
    /// Every day at this time.
    static func daily(_ id: String, _ hour: Int, _ minute: Int, title: String = "T") -> Reminder {
        Reminder(id: id, schedule: Schedule(.daily, at: [TimeOfDay(hour, minute)]), title: title)
    }

    static func once(_ id: String, _ date: LocalDate, _ hour: Int, _ minute: Int) -> Reminder {
        Reminder(id: id, schedule: Schedule(.once(date), at: [TimeOfDay(hour, minute)]), title: "T")
    }
}
