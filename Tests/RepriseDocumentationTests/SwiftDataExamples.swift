// Compiled by scripts/check-apple, without macros of SwiftData: plain classes stand for the models.
#if canImport(SwiftData)
    import CoreData
    import Reprise
    import SwiftData

    nonisolated class ExampleModel: PersistentModel {
        let id: String

        init(id: String) { self.id = id }

        static func == (left: ExampleModel, right: ExampleModel) -> Bool { left === right }
        func hash(into hasher: inout Hasher) { hasher.combine(id) }
    }

    nonisolated final class Goal: ExampleModel {
        var title = ""
        var isPaused = false
        var reminders: [Data] = []
    }

    nonisolated final class Answer: ExampleModel {
        init(id: String, goal: String, text: String) { super.init(id: id) }
    }

    nonisolated final class DeletedGoal: ExampleModel {}
    nonisolated final class DoneCommand: ExampleModel {}

    nonisolated final class GoalReminders: ReminderStore {
        private let container: ModelContainer

        init(_ container: ModelContainer) { self.container = container }

        func load() async throws {}  // the container is open already

        func find(_ route: Route) async throws -> EntityFinding {
            let context = ModelContext(container)
            let id = route.id
            let goals = FetchDescriptor<Goal>(predicate: #Predicate { $0.id == id })
            if let goal = try context.fetch(goals).first {
                let state: Entity.State = goal.isPaused ? .paused : .active
                return .found(Entity(id: goal.id, title: goal.title, state: state))
            }
            let deleted = FetchDescriptor<DeletedGoal>(predicate: #Predicate { $0.id == id })
            return try context.fetch(deleted).isEmpty ? .unknown : .deleted(when: nil)
        }

        func reminded() async throws -> [RemindedEntity] {
            let active = FetchDescriptor<Goal>(predicate: #Predicate { !$0.isPaused })
            return try ModelContext(container).fetch(active).map { goal in
                let reminders = goal.reminders.compactMap {
                    try? JSONDecoder().decode(Reminder.self, from: $0)
                }
                return RemindedEntity(id: goal.id, reminders: reminders)
            }
        }

        func reminded(_ ids: Set<String>) async throws -> [RemindedEntity] {
            try await reminded().filter { ids.contains($0.id) }
        }

        var changes: AsyncStream<ReminderChange> {
            AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
                let center = NotificationCenter.default
                let names = [ModelContext.didSave, .NSPersistentStoreRemoteChange]
                nonisolated(unsafe) let observers = names.map { name in
                    center.addObserver(forName: name, object: nil, queue: nil) { _ in
                        continuation.yield(.everything)
                    }
                }
                continuation.onTermination = { _ in
                    for observer in observers { center.removeObserver(observer) }
                }
            }
        }

        func apply(_ command: ReminderCommand) async throws {
            guard try await !isApplied(command.id) else { return }
            let context = ModelContext(container)
            let id = command.entity.id
            switch command.action {
            case .log(let text):
                context.insert(Answer(id: command.id.text, goal: id, text: text))
            case .pause:
                let goals = FetchDescriptor<Goal>(predicate: #Predicate { $0.id == id })
                for goal in try context.fetch(goals) { goal.isPaused = true }
            }
            context.insert(DoneCommand(id: command.id.text))
            try context.save()  // the id and its effect, both or neither
        }

        func isApplied(_ id: EntryID) async throws -> Bool {
            let id = id.text
            let done = FetchDescriptor<DoneCommand>(predicate: #Predicate { $0.id == id })
            return try !ModelContext(container).fetch(done).isEmpty
        }
    }
#endif
