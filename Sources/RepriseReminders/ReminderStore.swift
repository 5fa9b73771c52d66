public import RepriseCore

/// The app's own store, as far as reminders need it.
///
/// ``DatabaseReminderStore`` is one over GRDB, ``MemoryReminderStore`` one for tests.
public protocol ReminderStore: EntityStore {
    /// All entities that are in use and have reminders: at most 10,000, with 30,000 reminders.
    func reminded() async throws -> [RemindedEntity]

    /// The active ones of these; an entity missing from the answer is no longer reminded of.
    func reminded(_ ids: Set<String>) async throws -> [RemindedEntity]

    /// Changes, sent after their commit; ends with the task that reads it. Send
    /// ``ReminderChange/everything`` if the change cannot be named.
    var changes: AsyncStream<ReminderChange> { get }

    /// Performs an action from a notification, without the app's screen: exactly once, if
    /// ``ReminderCommand/id`` is stored in the transaction of the effect.
    ///
    /// - Throws: `DispatchFailure.permanent` for a command that can never succeed; after any other
    ///   error it is tried again.
    func apply(_ command: ReminderCommand) async throws

    /// Whether a command has taken effect: checked before it is dispatched again.
    func isApplied(_ id: EntryID) async throws -> Bool
}

/// A change of the app's store.
public enum ReminderChange: Hashable, Sendable {
    /// These entities, or their reminders: created, edited, paused, deleted.
    case entities(Set<String>)
    /// Anything, as after an import.
    case everything
}

/// An action that a person chose on a notification, for the app's store.
public struct ReminderCommand: Hashable, Sendable {
    /// The action.
    ///
    /// The feature itself does snoozes and skips.
    public enum Action: Hashable, Sendable {
        /// An answer: the typed text, or the name of the action that stands for it.
        case log(String)
        /// Stops its reminders until the person resumes them.
        case pause
    }

    /// Its identity.
    public let id: EntryID
    /// The action.
    public let action: Action
    /// The entity, as the store has it now.
    public let entity: Entity
    /// Which part of it.
    public let part: String?
    /// The occurrence that rang, as in ``RepriseCore/Occurrence/local``.
    public let occurrence: String?

    /// Describes a command.
    public init(id: EntryID, action: Action, entity: Entity, part: String?, occurrence: String?) {
        self.id = id
        self.action = action
        self.entity = entity
        self.part = part
        self.occurrence = occurrence
    }
}
