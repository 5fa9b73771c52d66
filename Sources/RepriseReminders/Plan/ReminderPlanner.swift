import Foundation
package import RepriseCore

/// Chooses the pending notifications: the soonest of all reminders, without starving any.
///
/// Two thirds of the places go to the soonest of all. The others go, soonest first, to the next
/// occurrence of each entity without one, then of each reminder without one; the rest is filled by
/// time. Snoozes and tests come before all of them.
///
/// Computed occurrences are kept, so a change of one reminder costs that one and a look at the
/// others.
package struct ReminderPlanner: Sendable {
    /// A reminder that is not planned, because something is wrong with it.
    package struct Invalid: Hashable, Sendable {
        package var entity: String
        /// Nil: all of the entity.
        package var reminder: String?
        package var error: RepriseError
    }

    struct Slot: Sendable {
        var entity: RemindedEntity
        var lines: [ReminderLine]
    }

    /// Fewer where the app has requests of its own.
    var limit: Int
    /// With gaps where entities were removed, which the next ones take.
    var slots: [Slot?] = []
    private var free: [Int] = []
    private var index: [String: Int] = [:]
    private(set) var marks: [ReminderOverride.Key: ReminderOverride] = [:]
    /// Which of them are about an entity.
    private var told: [String: Set<ReminderOverride.Key>] = [:]
    /// Entities whose lines have not heard of a mark yet.
    private var unheard: Set<String> = []
    /// The start of a skipped day depends on it.
    private var heardIn: TimeZone?

    /// How many reminders it plans, of how many entities.
    package private(set) var reminders = 0
    package var entities: Int { index.count }

    /// - Parameter limit: the number of places.
    package init(limit: Int = ReminderLimits.places) { self.limit = max(0, limit) }

    /// Replaces all entities.
    ///
    /// - Returns: the invalid ones; the rest is planned.
    package mutating func set(_ entities: [RemindedEntity]) -> [Invalid] {
        slots = []
        free = []
        index = [:]
        reminders = 0
        slots.reserveCapacity(min(entities.count, ReminderLimits.entities))
        return entities.flatMap { set($0) }
    }

    /// Adds or replaces an entity.
    ///
    /// - Returns: the invalid ones; the rest is planned.
    package mutating func set(_ entity: RemindedEntity) -> [Invalid] {
        let place = index[entity.id]
        let former = place.flatMap { slots[$0]?.lines.count } ?? 0
        if let error = ReminderCheck.entity(entity, others: entities - (place == nil ? 0 : 1)) {
            remove(entity.id)
            return [Invalid(entity: entity.id, reminder: nil, error: error)]
        }
        let (lines, invalid) = lines(
            of: entity, room: ReminderLimits.reminders - reminders + former)
        if told[entity.id] != nil { unheard.insert(entity.id) }
        reminders += lines.count - former
        let slot = Slot(entity: entity, lines: lines)
        if let place {
            slots[place] = slot
        } else if let place = free.popLast() {
            slots[place] = slot
            index[entity.id] = place
        } else {
            index[entity.id] = slots.count
            slots.append(slot)
        }
        return invalid
    }

    private func lines(
        of entity: RemindedEntity, room: Int
    ) -> (lines: [ReminderLine], invalid: [Invalid]) {
        var lines: [ReminderLine] = []
        var invalid: [Invalid] = []
        var names: Set<String> = []
        for reminder in entity.reminders {
            do {
                try ReminderCheck.reminder(
                    reminder, isNew: names.insert(reminder.id).inserted,
                    isRoom: lines.count < min(room, ReminderLimits.entityReminders))
                lines.append(ReminderLine(reminder))
            } catch {
                invalid.append(
                    Invalid(entity: entity.id, reminder: reminder.id, error: error))
                // Exceeding the limit is reported once.
                if error.code == .full { break }
            }
        }
        return (lines, invalid)
    }

    /// Reminds no more of an entity; an unknown one is passed over.
    package mutating func remove(_ id: String) {
        guard let place = index.removeValue(forKey: id) else { return }
        reminders -= slots[place]?.lines.count ?? 0
        slots[place] = nil
        free.append(place)
    }

    /// Adds an override of an occurrence; the last one wins.
    ///
    /// - Throws: ``RepriseError`` `.full`, `.malformed` for a test that cannot be shown.
    package mutating func mark(_ mark: ReminderOverride) throws {
        guard marks[mark.key] != nil || marks.count < ReminderLimits.marks else {
            throw RepriseError(
                .full, "There are \(ReminderLimits.marks) snoozed and skipped reminders already.",
                remedy: "Forget those that are past.")
        }
        if case .test(let reminder) = mark.what { try ReminderCheck.content(reminder) }
        marks[mark.key] = mark
        told[mark.entity, default: []].insert(mark.key)
        unheard.insert(mark.entity)
    }

    /// Forgets it.
    package mutating func unmark(_ key: ReminderOverride.Key) {
        guard let mark = marks.removeValue(forKey: key) else { return }
        told[mark.entity]?.remove(key)
        if told[mark.entity]?.isEmpty ?? false { told[mark.entity] = nil }
        unheard.insert(mark.entity)
    }

    /// Overrides without any further effect, soonest first.
    package func pastMarks(at now: WallTime) -> [ReminderOverride.Key] {
        marks.values.filter { $0.rings <= now }.sorted { $0.rings < $1.rings }.map(\.key)
    }

    /// Skipped and snoozed occurrences do not ring by their schedule.
    mutating func hear(in zone: TimeZone) {
        if zone != heardIn { unheard.formUnion(told.keys) }
        heardIn = zone
        for entity in unheard {
            guard let place = index[entity] else { continue }
            let hidden = hidden(of: entity, in: zone)
            for line in (slots[place]?.lines ?? []).indices {
                let id = slots[place]?.lines[line].reminder.id ?? ""
                slots[place]?.lines[line].hide(
                    hidden[id]?.minutes ?? [],
                    days: (hidden[id]?.days ?? []).union(hidden[""]?.days ?? []))
            }
        }
        unheard = []
    }

    /// By reminder; a day of the empty one is hidden from all.
    private func hidden(
        of entity: String, in zone: TimeZone
    ) -> [String: (minutes: Set<Int64>, days: Set<Range<WallTime>>)] {
        var hidden: [String: (minutes: Set<Int64>, days: Set<Range<WallTime>>)] = [:]
        for key in told[entity] ?? [] {
            guard let mark = marks[key] else { continue }
            switch mark.what {
            case .skip where mark.isOfDay:
                hidden[key.reminder, default: ([], [])].days.insert(mark.day(in: zone))
            case .snooze, .skip:
                guard let minutes = Occurrence.minutes(key.occurrence) else { continue }
                hidden[key.reminder, default: ([], [])].minutes.insert(minutes)
            case .test: continue
            }
        }
        return hidden
    }

    func slot(_ entity: String) -> Slot? { index[entity].flatMap { slots[$0] } }
}
