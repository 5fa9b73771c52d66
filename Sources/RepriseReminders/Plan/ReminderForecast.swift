public import Foundation
public import RepriseCore

/// What would ring: for a screen that shows the next reminders, and to try a schedule before it is
/// saved.
///
/// ```swift
/// var forecast = ReminderForecast()
/// forecast.set(try await store.reminded())
/// for ring in forecast.next(at: now, in: .current) { print(ring.at, ring.reminder.title) }
/// ```
///
/// It decides as the door does, and asks neither the system nor the journal: snoozes, skips and
/// what the person allows are not in it.
public struct ReminderForecast: Sendable {
    /// One of the next.
    public struct Ring: Hashable, Sendable {
        /// As in ``RemindedEntity/id``.
        public var entity: String
        /// What it shows.
        public var reminder: Reminder
        /// Which occurrence of it.
        public var occurrence: Occurrence
        /// When it rings.
        public var at: WallTime { occurrence.at }
        /// Whether it would ring although nobody opens the app before.
        public var hasPlace: Bool
    }

    /// A reminder that would not ring, because something is wrong with it.
    public struct Problem: Hashable, Sendable {
        /// As in ``RemindedEntity/id``.
        public var entity: String
        /// As in ``Reminder/id``; nil: all of the entity.
        public var reminder: String?
        /// What is wrong, and what to do about it.
        public var error: RepriseError
    }

    private var planner = ReminderPlanner()

    /// Of nothing.
    public init() {}

    /// Replaces everything.
    ///
    /// - Parameter entities: what is reminded of.
    /// - Returns: what is wrong; the rest rings.
    @discardableResult
    public mutating func set(_ entities: [RemindedEntity]) -> [Problem] {
        planner.set(entities).map(Problem.init)
    }

    /// Adds an entity, or replaces it.
    ///
    /// - Parameter entity: what is reminded of.
    /// - Returns: what is wrong; the rest rings.
    @discardableResult
    public mutating func set(_ entity: RemindedEntity) -> [Problem] {
        planner.set(entity).map(Problem.init)
    }

    /// Removes an entity; an unknown one is passed over.
    public mutating func remove(_ id: String) { planner.remove(id) }

    /// The next 60 of all reminders, soonest first.
    ///
    /// - Parameters:
    ///   - now: what should ring then or before is past.
    ///   - zone: the device's.
    /// - Returns: fewer if there are not as many.
    public mutating func next(at now: WallTime, in zone: TimeZone) -> [Ring] {
        let plan = planner.plan(at: now, in: zone)
        let placed = Set(plan.planned.map(\.id))
        return plan.next.map { planned in
            Ring(
                entity: planned.entity, reminder: planned.reminder,
                occurrence: planned.occurrence, hasPlace: placed.contains(planned.id))
        }
    }

    /// Until then everything would ring, although nobody opens the app.
    ///
    /// - Parameters:
    ///   - now: what should ring then or before is past.
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
