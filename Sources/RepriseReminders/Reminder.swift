/// What a person wants to be reminded of.
public struct Reminder: Hashable, Sendable, Codable, Identifiable {
    /// The app's name for it, the same as long as it is the same reminder: 1 to 64 bytes, unique
    /// for its entity.
    public var id: String
    /// The part of the entity that it is about, as a question of a goal.
    public var part: String?
    /// When it rings.
    public var schedule: Schedule
    /// The first line of the notification.
    public var title: String
    /// The text of the notification.
    public var body: String
    /// Whether it is heard.
    public var sound: Bool
    /// Names a category of actions; empty: the entity is opened, and nothing else.
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

/// An entity that is in use, and what a person wants to be reminded of about it.
public struct RemindedEntity: Hashable, Sendable, Identifiable {
    /// As in ``RepriseCore/Route/id``.
    public var id: String
    /// Whose it is, as in ``RepriseCore/Route/owner``.
    public var owner: String?
    /// Its reminders: at most 64.
    public var reminders: [Reminder]

    /// Describes what is to be reminded of.
    public init(id: String, owner: String? = nil, reminders: [Reminder]) {
        self.id = id
        self.owner = owner
        self.reminders = reminders
    }
}
