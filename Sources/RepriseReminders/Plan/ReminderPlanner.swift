package import Foundation
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
    private var slots: [Slot?] = []
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

    /// Overrides whose time is over, soonest first.
    package func pastMarks(at now: WallTime) -> [ReminderOverride.Key] {
        marks.values.filter { $0.rings <= now }.sorted { $0.rings < $1.rings }.map(\.key)
    }

    /// Skipped and snoozed occurrences do not ring by their schedule.
    private mutating func hear(in zone: TimeZone) {
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

    private func slot(_ entity: String) -> Slot? { index[entity].flatMap { slots[$0] } }
}

extension ReminderPlanner {
    /// One occurrence of one line, by its place in the planner.
    private struct Candidate {
        var ring: Ring
        var slot: Int
        var line: Int
        /// Which one of its line, from now on.
        var number = 0

        var owner: Line { Line(slot: slot, line: line) }
        var name: Name { Name(owner: owner, number: number) }
    }

    private struct Line: Hashable {
        var slot: Int
        var line: Int
    }

    private struct Name: Hashable {
        var owner: Line
        var number: Int
    }

    /// Computes the plan.
    ///
    /// - Parameters:
    ///   - now: occurrences up to this moment are past.
    ///   - zone: the device's.
    /// - Returns: the desired pending notifications.
    package mutating func plan(at now: WallTime, in zone: TimeZone) -> ReminderPlan {
        hear(in: zone)
        for slot in slots.indices {
            for line in (slots[slot]?.lines ?? []).indices {
                slots[slot]?.lines[line].begin(at: now, in: zone)
            }
        }
        let said = said(at: now, in: zone)
        let placed = Array(said.prefix(limit))
        let room = limit - placed.count
        // The first without a place is never farther than the one after all places.
        let soonest = soonest(max(limit, room + 1))
        let chosen = choose(soonest, room: room)
        // In order, as long as nothing was said.
        var next = soonest.map { reminder($0) }
        var planned = next
        if chosen.count < soonest.count {
            // Most of those chosen are among the soonest, and their names are hashes.
            let known = Dictionary(zip(soonest.lazy.map(\.name), next)) { first, _ in first }
            planned = chosen.map { known[$0.name] ?? reminder($0) }
                .sorted(by: PlannedReminder.precedes)
        }
        if !said.isEmpty {
            planned = (placed + planned).sorted(by: PlannedReminder.precedes)
            next = (said + next).sorted(by: PlannedReminder.precedes)
        }
        let names = Set(chosen.map(\.name))
        let left = [
            said.dropFirst(limit).first?.at,
            soonest.first { !names.contains($0.name) }?.ring.time,
        ]
        return ReminderPlan(
            planned: planned, next: Array(next.prefix(limit)),
            guaranteedUntil: left.compactMap(\.self).min())
    }

    // MARK: By their schedules

    /// The soonest of all: they belong to as many lines at most, those whose next occurrence is
    /// soonest.
    private mutating func soonest(_ count: Int) -> [Candidate] {
        var heads = firstOf(count) { _, _ in true }
        var soonest: [Candidate] = []
        while soonest.count < count, let first = heads.first {
            soonest.append(first)
            heads.removeFirst()
            guard let ring = slots[first.slot]?.lines[first.line].ring(first.number + 1) else {
                continue
            }
            let candidate = Candidate(
                ring: ring, slot: first.slot, line: first.line, number: first.number + 1)
            insert(candidate, into: &heads, most: count)
        }
        return soonest
    }

    private mutating func choose(_ soonest: [Candidate], room: Int) -> [Candidate] {
        guard soonest.count > room else { return soonest }
        let share = room * 2 / 3
        var chosen = Array(soonest.prefix(share))
        let entities = Set(chosen.map(\.slot))
        let forEntities = firstOfEach(room - share) { !entities.contains($0) }
        chosen += forEntities
        let lines = Set(chosen.map(\.owner))
        chosen += firstOf(room - chosen.count) { !lines.contains(Line(slot: $0, line: $1)) }
        let names = Set(chosen.map(\.name))
        chosen += soonest.lazy.filter { !names.contains($0.name) }.prefix(room - chosen.count)
        return chosen
    }

    /// The soonest of the next occurrences of all lines of a kind, in order.
    private mutating func firstOf(
        _ count: Int, where isMeant: (_ slot: Int, _ line: Int) -> Bool
    ) -> [Candidate] {
        var heads: [Candidate] = []
        guard count > 0 else { return heads }
        for slot in slots.indices {
            for line in (slots[slot]?.lines ?? []).indices where isMeant(slot, line) {
                guard let ring = slots[slot]?.lines[line].ring(0) else { continue }
                insert(Candidate(ring: ring, slot: slot, line: line), into: &heads, most: count)
            }
        }
        return heads
    }

    /// The soonest of the next occurrences of all entities of a kind, in order.
    private mutating func firstOfEach(
        _ count: Int, where isMeant: (_ slot: Int) -> Bool
    ) -> [Candidate] {
        var heads: [Candidate] = []
        guard count > 0 else { return heads }
        for slot in slots.indices where isMeant(slot) {
            var own: [Candidate] = []
            for line in (slots[slot]?.lines ?? []).indices {
                guard let ring = slots[slot]?.lines[line].ring(0) else { continue }
                insert(Candidate(ring: ring, slot: slot, line: line), into: &own, most: 1)
            }
            if let first = own.first { insert(first, into: &heads, most: count) }
        }
        return heads
    }

    private func insert(_ candidate: Candidate, into list: inout [Candidate], most: Int) {
        if list.count >= most {
            guard let last = list.last, precedes(candidate, last) else { return }
        }
        var (low, high) = (0, list.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(candidate, list[middle]) { high = middle } else { low = middle + 1 }
        }
        list.insert(candidate, at: low)
        if list.count > most { list.removeLast() }
    }

    /// As ``PlannedReminder/precedes(_:_:)``, without making the words.
    private func precedes(_ left: Candidate, _ right: Candidate) -> Bool {
        if left.ring.at != right.ring.at { return left.ring.at < right.ring.at }
        guard let first = slots[left.slot], let second = slots[right.slot] else { return false }
        return (first.entity.id, first.lines[left.line].reminder.id, left.ring.local)
            < (second.entity.id, second.lines[right.line].reminder.id, right.ring.local)
    }

    private func reminder(_ candidate: Candidate) -> PlannedReminder {
        guard let slot = slots[candidate.slot] else {
            preconditionFailure("a candidate of an entity that was removed")
        }
        let reminder = slot.lines[candidate.line].reminder
        let occurrence = candidate.ring.occurrence
        let id = PlannedReminder.id(
            entity: slot.entity.id, reminder: reminder.id, occurrence: occurrence.local)
        return PlannedReminder(
            id: id, entity: slot.entity.id, owner: slot.entity.owner, reminder: reminder,
            occurrence: occurrence)
    }

    // MARK: Overrides

    /// Snoozes and tests that will ring, soonest first; a snooze of an inactive entity does not
    /// ring.
    private func said(at now: WallTime, in zone: TimeZone) -> [PlannedReminder] {
        marks.values.filter { $0.rings > now }.compactMap { said($0, in: zone) }
            .sorted(by: PlannedReminder.precedes)
    }

    private func said(_ mark: ReminderOverride, in zone: TimeZone) -> PlannedReminder? {
        let slot = slot(mark.entity)
        let line = slot?.lines.first { $0.reminder.id == mark.reminder }
        let (reminder, clock): (Reminder, ZoneClock)
        switch mark.what {
        case .skip: return nil
        case .snooze:
            guard let line else { return nil }
            (reminder, clock) = (line.reminder, line.clock(zone))
        case .test(let tried):
            (reminder, clock) = (tried, ZoneClock(tried.schedule.zone(on: zone) ?? zone))
        }
        let isTest = mark.what != .snooze
        let id = PlannedReminder.id(
            entity: mark.entity, reminder: mark.reminder, occurrence: mark.occurrence,
            isTest: isTest)
        return PlannedReminder(
            id: id, entity: mark.entity, owner: slot?.entity.owner, reminder: reminder,
            occurrence: occurrence(mark, clock), snoozedUntil: mark.rings, isTest: isTest)
    }

    /// Its original time; for a test or an unreadable one, the time it rings now.
    private func occurrence(_ mark: ReminderOverride, _ clock: ZoneClock) -> Occurrence {
        let seconds = mark.rings.milliseconds.floored(by: 1_000)
        let local = Occurrence.minutes(mark.occurrence)
        let moment =
            local.map { clock.moment($0 * 60) }
            ?? ZoneClock.Moment(at: seconds, wall: seconds + clock.offset(at: seconds))
        var occurrence = Ring(local: local ?? 0, at: moment.at, wall: moment.wall).occurrence
        occurrence.local = mark.occurrence
        return occurrence
    }
}
