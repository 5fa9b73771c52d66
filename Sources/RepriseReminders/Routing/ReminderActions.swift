import Foundation
import RepriseCore
import RepriseJournal

/// Performs actions from notifications, without the app's screen.
///
/// A snooze and a skip are overrides, written in the transaction that ends the entry: exactly once.
/// An answer and a pause go to the app's store; before every attempt but the first it is asked
/// whether it has them already.
struct ReminderActions: Sendable {
    private let configuration: Reminders.Configuration
    private let resolver: RouteResolver
    private let journal: Journal
    private let waits: ActionWaits
    private let done: @Sendable (String?) -> Void

    init(
        _ configuration: Reminders.Configuration, _ resolver: RouteResolver, _ journal: Journal,
        _ waits: ActionWaits, _ done: @escaping @Sendable (String?) -> Void
    ) {
        self.configuration = configuration
        self.resolver = resolver
        self.journal = journal
        self.waits = waits
        self.done = done
    }

    func perform(_ delivery: EntryDelivery) async {
        do {
            try await attempt(delivery)
        } catch let error as RepriseError where error.code == .malformed {
            failed(delivery, DispatchFailure.permanent("The entry cannot be read: \(error)"))
        } catch {
            failed(delivery, error)
        }
    }

    private func failed(_ delivery: EntryDelivery, _ error: any Error) {
        let id = delivery.entry.id
        delivery.end(as: .failed(error), written: { [waits] in waits.written(id) })
    }

    private func attempt(_ delivery: EntryDelivery) async throws {
        let arrival = try RouteArrival(payload: delivery.entry.payload)
        guard let rule = configuration.rule(arrival.action, in: arrival.category) else {
            if case .end(let outcome, let reason) = ReminderActionRule.withoutRule(arrival) {
                let id = delivery.entry.id
                delivery.end(
                    as: .ended(outcome, reason: reason), written: { [waits] in waits.written(id) })
            }
            return
        }
        let resolved = try await resolver.resolve(arrival)
        let end = ending(of: delivery, resolved)
        switch rule.plan(arrival, resolved) {
        case .end(let outcome, let reason): end(.ended(outcome, reason: reason), nil, nil)
        case .snooze(let entity, let info, let wait):
            end(
                .ended(.applied, reason: "snoozed"),
                try await snooze(entity, info, arrival, delivery.entry, for: wait), entity)
        case .skipToday(let entity):
            end(
                .ended(.applied, reason: "skipped"),
                .skipOfToday(
                    entity.id, reminder: nil, at: delivery.entry.recordedAt,
                    in: configuration.zone()),
                entity)
        case .give(let action, let entity, let info, let reason):
            try await give(action, delivery, info, entity)
            end(.ended(.applied, reason: reason), nil, entity)
        }
    }

    /// The resolution and the override are written with the end of the entry; the reconciliation
    /// follows, so that it sees the override.
    private func ending(of delivery: EntryDelivery, _ resolved: ResolvedRoute)
        -> (EntryDelivery.Ending, ReminderOverride?, Entity?) -> Void
    {
        let (id, recorded) = (delivery.entry.id, delivery.entry.recordedAt)
        return { [waits, done, journal] ending, mark, entity in
            delivery.end(
                as: ending,
                alongside: { db in
                    let now = journal.now
                    try RouteLog.resolved(id, resolved, isDispatched: false, at: now, db)
                    guard let mark else { return }
                    // The entry has moved with a calendar that was set while the app's store was
                    // asked.
                    let moved = try Journal.entry(id, in: db)?.recordedAt
                    do {
                        try ReminderPlanStore.mark(
                            mark.moved(by: recorded.duration(to: moved ?? recorded)), in: db,
                            at: now)
                    } catch let error as RepriseError where error.code == .full {
                        // The limit of overrides: the reminder stays as it is, and the log gives
                        // the reason.
                        try RouteLog.add("It has no effect: \(error)", to: id, db)
                    }
                },
                written: {
                    if let entity { done(entity.id) }
                    waits.written(id)
                })
        }
    }

    // MARK: Effects

    private func snooze(
        _ entity: Entity, _ info: ReminderInfo, _ arrival: RouteArrival, _ entry: Entry,
        for wait: Duration
    ) async throws -> ReminderOverride {
        let now = entry.recordedAt
        if let reminder = info.reminder, let occurrence = info.occurrence {
            return try .snooze(
                entity.id, reminder: reminder, occurrence: occurrence, for: wait, at: now)
        }
        // Older formats do not name the reminder: use the first one about the same part.
        let store = try resolver.currentStore()
        let entities = try await resolver.lookUps.ask("reminded") {
            try await store.reminded([entity.id])
        }
        let reminders = entities.first { $0.id == entity.id }?.reminders ?? []
        guard
            let reminder = reminders.first(where: { $0.part == info.route.part })
                ?? reminders.first
        else { throw DispatchFailure.permanent("Nothing is reminded of that could ring later.") }
        let rang = local(arrival.rang ?? now)
        return try .snooze(
            entity.id, reminder: reminder.id, occurrence: rang, for: wait, at: now)
    }

    /// The wall clock's time, as in ``RepriseCore/Occurrence/local``.
    private func local(_ moment: WallTime) -> String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = configuration.zone()
        let parts = calendar.dateComponents(
            [.year, .month, .day, .hour, .minute],
            from: Date(timeIntervalSince1970: Double(moment.milliseconds) / 1_000))
        func padded(_ number: Int?, _ width: Int) -> String {
            let digits = String(number ?? 0)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\(padded(parts.year, 4))-\(padded(parts.month, 2))-\(padded(parts.day, 2))"
            + "T\(padded(parts.hour, 2)):\(padded(parts.minute, 2))"
    }

    private func give(
        _ action: ReminderCommand.Action, _ delivery: EntryDelivery, _ info: ReminderInfo,
        _ entity: Entity
    ) async throws {
        let store = try resolver.currentStore()
        let id = delivery.entry.id
        if delivery.entry.attempt > 1,
            try await resolver.lookUps.ask("isApplied", { try await store.isApplied(id) })
        {
            return
        }
        let part = entity.parts.first { $0.id == info.route.part }?.id
        let command = ReminderCommand(
            id: id, action: action, entity: entity, part: part, occurrence: info.occurrence)
        try await resolver.lookUps.ask("apply") { try await store.apply(command) }
    }
}
