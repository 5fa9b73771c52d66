import RepriseCore

/// Performs one reconciliation after the other: reads everything, changes what is wrong, and writes
/// the record.
///
/// `reading → looking → changing → writing`; from `looking` on one question at a time. Between two
/// reconciliations it keeps the plan and what it has reported.
struct Reconciler: Sendable {
    typealias Machine = ReconciliationMachine

    /// What an answer leads to.
    enum Step {
        /// Ask this; nil: other answers are outstanding.
        case ask(Machine.Question?)
        /// Everything is as planned, and is guaranteed up to this time; `mayHaveRung`: what was
        /// removed may have been shown before.
        case finished(guaranteedUntil: WallTime?, mayHaveRung: Bool)
        /// It ended early; this part of the store was not read.
        case failed(String, unread: Machine.Reading)
    }

    /// A reconciliation under way.
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

        let cause: ReconciliationCause
        /// The part of the store still to be read.
        var reading: Machine.Reading
        var stage: Stage
        var permission: NotificationSettings.Authorization?
        var pending: [NotificationRequest] = []
        var delivered: [DeliveredNotification] = []
        var aim = ReconciliationAim()
        /// When the first of the requests to be removed rings.
        var removedRings: WallTime?
        /// The remaining changes, the next one last.
        var changes: [ReconciliationChange] = []
        var decisions: [ReconciliationRecord.Decision] = []
        var isRefused: [String: String] = [:]
        var fault: String?
        /// Marks whose time is over.
        var over: [ReminderOverride] = []
    }

    private var plan: ReconciliationPlan
    private var work: Work?
    /// The record written last.
    private var written: ReconciliationRecord?
    /// Requests that the system refused, with the reason, so that each refusal is recorded once.
    private var refusals: [String: String] = [:]
    /// Invalid reminders already reported, with the reason.
    private var told: [String: String] = [:]

    init(sort: String) { plan = ReconciliationPlan(sort: sort) }

    var isRunning: Bool { work != nil }

    /// Nothing is known of the store and of the system any more.
    mutating func forget() {
        plan = ReconciliationPlan(sort: plan.sort)
        written = nil
    }

    mutating func cancel() { work = nil }

    /// - Returns: the questions, to be asked all at once.
    mutating func begin(_ cause: ReconciliationCause, _ reading: Machine.Reading)
        -> [Machine.Question]
    {
        var questions: [Machine.Question] = [.settings, .pending, .delivered, .marks]
        switch reading {
        case .nothing: break
        case .entities(let ids): questions.insert(.entities(ids), at: 0)
        case .everything: questions.insert(.entities(nil), at: 0)
        }
        work = Work(cause: cause, reading: reading, stage: .reading(missing: questions.count))
        return questions
    }

    /// Takes an answer; `clock` and `diagnostics` are those of the caller.
    mutating func answered(
        _ answer: Machine.Answer, at now: Machine.Moment, _ clock: inout ReminderClock,
        _ diagnostics: inout ReminderDiagnostics
    ) -> Step {
        guard var work else { return .ask(nil) }
        let step = take(answer, &work, at: now, &clock, &diagnostics)
        if case .ask = step { self.work = work } else { self.work = nil }
        return step
    }

    private mutating func take(
        _ answer: Machine.Answer, _ work: inout Work, at now: Machine.Moment,
        _ clock: inout ReminderClock, _ diagnostics: inout ReminderDiagnostics
    ) -> Step {
        switch work.stage {
        case .reading(let missing):
            if let end = read(answer, &work, at: now, &diagnostics) { return end }
            guard missing == 1 else {
                work.stage = .reading(missing: missing - 1)
                return .ask(nil)
            }
            let routes = unplanned(work)
            guard routes.isEmpty else {
                work.stage = .looking
                return .ask(.look(routes))
            }
            return decide(&work, inUse: [], at: now, &clock, &diagnostics)
        case .looking:
            switch answer {
            case .looked(let inUse):
                return decide(&work, inUse: inUse, at: now, &clock, &diagnostics)
            // An entity that cannot be looked up stays; the next reconciliation tries again.
            case .failed, .refused:
                return decide(&work, inUse: nil, at: now, &clock, &diagnostics)
            case .entities, .settings, .pending, .delivered, .marks, .done: return .ask(nil)
            }
        case .changing: return changed(answer, &work, at: now, &clock, &diagnostics)
        case .writing:
            switch answer {
            case .failed(let why), .refused(let why):
                written = nil
                return .failed(
                    "What was planned could not be written down: \(why)", unread: work.reading)
            case .entities, .settings, .pending, .delivered, .marks, .looked, .done:
                diagnostics.tally.writes += 1
                return finish(work, at: now, &diagnostics)
            }
        }
    }

    // MARK: Reading

    /// - Returns: nil if the answer is one of those awaited.
    private mutating func read(
        _ answer: Machine.Answer, _ work: inout Work, at now: Machine.Moment,
        _ diagnostics: inout ReminderDiagnostics
    ) -> Step? {
        switch answer {
        case .entities(let entities):
            switch work.reading {
            case .everything: plan.replace(with: entities)
            case .entities(let ids): plan.replace(ids, with: entities)
            case .nothing: break
            }
            work.reading = .nothing
            diagnostics.entities = plan.entities.count
            diagnostics.reminders = plan.reminders
            diagnostics.invalid = plan.invalid
        case .settings(let settings): work.permission = settings.authorization
        case .pending(let pending): work.pending = pending
        case .delivered(let delivered): work.delivered = delivered
        case .marks(let marks):
            work.over = marks.filter { $0.isOver(at: now.wall) }
            plan.marks = marks.filter { !$0.isOver(at: now.wall) }
        case .failed(let why), .refused(let why): return .failed(why, unread: work.reading)
        case .looked, .done: return .ask(nil)
        }
        return nil
    }

    /// Notifications of entities in the plan stay; of these others the store knows whether they are
    /// in use.
    private func unplanned(_ work: Work) -> [String: Route] {
        var routes: [String: Route] = [:]
        for notification in work.delivered where notification.request.isOurs {
            guard let route = plan.info(notification.request)?.route, !route.isTest,
                plan.entities[route.id] == nil,
                routes.count < ReminderEngineLimits.lookUps
            else { continue }
            routes[route.id] = route
        }
        return routes
    }

    // MARK: Changing

    /// `inUse`: the active ones of the unplanned entities; nil: unknown.
    private mutating func decide(
        _ work: inout Work, inUse: Set<String>?, at now: Machine.Moment,
        _ clock: inout ReminderClock, _ diagnostics: inout ReminderDiagnostics
    ) -> Step {
        // The plan uses these clock readings; later clock changes cause another reconciliation.
        clock.read(now)
        work.aim = plan.aim(
            permission: work.permission ?? .notDetermined, pending: work.pending, at: now.wall,
            in: now.zone)
        work.changes = plan.changes(
            to: work.aim, from: work.pending, at: now.wall, in: now.zone)
        work.removedRings = plan.firstRing(of: work.changes, among: work.pending, in: now.zone)
        let gone = plan.gone(work.delivered, inUse: inUse)
        if !gone.isEmpty { work.changes.append(.removeDelivered(gone)) }
        work.stage = .changing
        diagnostics.permission = work.permission
        for (name, why) in plan.invalid.sorted(by: { $0.key < $1.key }) where told[name] != why {
            work.decisions.append(
                ReconciliationRecord.Decision(
                    at: now.wall, what: .invalid, request: name, entity: nil, reason: why))
        }
        told = plan.invalid
        diagnostics.foreign = work.aim.foreign
        return nextChange(&work, at: now, &clock, &diagnostics)
    }

    private mutating func nextChange(
        _ work: inout Work, at now: Machine.Moment, _ clock: inout ReminderClock,
        _ diagnostics: inout ReminderDiagnostics
    ) -> Step {
        guard let change = work.changes.last else {
            return write(&work, at: now, &clock, &diagnostics)
        }
        return .ask(change.question)
    }

    private mutating func changed(
        _ answer: Machine.Answer, _ work: inout Work, at now: Machine.Moment,
        _ clock: inout ReminderClock, _ diagnostics: inout ReminderDiagnostics
    ) -> Step {
        guard let change = work.changes.popLast() else { return .ask(nil) }
        switch answer {
        case .done:
            work.decisions += change.decisions(at: now.wall)
            diagnostics.tally.count(change)
        case .refused(let why):
            work.isRefused[change.id] = why
            diagnostics.tally.refused += 1
            if refusals[change.id] != why {
                work.decisions.append(change.refusal(why, at: now.wall))
            }
        case .failed(let why):
            // The rest waits for the next reconciliation, with this one.
            work.fault = why
            work.changes.append(change)
            return write(&work, at: now, &clock, &diagnostics)
        case .entities, .settings, .pending, .delivered, .marks, .looked: return .ask(nil)
        }
        return nextChange(&work, at: now, &clock, &diagnostics)
    }

    // MARK: Writing

    private mutating func write(
        _ work: inout Work, at now: Machine.Moment, _ clock: inout ReminderClock,
        _ diagnostics: inout ReminderDiagnostics
    ) -> Step {
        refusals = work.isRefused
        work.stage = .writing
        let record = plan.record(of: work, at: now)
        diagnostics.planned = work.aim.requests.count
        diagnostics.pending = record.rows.count { $0.status == .pending }
        diagnostics.refused = work.isRefused
        diagnostics.guaranteedUntil = work.aim.guaranteedUntil
        clock.ringsNext(at: work.aim.planned.first?.at, now: now)
        guard !record.isEmpty(beside: written) else { return finish(work, at: now, &diagnostics) }
        written = record.withoutNews
        return .ask(.write(record))
    }

    private func finish(
        _ work: Work, at now: Machine.Moment, _ diagnostics: inout ReminderDiagnostics
    ) -> Step {
        if let fault = work.fault { return .failed(fault, unread: work.reading) }
        diagnostics.fault = nil
        diagnostics.tally.reconciliations += 1
        diagnostics.reconciledAt = now.wall
        diagnostics.cause = work.cause
        return .finished(
            guaranteedUntil: work.aim.guaranteedUntil,
            mayHaveRung: work.removedRings.map { $0 <= now.wall } ?? false)
    }
}

extension NotificationRequest {
    /// Whether this feature made it: all others are the app's own and stay untouched.
    package var isOurs: Bool { id.hasPrefix(ReconciliationPlan.prefix) }
}

extension ReminderTally {
    fileprivate mutating func count(_ change: ReconciliationChange) {
        switch change {
        case .removeDelivered(let ids): removedDelivered += ids.count
        case .removePending(let removals): removed += removals.count
        case .add(_, _, let isNew): if isNew { added += 1 } else { replaced += 1 }
        }
    }
}
