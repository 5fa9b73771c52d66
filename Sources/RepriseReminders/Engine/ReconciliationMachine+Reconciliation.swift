package import RepriseCore

/// One reconciliation, from its first question to its record.
extension ReconciliationMachine {
    struct Work {
        enum Stage {
            /// Everything is read at once; `missing` answers are outstanding.
            case reading(missing: Int)
            /// The store is asked for entities that notifications are of, and that are not in the
            /// plan.
            case looking
            case changing
            case writing
        }

        let number: Int
        let cause: ReconciliationCause
        /// The part of the store still to be read.
        var reading: Reading
        var stage: Stage
        var permission: NotificationSettings.Authorization?
        var pending: [NotificationRequest] = []
        var delivered: [DeliveredNotification] = []
        var aim = ReconciliationAim()
        /// The remaining changes, the next one last.
        var changes: [ReconciliationChange] = []
        var decisions: [ReconciliationRecord.Decision] = []
        var isRefused: [String: String] = [:]
        var fault: String?
        /// Marks whose time is over.
        var over: [ReminderOverride] = []
    }

    mutating func begin(at now: Moment) -> [Action] {
        guard phase == .ready, work == nil, let wanted else { return [] }
        self.wanted = nil
        againAt = nil
        number += 1
        var questions: [Question] = []
        switch wanted.reading {
        case .nothing: break
        case .entities(let ids): questions.append(.entities(ids))
        case .everything: questions.append(.entities(nil))
        }
        questions += [.settings, .pending, .delivered, .marks]
        work = Work(
            number: number, cause: wanted.cause, reading: wanted.reading,
            stage: .reading(missing: questions.count))
        return questions.map { .ask(number, $0) }
    }

    mutating func answered(_ answer: Answer, at now: Moment) -> [Action] {
        guard let stage = work?.stage else { return [] }
        switch stage {
        case .reading(let missing): return read(answer, missing: missing, at: now)
        case .looking:
            switch answer {
            case .looked(let inUse): return decide(inUse: inUse, at: now)
            // An entity that cannot be looked up stays; the next reconciliation tries again.
            case .failed, .refused: return decide(inUse: nil, at: now)
            case .entities, .settings, .pending, .delivered, .marks, .done: return []
            }
        case .changing: return changed(answer, at: now)
        case .writing:
            switch answer {
            case .failed(let why), .refused(let why):
                written = nil
                return fail("What was planned could not be written down: \(why)", at: now)
            case .entities, .settings, .pending, .delivered, .marks, .looked, .done:
                diagnostics.tally.writes += 1
                return finish(at: now)
            }
        }
    }

    private mutating func read(_ answer: Answer, missing: Int, at now: Moment) -> [Action] {
        switch answer {
        case .entities(let entities): take(entities)
        case .settings(let settings): work?.permission = settings.authorization
        case .pending(let pending): work?.pending = pending
        case .delivered(let delivered): work?.delivered = delivered
        case .marks(let marks):
            work?.over = marks.filter { $0.isOver(at: now.wall) }
            plan.marks = marks.filter { !$0.isOver(at: now.wall) }
        case .failed(let why), .refused(let why): return fail(why, at: now)
        case .looked, .done: return []
        }
        guard missing == 1 else {
            work?.stage = .reading(missing: missing - 1)
            return []
        }
        return look(at: now)
    }

    private mutating func take(_ entities: [RemindedEntity]) {
        switch work?.reading {
        case .everything: plan.replace(with: entities)
        case .entities(let ids): plan.replace(ids, with: entities)
        case nil, .nothing: break
        }
        work?.reading = .nothing
        diagnostics.entities = plan.entities.count
        diagnostics.reminders = plan.reminders
        diagnostics.invalid = plan.invalid
    }

    /// Notifications of entities in the plan stay; of the others the store knows whether they are
    /// in use.
    private mutating func look(at now: Moment) -> [Action] {
        guard let work else { return [] }
        var routes: [String: Route] = [:]
        for notification in work.delivered where notification.request.isOurs {
            guard let route = plan.info(notification.request)?.route, !route.isTest,
                plan.entities[route.id] == nil,
                routes.count < ReminderEngineLimits.lookUps
            else { continue }
            routes[route.id] = route
        }
        guard !routes.isEmpty else { return decide(inUse: [], at: now) }
        self.work?.stage = .looking
        return [.ask(work.number, .look(routes))]
    }

    /// The active ones of the unplanned entities; nil if unknown.
    private mutating func decide(inUse: Set<String>?, at now: Moment) -> [Action] {
        guard var work else { return [] }
        // The plan uses these clock readings; later clock changes cause another reconciliation.
        see(now)
        work.aim = plan.aim(
            permission: work.permission ?? .notDetermined, pending: work.pending, at: now.wall,
            in: now.zone)
        work.changes = plan.changes(
            to: work.aim, from: work.pending, at: now.wall, in: now.zone)
        let gone = plan.gone(work.delivered, inUse: inUse)
        if !gone.isEmpty { work.changes.append(.removeDelivered(gone)) }
        work.stage = .changing
        self.work = work
        diagnostics.permission = work.permission
        for (name, why) in plan.invalid.sorted(by: { $0.key < $1.key }) where told[name] != why {
            self.work?.decisions.append(
                ReconciliationRecord.Decision(
                    at: now.wall, what: .invalid, request: name, entity: nil, reason: why))
        }
        told = plan.invalid
        diagnostics.foreign = work.aim.foreign
        return nextChange(at: now)
    }

    private mutating func nextChange(at now: Moment) -> [Action] {
        guard let work, let change = work.changes.last else { return write(at: now) }
        return [.ask(work.number, change.question)]
    }

    private mutating func changed(_ answer: Answer, at now: Moment) -> [Action] {
        guard let change = work?.changes.popLast() else { return [] }
        switch answer {
        case .done:
            work?.decisions += change.decisions(at: now.wall)
            diagnostics.tally.count(change)
        case .refused(let why):
            work?.isRefused[change.id] = why
            diagnostics.tally.refused += 1
            if refusals[change.id] != why {
                work?.decisions.append(change.refusal(why, at: now.wall))
            }
        case .failed(let why):
            // The rest waits for the next reconciliation, with this one.
            work?.fault = why
            work?.changes.append(change)
            return write(at: now)
        case .entities, .settings, .pending, .delivered, .marks, .looked: return []
        }
        return nextChange(at: now)
    }

    private mutating func write(at now: Moment) -> [Action] {
        guard var work else { return [] }
        refusals = work.isRefused
        work.stage = .writing
        let record = plan.record(of: work, at: now)
        diagnostics.planned = work.aim.requests.count
        diagnostics.pending = record.rows.count { $0.status == .pending }
        diagnostics.refused = work.isRefused
        diagnostics.guaranteedUntil = work.aim.guaranteedUntil
        rings = work.aim.planned.first.map { first in
            let wait = max(now.wall.duration(to: first.at), .zero)
            return (first.at, now.uptime + wait + .seconds(1))
        }
        self.work = work
        guard !record.isEmpty(beside: written) else { return finish(at: now) }
        written = record.withoutNews
        return [.ask(work.number, .write(record))]
    }

    private mutating func finish(at now: Moment) -> [Action] {
        guard let work else { return [] }
        if let fault = work.fault { return fail(fault, at: now) }
        self.work = nil
        failures = 0
        diagnostics.fault = nil
        diagnostics.tally.reconciliations += 1
        diagnostics.reconciledAt = now.wall
        diagnostics.cause = work.cause
        return refresh(by: work.aim.guaranteedUntil, at: now)
            + [.reconciled(work.number, isComplete: true)] + begin(at: now)
    }

    /// Ends it; another one follows after a wait, or at once if it was requested meanwhile.
    private mutating func fail(_ why: String, at now: Moment) -> [Action] {
        guard let work else { return [] }
        self.work = nil
        failures += 1
        diagnostics.tally.failures += 1
        diagnostics.fault = why
        againAt = now.uptime + settings.reconciling.delay(failures: failures, jitter: now.jitter)
        let isAskedFor = wanted?.isUrgent ?? false
        if wanted == nil { wanted = Wanted(cause: .again, reading: .nothing) }
        wanted?.reading.add(work.reading)
        see(now)
        return (refreshAt == nil ? refresh(by: now.wall, at: now) : [])
            + [.reconciled(work.number, isComplete: false)] + (isAskedFor ? begin(at: now) : [])
    }

    /// Halfway to the end of the guarantee, unless an earlier slot is already requested.
    private mutating func refresh(by end: WallTime?, at now: Moment) -> [Action] {
        guard settings.asksForRefresh, let end else { return [] }
        let half = now.wall.duration(to: end) / 2
        let at = now.wall.advanced(
            by: max(half, .seconds(ReminderEngineLimits.refreshSeconds)))
        if let refreshAt, refreshAt > now.wall, refreshAt <= at { return [] }
        refreshAt = at
        diagnostics.refreshAt = at
        return [.requestRefresh(at)]
    }
}

extension NotificationRequest {
    /// Whether this feature made it: all others are the app's own and stay untouched.
    package var isOurs: Bool { id.hasPrefix(ReconciliationPlan.prefix) }
}

extension ReminderTally {
    mutating func count(_ change: ReconciliationChange) {
        switch change {
        case .removeDelivered(let ids): removedDelivered += ids.count
        case .removePending(let removals): removed += removals.count
        case .add(_, _, let isNew): if isNew { added += 1 } else { replaced += 1 }
        }
    }
}
