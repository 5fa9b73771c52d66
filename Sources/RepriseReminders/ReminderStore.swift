public import RepriseCore

/// The app's own store, as far as reminders need it.
///
/// `Goals`, in Examples, is one over GRDB.
public protocol ReminderStore: EntityStore {
    /// All entities that are in use and have reminders: at most 10,000, with 30,000 reminders.
    func reminded() async throws -> [RemindedEntity]

    /// These of them; who is not in the answer is not reminded of any more.
    func reminded(_ ids: Set<String>) async throws -> [RemindedEntity]

    /// What has changed, once it is committed; ends with the task that reads it. Who cannot name it
    /// says ``ReminderChange/everything``.
    var changes: AsyncStream<ReminderChange> { get }

    /// Does what a person chose on a notification, without the app's screen: exactly once, if
    /// ``ReminderCommand/id`` is stored in the transaction of the effect.
    ///
    /// - Throws: `HandOverFailure.permanent` for what can never be done; anything else is tried
    ///   again.
    func apply(_ command: ReminderCommand) async throws

    /// Whether a command has taken effect: asked before it is given again.
    func isApplied(_ id: EntryID) async throws -> Bool
}

/// What has changed in the app's store.
public enum ReminderChange: Hashable, Sendable {
    /// These entities, or their reminders: created, edited, paused, deleted.
    case entities(Set<String>)
    /// Anything, as after an import.
    case everything
}

/// What a person chose on a notification, for the app's store.
public struct ReminderCommand: Hashable, Sendable {
    /// What to do.
    ///
    /// Snoozing and skipping need no store: the door does them.
    public enum Action: Hashable, Sendable {
        /// An answer: the text that was typed, or the name of the action that stands for it.
        case log(String)
        /// Remind no more until the person says otherwise.
        case pause
    }

    /// Its identity.
    public let id: EntryID
    /// What to do.
    public let action: Action
    /// What with, as the store has it now.
    public let entity: Entity
    /// Which part of it.
    public let part: String?
    /// The occurrence that rang, as in ``Occurrence/local``.
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
