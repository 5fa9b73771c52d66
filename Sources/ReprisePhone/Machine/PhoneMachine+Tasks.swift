import RepriseCore

/// The background scheduler.
extension PhoneMachine {
    mutating func submit(
        _ app: String, _ request: BackgroundRequest, at now: PhoneMoment
    ) throws(PhoneFailure) {
        guard let record = state.apps[app] else { return }
        guard record.spec.backgroundTasks.contains(request.id) else {
            throw PhoneFailure(
                .refused, "The app has not declared the task (notPermitted).",
                remedy: "Name it among the tasks when the app is installed.")
        }
        var tasks = record.tasks.filter { $0.id != request.id }
        tasks.append(request)
        let refreshes = tasks.count { $0.kind == .refresh }
        guard refreshes <= PhoneLimits.refreshTasks,
            tasks.count - refreshes <= PhoneLimits.processingTasks
        else {
            throw PhoneFailure(
                .full, "1 refresh and 10 processing requests wait (tooManyPendingTaskRequests).")
        }
        _ = change(app) { $0.tasks = tasks }
        log(.submitted, app, request.id, at: now)
    }

    /// The system has chosen to run a task now.
    mutating func runBackground(
        _ app: String, _ task: String, at now: PhoneMoment
    ) throws(PhoneFailure) {
        guard let record = state.apps[app] else { return }
        guard let request = record.tasks.first(where: { $0.id == task }) else {
            throw PhoneFailure(.noSuchEntry, "The app has not asked for time for \(task).")
        }
        if record.isForceQuit, !runsAfterForceQuit(request.kind) {
            log(.notLaunched, app, "force quit: task \(task)", at: now)
            throw PhoneFailure(
                .refused, "The user has force-quit the app: it gets no time in the background.",
                remedy: "Launch it first.")
        }
        if let earliest = request.earliest, earliest > now.wall {
            throw PhoneFailure(
                .unavailable, "The app wants it later.", remedy: "Advance the clock.")
        }
        if let obstacle = obstacle(to: request.kind) { throw PhoneFailure(.unavailable, obstacle) }
        _ = change(app) { record in
            record.tasks.removeAll { $0.id == task }
            record.granted[task] = request.kind
        }
        wake(app, reason: .task(task), at: now)
        // The slot begins when the app can be notified.
        let limit: Int64 =
            request.kind == .refresh
            ? PhoneLimits.refreshMilliseconds : PhoneLimits.processingMilliseconds
        order(app, .slot(number: 0, task: task, milliseconds: limit), at: now)
    }

    private func runsAfterForceQuit(_ kind: BackgroundRequest.Kind) -> Bool {
        switch kind {
        case .refresh: false
        case .processing: state.rules.processingAfterForceQuit == .runs
        }
    }

    mutating func beginSlot(
        _ app: String, number: Int, task: String, limit: Int64, at now: PhoneMoment
    ) {
        log(.taskBegan, app, task, at: now)
        changeProcess(app) {
            $0.slots.append(
                .init(number: number, task: task, until: now.after(milliseconds: limit)))
        }
    }

    /// A slot's time is over: the app is notified; after that, terminated.
    mutating func slotDue(_ app: String, _ slot: ProcessRecord.Slot, at now: PhoneMoment) {
        guard !slot.isExpired else {
            return terminate(app, "the task \(slot.task) was not completed in time", at: now)
        }
        log(.taskExpired, app, slot.task, at: now)
        changeProcess(app) { process in
            for index in process.slots.indices where process.slots[index].number == slot.number {
                process.slots[index].isExpired = true
                process.slots[index].until = now.after(
                    milliseconds: PhoneLimits.expiryMilliseconds)
            }
        }
        order(app, .slotExpired(slot.number), at: now)
    }

    mutating func complete(_ app: String, slot: Int, success: Bool, at now: PhoneMoment) {
        // A second completion does nothing.
        guard let slot = process(app)?.slots.first(where: { $0.number == slot }) else { return }
        changeProcess(app) { $0.slots.removeAll { $0.number == slot.number } }
        _ = change(app) { $0.granted[slot.task] = nil }
        log(.taskCompleted, app, "\(slot.task) \(success ? "success" : "failure")", at: now)
        settle(app, at: now)
    }

    mutating func expireBackground(_ app: String, at now: PhoneMoment) throws(PhoneFailure) {
        guard let process = process(app) else { throw Self.notRunning }
        for slot in process.slots where !slot.isExpired { slotDue(app, slot, at: now) }
        if case .background = process.phase, process.slots.isEmpty {
            backgroundOver(app, at: now)
        }
    }

    /// The time in the background is over, and the app is still at work.
    mutating func backgroundOver(_ app: String, at now: PhoneMoment) {
        switch state.rules.backgroundOverrun {
        case .terminated: terminate(app, "beyond its time in the background", at: now)
        case .suspended: freeze(app, "its time is over", at: now)
        }
    }
}
