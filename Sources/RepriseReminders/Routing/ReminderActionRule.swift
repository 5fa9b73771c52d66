public import RepriseCore

/// The effect of a notification button, without the app's screen.
///
/// ```swift
/// configuration.reminders?.actions = [
///     ReminderActionRule("log", category: "goal", title: "Log…", does: .log, asksForText: true),
///     ReminderActionRule(
///         "later", category: "goal", title: "In an hour", does: .snooze(.seconds(3_600))),
/// ]
/// try await notifications.setCategories(configuration.reminders?.categories ?? [])
/// ```
public struct ReminderActionRule: Hashable, Sendable {
    /// The effect of a button.
    public enum Effect: Hashable, Sendable {
        /// Sends the app's store an answer: the typed text, or the id of the action that stands for
        /// it.
        case log
        /// Has the same reminder ring again, so much later: a minute to 30 days.
        case snooze(Duration)
        /// Has the entity's reminders of today not ring any more.
        case skipToday
        /// Has the app's store remind no more of the entity.
        case pause
        /// Opens the app: a tap that names the action.
        case open
    }

    /// The id of a dismissal; a rule of this id has the category report it.
    public static let dismissal = "dismiss"

    /// The action's name, unique in its category: 1 to 128 bytes.
    public var id: String
    /// The category of the notifications that show it, as in ``Reminder/category``.
    public var category: String
    /// The button's title.
    public var title: String
    /// The button's effect.
    public var effect: Effect
    /// Whether it asks for a text.
    public var asksForText: Bool

    /// Declares a button.
    ///
    /// - Parameters:
    ///   - id: the action's name.
    ///   - category: as in ``Reminder/category``.
    ///   - title: the button's title.
    ///   - effect: the button's effect.
    ///   - asksForText: whether it asks for a text.
    public init(
        _ id: String, category: String, title: String, does effect: Effect,
        asksForText: Bool = false
    ) {
        self.id = id
        self.category = category
        self.title = title
        self.effect = effect
        self.asksForText = asksForText
    }
}

extension Reminders.Configuration {
    /// The categories of the actions, for ``RepriseCore/UserNotifications/setCategories(_:)``, in
    /// the order of the rules.
    public var categories: [NotificationCategory] {
        var categories: [NotificationCategory] = []
        for rule in actions {
            let index = categories.firstIndex { $0.id == rule.category }
            if index == nil { categories.append(NotificationCategory(id: rule.category)) }
            let place = index ?? categories.count - 1
            if rule.id == ReminderActionRule.dismissal {
                categories[place].reportsDismissal = true
            } else {
                categories[place].actions.append(
                    .init(
                        id: rule.id, title: rule.title, opensApp: rule.effect == .open,
                        asksForText: rule.asksForText))
            }
        }
        return categories
    }

    package func rule(_ action: String?, in category: String?) -> ReminderActionRule? {
        actions.first { $0.id == action && $0.category == category ?? "" }
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    func checkRouting() throws {
        func bad(_ what: String) -> RepriseError { RepriseError(.badConfiguration, what) }
        guard actions.count <= RouteLimits.rules, readers.count <= RouteLimits.rules else {
            throw bad(
                "There are at most \(RouteLimits.rules) rules for actions, and as many readers.")
        }
        var names: Set<[String]> = []
        for rule in actions {
            let name = rule.id.prefix(64)
            guard (1...RouteLimits.routeID).contains(rule.id.utf8.count) else {
                throw bad("The id of an action has 1 to \(RouteLimits.routeID) bytes.")
            }
            guard names.insert([rule.category, rule.id]).inserted else {
                throw bad("Two rules are for the action \(name) of one category.")
            }
            if case .snooze(let length) = rule.effect {
                let longest = Duration.seconds(ReminderEngineLimits.snoozeSeconds)
                guard .seconds(RouteLimits.leastSnoozeSeconds) <= length, length <= longest else {
                    throw bad(
                        "The action \(name) snoozes for less than a minute or more than 30 days.")
                }
            }
        }
    }
}
