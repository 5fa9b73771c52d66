import RepriseCore
import RepriseReminders
import Synchronization

/// A store that does what a test says.
final class ScriptedStore: ReminderStore {
    typealias Finding = @Sendable (Route) async throws -> EntityFinding

    private struct State {
        var find: Finding
        var finds = 0
        var commands: [ReminderCommand] = []
        var applying: (@Sendable (ReminderCommand) async throws -> Void)?
        var reminded: [RemindedEntity] = []
    }

    private let state: Mutex<State>

    init(_ find: @escaping Finding) { state = Mutex(State(find: find)) }

    convenience init(_ entities: Entity...) {
        self.init { route in
            entities.first { $0.id == route.id }.map(EntityFinding.found) ?? .unknown
        }
    }

    func answer(_ find: @escaping Finding) { state.withLock { $0.find = find } }
    func applies(_ body: @escaping @Sendable (ReminderCommand) async throws -> Void) {
        state.withLock { $0.applying = body }
    }
    func reminds(_ entities: [RemindedEntity]) { state.withLock { $0.reminded = entities } }
    var finds: Int { state.withLock { $0.finds } }
    var commands: [ReminderCommand] { state.withLock { $0.commands } }
    func store(_ command: ReminderCommand) {
        state.withLock { state in
            if !state.commands.contains(where: { $0.id == command.id }) {
                state.commands.append(command)
            }
        }
    }

    func load() async throws {}

    func find(_ route: Route) async throws -> EntityFinding {
        let find = state.withLock { state in
            state.finds += 1
            return state.find
        }
        return try await find(route)
    }

    func reminded() async throws -> [RemindedEntity] { state.withLock { $0.reminded } }

    func reminded(_ ids: Set<String>) async throws -> [RemindedEntity] {
        state.withLock { $0.reminded.filter { ids.contains($0.id) } }
    }

    var changes: AsyncStream<ReminderChange> { AsyncStream { _ in } }

    func apply(_ command: ReminderCommand) async throws {
        if let body = state.withLock({ $0.applying }) { try await body(command) }
        store(command)
    }

    func isApplied(_ id: EntryID) async throws -> Bool { commands.contains { $0.id == id } }
}
