import Foundation
import RepriseCore

/// The desired pending notifications as of one moment.
struct ReconciliationAim {
    /// Soonest first, with the request for the system.
    var planned: [PlannedReminder] = []
    var requests: [ReminderRequest] = []
    /// The next, whether they have a place or not.
    var next: [PlannedReminder] = []
    var guaranteedUntil: WallTime?
    var isPermitted = false
    /// Requests of the app's own.
    var foreign = 0
}

/// A reconciliation's view of the app's store, and the changes of notifications that follow.
struct ReconciliationPlan: Sendable {
    static let prefix = PlannedReminder.prefix

    let sort: String
    private(set) var entities: [String: RemindedEntity] = [:]
    /// By entity, then by `entity/reminder`.
    private var wrong: [String: [String: String]] = [:]
    /// Entities for which, or for whose reminders, the limit left no place.
    private var crowded: Set<String> = []
    /// Those that are not over.
    var marks: [ReminderOverride] = []
    private var planner = ReminderPlanner()
    /// What the last reconciliation wanted, by its name: the next one wants most of it again.
    private var made: [String: (planned: PlannedReminder, request: ReminderRequest)] = [:]
    private var madeIn: TimeZone?

    init(sort: String) { self.sort = sort }

    var reminders: Int { planner.reminders }
    var invalid: [String: String] {
        wrong.values.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
    }

    // MARK: Entities

    /// Only changed entities cost time.
    mutating func replace(with all: [RemindedEntity]) {
        let ids = Set(all.map(\.id))
        for id in entities.keys where !ids.contains(id) { remove(id) }
        for entity in all where entities[entity.id] != entity { set(entity) }
        setCrowded()
    }

    /// Those of `ids` that are not among `found` are no longer reminded of.
    mutating func replace(_ ids: Set<String>, with found: [RemindedEntity]) {
        var gone = ids
        for entity in found where ids.contains(entity.id) {
            gone.remove(entity.id)
            if entities[entity.id] != entity { set(entity) }
        }
        for id in gone { remove(id) }
        setCrowded()
    }

    /// Others that ended may have left a place for them.
    private mutating func setCrowded() {
        for id in crowded.sorted() where planner.reminders < ReminderLimits.reminders {
            if let entity = entities[id] { set(entity) }
        }
    }

    private mutating func set(_ entity: RemindedEntity) {
        entities[entity.id] = entity
        let found = planner.set(entity)
        if found.contains(where: { $0.error.code == .full }) {
            crowded.insert(entity.id)
        } else {
            crowded.remove(entity.id)
        }
        let invalid = found.map { wrong in
            (
                [wrong.entity, wrong.reminder].compactMap { $0 }.joined(separator: "/"),
                wrong.error.description
            )
        }
        wrong[entity.id] =
            invalid.isEmpty ? nil : Dictionary(invalid) { first, _ in first }
    }

    private mutating func remove(_ id: String) {
        entities[id] = nil
        wrong[id] = nil
        crowded.remove(id)
        planner.remove(id)
    }

    // MARK: Desired notifications

    mutating func aim(
        permission: NotificationSettings.Authorization, pending: [NotificationRequest],
        at now: WallTime, in zone: TimeZone
    ) -> ReconciliationAim {
        tellMarks()
        var aim = ReconciliationAim()
        aim.foreign = pending.count { !$0.isOurs }
        aim.isPermitted = permission == .authorized || permission == .provisional
        // The system silently drops what exceeds its limit, perhaps a request of the app's own.
        planner.limit = max(
            0, min(ReminderLimits.places, ReminderEngineLimits.system - aim.foreign))
        let plan = planner.plan(at: now, in: zone)
        aim.next = plan.next
        guard aim.isPermitted else { return aim }
        aim.planned = plan.planned
        aim.requests = requests(for: plan.planned, in: zone)
        aim.guaranteedUntil = plan.guaranteedUntil
        return aim
    }

    private mutating func requests(
        for planned: [PlannedReminder], in zone: TimeZone
    ) -> [ReminderRequest] {
        let former = zone == madeIn ? made : [:]
        (made, madeIn) = (Dictionary(minimumCapacity: planned.count), zone)
        return planned.map { planned in
            let known = former[planned.id].flatMap { $0.planned == planned ? $0.request : nil }
            let request = known ?? ReminderRequest(planned, sort: sort, in: zone)
            made[planned.id] = (planned, request)
            return request
        }
    }

    private mutating func tellMarks() {
        let told = Dictionary(marks.map { ($0.key, $0) }) { _, last in last }
        for key in planner.marks.keys where told[key] == nil { planner.unmark(key) }
        for (key, mark) in told where planner.marks[key] != mark {
            // Fails only for a test that cannot be shown, which then does not ring. The journal
            // keeps fewer than the planner.
            try? planner.mark(mark)
        }
    }

    // MARK: Changes

    func info(_ request: NotificationRequest) -> ReminderInfo? {
        ReminderRequest.info(request, sort: sort)
    }

    /// The smallest set of changes, in reverse order: the soonest addition is at the front,
    /// removals are at the end.
    func changes(
        to aim: ReconciliationAim, from pending: [NotificationRequest], at now: WallTime,
        in zone: TimeZone
    ) -> [ReconciliationChange] {
        let ours = pending.filter(\.isOurs)
        let former = Dictionary(ours.indices.map { (ours[$0].id, $0) }) { _, last in last }
        var changes: [ReconciliationChange] = []
        for (planned, wanted) in zip(aim.planned, aim.requests) {
            guard let index = former[wanted.request.id] else {
                changes.append(.add(wanted.request, planned, isNew: true))
                continue
            }
            let request = ours[index]
            // Mostly it is the same to the byte, which shows sooner than what it says.
            guard request.content.info != wanted.request.content.info,
                info(request)?.print != wanted.print
            else { continue }
            changes.append(.add(wanted.request, planned, isNew: false))
        }
        changes.reverse()
        let wanted = Set(aim.requests.map(\.request.id))
        let removals = ours.filter { request in
            !wanted.contains(request.id)
                && !(aim.isPermitted && isRinging(request, at: now, in: zone))
        }.map { removal($0, aim) }
        if !removals.isEmpty { changes.append(.removePending(removals)) }
        return changes
    }

    /// It is due now and the system has not shown it yet: removed now, it would never ring.
    private func isRinging(
        _ request: NotificationRequest, at now: WallTime, in zone: TimeZone
    ) -> Bool {
        guard let at = ring(of: request, in: zone) else { return false }
        let age = at.duration(to: now)
        guard age >= .zero, age < .seconds(ReminderEngineLimits.ringingSeconds),
            let info = info(request)
        else { return false }
        if info.route.isTest { return true }
        guard let entity = entities[info.route.id], entity.owner == info.route.owner else {
            return false
        }
        return entity.reminders.contains { $0.id == info.reminder }
    }

    /// When the system shows it; nil: at no moment of the calendar.
    private func ring(of request: NotificationRequest, in zone: TimeZone) -> WallTime? {
        guard case .calendar(let components, repeats: false) = request.trigger else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = components.timeZone ?? zone
        return calendar.date(from: components).map {
            WallTime(milliseconds: Int64(($0.timeIntervalSince1970 * 1_000).rounded()))
        }
    }

    /// When the first of the requests that `changes` remove rings.
    func firstRing(
        of changes: [ReconciliationChange], among pending: [NotificationRequest], in zone: TimeZone
    ) -> WallTime? {
        guard case .removePending(let removals)? = changes.last else { return nil }
        let ids = Set(removals.map(\.id))
        return pending.lazy.filter { ids.contains($0.id) }.compactMap { ring(of: $0, in: zone) }
            .min()
    }

    private func removal(_ request: NotificationRequest, _ aim: ReconciliationAim)
        -> ReconciliationChange.Removal
    {
        let info = info(request)
        let why =
            if !aim.isPermitted {
                "Notifications are not allowed."
            } else if let info, let entity = entities[info.route.id] {
                if entity.owner != info.route.owner {
                    "It belongs to another user."
                } else if aim.next.contains(where: { $0.id == request.id }) {
                    "Others are sooner, and there is no place for it."
                } else {
                    "It is planned no more: its schedule has changed, or it was skipped, or its time is over."
                }
            } else if info == nil {
                "It cannot be read."
            } else {
                "Its entity is reminded of no more."
            }
        return ReconciliationChange.Removal(id: request.id, entity: info?.route.id, why: why)
    }

    /// Delivered notifications of inactive or another user's entities.
    ///
    /// `inUse`: the active ones of the unplanned entities; nil: unknown, so theirs stay.
    func gone(_ delivered: [DeliveredNotification], inUse: Set<String>?) -> [ReconciliationChange
        .Removal]
    {
        delivered.compactMap { notification in
            guard notification.request.isOurs, let info = info(notification.request),
                !info.route.isTest
            else { return nil }
            let id = notification.request.id
            if let entity = entities[info.route.id] {
                guard entity.owner != info.route.owner else { return nil }
                return .init(id: id, entity: entity.id, why: "It belongs to another user.")
            }
            guard let inUse, !inUse.contains(info.route.id) else { return nil }
            return .init(id: id, entity: info.route.id, why: "Its entity is not in use any more.")
        }
    }

    // MARK: The record

    func record(of work: Reconciler.Work, at now: ReconciliationMachine.Moment)
        -> ReconciliationRecord
    {
        let aim = work.aim
        let left = Set(work.changes.map(\.id))
        var rows = zip(aim.planned, aim.requests).map { planned, wanted in
            row(
                planned,
                work.isRefused[wanted.request.id].map { (.refused, $0) }
                    ?? (left.contains(wanted.request.id)
                        ? (.missing, work.fault) : (.pending, nil)),
                in: now.zone)
        }
        let names = Set(rows.map(\.id))
        rows += aim.next.filter { !names.contains($0.id) }.map { planned in
            row(
                planned,
                aim.isPermitted
                    ? (.beyond, nil) : (.missing, "Notifications are not allowed."),
                in: now.zone)
        }
        for case .removePending(let removals) in work.changes {
            let extra = Set(removals.map(\.id))
            rows += work.pending.filter { extra.contains($0.id) && !names.contains($0.id) }
                .map { self.extra($0, at: now, work.fault) }
        }
        return ReconciliationRecord(
            at: now.wall, cause: work.cause,
            summary: ReconciliationRecord.Summary(
                permission: (work.permission ?? .notDetermined).rawValue,
                zone: now.zone.identifier, entities: entities.count, reminders: reminders,
                guaranteedUntil: aim.guaranteedUntil, fault: work.fault),
            rows: rows, decisions: work.decisions, over: work.over, invalid: invalid)
    }

    /// Requests that the system still has and should not have.
    private func extra(
        _ request: NotificationRequest, at now: ReconciliationMachine.Moment, _ fault: String?
    ) -> ReconciliationRecord.Row {
        let info = info(request)
        return ReconciliationRecord.Row(
            id: request.id, entity: info?.route.id ?? "", reminder: info?.reminder ?? "",
            title: request.content.title, at: now.wall, local: info?.occurrence ?? "",
            zone: now.zone.identifier, status: .extra, reason: fault)
    }

    private func row(
        _ planned: PlannedReminder, _ standing: (ReconciliationRecord.Row.Status, String?),
        in zone: TimeZone
    ) -> ReconciliationRecord.Row {
        let place =
            switch planned.reminder.schedule.zone {
            case .device: zone.identifier
            case .fixed(let name): name
            }
        return ReconciliationRecord.Row(
            id: planned.id, entity: planned.entity, reminder: planned.reminder.id,
            title: planned.reminder.title, at: planned.at, local: planned.occurrence.local,
            zone: place, status: standing.0, reason: standing.1)
    }
}
