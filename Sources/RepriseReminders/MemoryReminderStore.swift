public import RepriseCore
import Synchronization

/// A reminder store in memory, for tests and an app's first steps: its content ends with the
/// process.
///
/// ```swift
/// let store = MemoryReminderStore()
/// store.save(Entity(id: "run", title: "Run"), reminders: [reminder])
/// configuration.reminders = .init(store: store)
/// ```
public final class MemoryReminderStore: ReminderStore {
    fileprivate struct State {
        var found: [String: EntityFinding] = [:]
        var reminders: [String: [Reminder]] = [:]
        var commands: [ReminderCommand] = []
        var fault: RepriseError?
    }

    private let state = Mutex(State())
    private let streams = ValueStreams<ReminderChange>()

    /// Makes an empty store.
    public init() {}

    // MARK: The app

    /// Adds an entity, or replaces the one of the same id.
    ///
    /// - Parameters:
    ///   - entity: as routes find it; it is reminded of while it is active.
    ///   - reminders: its reminders, at most 64.
    public func save(_ entity: Entity, reminders: [Reminder] = []) {
        change { state in
            state.found[entity.id] = .found(entity)
            state.reminders[entity.id] = reminders
        }
    }

    /// Pauses, archives or resumes an entity; does nothing for one that is not there.
    public func set(_ entity: Entity.State, _ id: String) {
        change { state in
            guard case .found(var found) = state.found[id] else { return }
            found.state = entity
            state.found[id] = .found(found)
        }
    }

    /// Deletes an entity; a tombstone stays.
    ///
    /// - Parameters:
    ///   - id: its id.
    ///   - when: the time of its deletion.
    ///   - replacement: the entity that has replaced it.
    public func delete(
        _ id: String, when: WallTime? = nil, replacedBy replacement: Entity? = nil
    ) {
        change { state in
            state.found[id] = replacement.map { .replaced(by: $0) } ?? .deleted(when: when)
            state.reminders[id] = nil
        }
    }

    /// The actions that people chose on notifications, each once, in order.
    public var commands: [ReminderCommand] { state.withLock { $0.commands } }

    /// Lets every call of the feature fail from now on; nil: succeed again.
    public func fail(_ fault: RepriseError?) { state.withLock { $0.fault = fault } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        // A slow reader loses the oldest: so each change says that it may be anything.
        streams.send(.everything)
    }

    // MARK: The feature

    private func read<T>(_ body: (inout State) throws -> T) throws -> T {
        try state.withLock { state in
            if let fault = state.fault { throw fault }
            return try body(&state)
        }
    }

    /// Succeeds, unless ``fail(_:)`` says otherwise.
    public func load() async throws { try read { _ in } }

    /// Looks an entity up, whatever its state.
    public func find(_ route: Route) async throws -> EntityFinding {
        try read { $0.found[route.id] ?? .unknown }
    }

    /// All active entities with reminders.
    public func reminded() async throws -> [RemindedEntity] {
        try read { state in state.reminders.keys.sorted().compactMap(state.reminded) }
    }

    /// The active ones of these.
    public func reminded(_ ids: Set<String>) async throws -> [RemindedEntity] {
        try read { state in ids.sorted().compactMap(state.reminded) }
    }

    /// Sends ``ReminderChange/everything`` after each change.
    public var changes: AsyncStream<ReminderChange> { streams.open() }

    /// Keeps a command, once; `pause` pauses its entity.
    public func apply(_ command: ReminderCommand) async throws {
        let isNew = try read { state in
            guard !state.commands.contains(where: { $0.id == command.id }) else { return false }
            state.commands.append(command)
            return true
        }
        if isNew, command.action == .pause { set(.paused, command.entity.id) }
    }

    /// Whether it has kept a command.
    public func isApplied(_ id: EntryID) async throws -> Bool {
        try read { $0.commands.contains { $0.id == id } }
    }
}

extension MemoryReminderStore.State {
    fileprivate func reminded(_ id: String) -> RemindedEntity? {
        guard case .found(let entity) = found[id], entity.state == .active,
            let reminders = reminders[id], !reminders.isEmpty
        else { return nil }
        return RemindedEntity(id: id, owner: entity.owner, reminders: reminders)
    }
}
