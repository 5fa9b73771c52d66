public import Foundation
public import RepriseCore

/// A forecast of reminders: for a screen that shows the next ones, and to try a schedule before it
/// is saved.
///
/// ```swift
/// var forecast = ReminderForecast()
/// forecast.set(try await store.reminded())
/// for ring in forecast.next(at: now, in: .current) { print(ring.at, ring.reminder.title) }
/// ```
///
/// Uses the feature's planner, without the system and the journal: it ignores snoozes, skips and
/// permission.
public struct ReminderForecast: Sendable {
    /// One of the next.
    public struct Ring: Hashable, Sendable {
        /// As in ``RemindedEntity/id``.
        public var entity: String
        /// The reminder.
        public var reminder: Reminder
        /// Which occurrence of it.
        public var occurrence: Occurrence
        /// When it rings.
        public var at: WallTime { occurrence.at }
        /// Whether it would ring even if the app is never opened before.
        public var hasPlace: Bool
    }

    /// A reminder that would not ring, because something is wrong with it.
    public struct Problem: Hashable, Sendable {
        /// As in ``RemindedEntity/id``.
        public var entity: String
        /// As in ``Reminder/id``; nil: all of the entity.
        public var reminder: String?
        /// The error and its remedy.
        public var error: RepriseError
    }

    private var planner = ReminderPlanner()

    /// An empty forecast.
    public init() {}

    /// Replaces everything.
    ///
    /// - Parameter entities: the entities and their reminders.
    /// - Returns: the invalid ones; the rest rings.
    @discardableResult
    public mutating func set(_ entities: [RemindedEntity]) -> [Problem] {
        planner.set(entities).map(Problem.init)
    }

    /// Adds or replaces an entity.
    ///
    /// - Parameter entity: the entity and its reminders.
    /// - Returns: the invalid ones; the rest rings.
    @discardableResult
    public mutating func set(_ entity: RemindedEntity) -> [Problem] {
        planner.set(entity).map(Problem.init)
    }

    /// Removes an entity; an unknown one is passed over.
    public mutating func remove(_ id: String) { planner.remove(id) }

    /// The next 60 of all reminders, soonest first.
    ///
    /// - Parameters:
    ///   - now: occurrences up to this moment are past.
    ///   - zone: the device's.
    /// - Returns: fewer if that is all.
    public mutating func next(at now: WallTime, in zone: TimeZone) -> [Ring] {
        let plan = planner.plan(at: now, in: zone)
        let placed = Set(plan.planned.map(\.id))
        return plan.next.map { planned in
            Ring(
                entity: planned.entity, reminder: planned.reminder,
                occurrence: planned.occurrence, hasPlace: placed.contains(planned.id))
        }
    }

    /// The end of the time in which everything would ring even if the app is never opened.
    ///
    /// - Parameters:
    ///   - now: occurrences up to this moment are past.
    ///   - zone: the device's.
    /// - Returns: nil: for ever.
    public mutating func guaranteedUntil(at now: WallTime, in zone: TimeZone) -> WallTime? {
        planner.plan(at: now, in: zone).guaranteedUntil
    }
}

extension ReminderForecast.Problem {
    fileprivate init(_ invalid: ReminderPlanner.Invalid) {
        self.init(entity: invalid.entity, reminder: invalid.reminder, error: invalid.error)
    }
}
