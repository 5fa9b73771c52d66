public import RepriseCore

/// A reminder of an entity.
public struct Reminder: Hashable, Sendable, Codable, Identifiable {
    /// The app's stable name for it: 1 to 64 bytes, unique for its entity.
    public var id: String
    /// The part of the entity that it is about, such as a question of a goal.
    public var part: String?
    /// When it rings.
    public var schedule: Schedule
    /// The first line of the notification.
    public var title: String
    /// The text of the notification.
    public var body: String
    /// Whether it plays a sound.
    public var sound: Bool
    /// A category of actions; empty: a tap opens the entity, without buttons.
    public var category: String

    /// Describes a reminder.
    public init(
        id: String, part: String? = nil, schedule: Schedule, title: String, body: String = "",
        sound: Bool = true, category: String = ""
    ) {
        self.id = id
        self.part = part
        self.schedule = schedule
        self.title = title
        self.body = body
        self.sound = sound
        self.category = category
    }
}

/// An active entity with its reminders.
public struct RemindedEntity: Hashable, Sendable, Identifiable {
    /// As in ``RepriseCore/Route/id``.
    public var id: String
    /// Its owner, as in ``RepriseCore/Route/owner``.
    public var owner: String?
    /// Its reminders: at most 64.
    public var reminders: [Reminder]

    /// Describes an entity and its reminders.
    public init(id: String, owner: String? = nil, reminders: [Reminder]) {
        self.id = id
        self.owner = owner
        self.reminders = reminders
    }
}
