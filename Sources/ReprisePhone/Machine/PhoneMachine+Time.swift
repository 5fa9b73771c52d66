import RepriseCore

/// Deadlines and triggers, changes of the clock, the phone's start.
extension PhoneMachine {
    private enum Due {
        case launch(String)
        case background(String)
        case slot(String, ProcessRecord.Slot)
        case presentation(String, order: Int)
        case notification(String, PendingNotification)
        case pushes(String)
        case transfer(Int)
        case `extension`(Int)
    }

    /// When the next event is due, in microseconds; nil: never.
    package func nextDue(from now: PhoneMoment) -> Int64? { soonest(from: now)?.at }

    /// Handles due events in order, at most ``PhoneLimits/dueAtOnce`` of them.
    package mutating func timePassed(to now: PhoneMoment) {
        for _ in 0..<PhoneLimits.dueAtOnce {
            guard let next = soonest(from: now), next.at <= now.microseconds else { return }
            // An event due within a step of time happens at its own moment, not at the end of the
            // step.
            let late = (now.microseconds - next.at) / 1_000
            handle(next.due, at: now.advanced(byMilliseconds: -late))
        }
    }

    private func soonest(from now: PhoneMoment) -> (at: Int64, due: Due)? {
        var best: (at: Int64, due: Due)?
        func consider(_ at: Int64, _ due: Due) {
            if best.map({ at < $0.at }) ?? true { best = (at, due) }
        }
        for (app, record) in state.apps.sorted(by: { $0.key < $1.key }) {
            for pending in record.pending {
                consider(pending.due.microseconds(from: now), .notification(app, pending))
            }
            if let at = record.inbox.due { consider(at, .pushes(app)) }
            if let (at, number) = transferDue(record) { consider(at, .transfer(number)) }
            guard let process = record.process else { continue }
            switch process.phase {
            case .launching(let until): consider(until, .launch(app))
            case .background(let until) where process.slots.isEmpty:
                consider(until, .background(app))
            case .background, .foreground, .suspended: break
            }
            for slot in process.slots { consider(slot.until, .slot(app, slot)) }
            for (order, until) in process.presentations.sorted(by: { $0.key < $1.key }) {
                consider(until, .presentation(app, order: order))
            }
        }
        for (run, record) in state.extensions.sorted(by: { $0.key < $1.key }) {
            let warning = PhoneLimits.extensionWarningMilliseconds * 1_000
            consider(record.isWarned ? record.until : record.until - warning, .extension(run))
        }
        return best
    }

    private mutating func handle(_ due: Due, at now: PhoneMoment) {
        switch due {
        case .launch(let app): terminate(app, "it did not connect in time", at: now)
        case .background(let app): backgroundOver(app, at: now)
        case .slot(let app, let slot): slotDue(app, slot, at: now)
        case .presentation(let app, let order): presentationDue(app, order, at: now)
        case .notification(let app, let pending): fire(app, pending, at: now)
        case .pushes(let app): pushesDue(app, at: now)
        case .transfer(let number): transferDue(number, at: now)
        case .extension(let run): extensionDue(run, at: now)
        }
    }

    private mutating func presentationDue(_ app: String, _ order: Int, at now: PhoneMoment) {
        guard case .willPresent(let notification) = process(app)?.orders[order] else { return }
        // The order stays known, so that a late answer is recognised and ignored.
        changeProcess(app) {
            $0.presentations[order] = nil
            $0.orders[order] = .late
        }
        let options: PresentationOptions =
            state.rules.unansweredPresentation == .listed ? .list : []
        present(app, notification, options, at: now)
    }

    /// Time passes at once.
    mutating func advance(milliseconds: Int64, at now: PhoneMoment) throws(PhoneFailure) {
        guard (0...Self.farthest).contains(milliseconds) else {
            throw PhoneFailure(
                .badConfiguration, "Time passes forwards, and at most ten years at once.")
        }
        state.clock.calendarMilliseconds += milliseconds
        state.clock.uptimeMilliseconds += milliseconds
        let now = now.advanced(byMilliseconds: milliseconds)
        log(.clock, nil, "\(milliseconds) ms have passed", at: now)
        act(.tellClock)
        timePassed(to: now)
    }

    /// Sets the calendar; the monotonic clock continues.
    mutating func setCalendar(by milliseconds: Int64, at now: PhoneMoment) throws(PhoneFailure) {
        guard (-Self.farthest...Self.farthest).contains(milliseconds) else {
            throw PhoneFailure(.badConfiguration, "The calendar is set by at most ten years.")
        }
        state.clock.calendarMilliseconds += milliseconds
        let now = PhoneMoment(
            wall: now.wall.advanced(by: .milliseconds(milliseconds)),
            microseconds: now.microseconds)
        log(.clock, nil, "the calendar was set by \(milliseconds) ms", at: now)
        act(.tellClock)
        calendarChanged(at: now, isOver: { $0 <= now.wall })
    }

    mutating func setZone(_ zone: String, at now: PhoneMoment) {
        state.clock.zone = zone
        log(.clock, nil, zone, at: now)
        act(.tellClock)
        calendarChanged(at: now, isOver: { _ in false })
    }

    /// Recomputes the times of calendar triggers; skipped ones fire once.
    private mutating func calendarChanged(at now: PhoneMoment, isOver: (WallTime) -> Bool) {
        for app in appNames {
            for pending in state.apps[app]?.pending ?? [] {
                guard case .calendar(let due) = pending.due,
                    case .calendar? = pending.request.trigger
                else { continue }
                if isOver(due), state.rules.passedOverTriggers == .fire {
                    fire(app, pending, at: now)
                } else if isOver(due) {
                    log(
                        .dropped, app, "\(pending.request.id): its time was passed over", at: now)
                    rearm(app, pending, at: now)
                } else {
                    replan(app, pending, at: now)
                }
            }
        }
        timePassed(to: now)
    }

    private mutating func replan(_ app: String, _ pending: PendingNotification, at now: PhoneMoment)
    {
        guard let trigger = pending.request.trigger,
            let due = TriggerTime.next(
                trigger, after: now, zone: state.clock.zone, rules: state.rules)
        else { return }
        _ = change(app) { record in
            let index = record.pending.firstIndex { $0.added == pending.added }
            if let index { record.pending[index].due = due }
        }
    }

    /// The phone was started: all processes are gone, and the rules decide the rest.
    package mutating func started(after reason: String, at now: PhoneMoment) {
        log(.started, nil, reason, at: now)
        act(.keepTransfers(Set(state.apps.values.flatMap { $0.transfers.map(\.number) })))
        for leftover in state.condemned { act(.killLeftover(leftover)) }
        for app in appNames { restarted(app, at: now) }
        for run in state.extensions.keys.sorted() {
            extensionFinished(run: run, content: nil, at: now)
        }
        transfersRestarted(at: now)
        timePassed(to: now)
    }

    private mutating func restarted(_ app: String, at now: PhoneMoment) {
        if let process = process(app) {
            if let identity = process.identity {
                state.condemned.append(identity)
                act(.killLeftover(identity))
            }
            ended(life: process.life, "power off", at: now)
        }
        let rules = state.rules
        _ = change(app) { record in
            if rules.pendingAcrossRestart == .cleared { record.pending = [] }
            if rules.deliveredAcrossRestart == .cleared { record.delivered = [] }
            if rules.tasksAcrossRestart == .cleared { record.tasks = [] }
            if rules.forceQuitAcrossRestart == .lifted { record.isForceQuit = false }
        }
        guard rules.dueWhileOff == .skipped else { return }
        for pending in state.apps[app]?.pending ?? []
        where pending.due.microseconds(from: now) <= now.microseconds {
            log(
                .dropped, app, "\(pending.request.id): its time came while the phone was off",
                at: now)
            rearm(app, pending, at: now)
        }
    }

    static let farthest: Int64 = 10 * 366 * 86_400_000
}
