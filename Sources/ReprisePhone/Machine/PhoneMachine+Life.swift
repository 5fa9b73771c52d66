package import RepriseCore

/// The life of processes: launched, foreground, background, suspended, gone.
extension PhoneMachine {
    /// The user opens an app.
    mutating func launch(_ app: String, at now: PhoneMoment) {
        _ = change(app) { $0.isForceQuit = false }
        bringToForeground(app, reason: .user, at: now)
        pushesOpened(app, at: now)
    }

    /// Shows an app; starts it if it has no process.
    mutating func bringToForeground(
        _ app: String, reason: PhoneLaunch.Reason, sceneResponse: NotificationResponse? = nil,
        at now: PhoneMoment
    ) {
        for other in appNames where other != app { leaveForeground(other, at: now) }
        guard let process = process(app) else {
            let launch = PhoneLaunch(reason: reason, isForeground: true, response: sceneResponse)
            return start(app, launch, at: now)
        }
        switch process.phase {
        case .launching: changeProcess(app) { $0.launch.isForeground = true }
        case .foreground: break
        case .background, .suspended:
            if case .suspended = process.phase { thaw(app, at: now) }
            changeProcess(app) { $0.phase = .foreground }
            log(.foreground, app, at: now)
            tellTransfers(app)
            order(app, .foreground, at: now)
        }
    }

    /// Runs an app in the background for an event; launches it if it has no process.
    mutating func wake(_ app: String, reason: PhoneLaunch.Reason, at now: PhoneMoment) {
        guard let process = process(app) else {
            return start(app, PhoneLaunch(reason: reason, isForeground: false), at: now)
        }
        let until = now.after(milliseconds: grantedMilliseconds)
        switch process.phase {
        case .launching, .foreground: break
        case .background: changeProcess(app) { $0.phase = .background(until: until) }
        case .suspended:
            thaw(app, at: now)
            changeProcess(app) { $0.phase = .background(until: until) }
            tellTransfers(app)
        }
    }

    private mutating func start(_ app: String, _ launch: PhoneLaunch, at now: PhoneMoment) {
        state.lastLife += 1
        let life = state.lastLife
        _ = change(app) { record in
            let until = now.after(milliseconds: record.spec.launchMilliseconds)
            var process = ProcessRecord(life: life, launch: launch, phase: .launching(until: until))
            process.held = record.uncompleted.map(AppOrder.received)
            record.process = process
        }
        log(.launched, app, launch.reason.word, at: now)
        act(.spawn(app: app, life: life))
    }

    /// The driver has started the process.
    package mutating func spawned(life: Int, _ identity: ProcessIdentity) {
        guard let app = app(of: life) else { return }
        changeProcess(app) { $0.identity = identity }
    }

    /// The driver could not start the process.
    package mutating func spawnFailed(life: Int, _ reason: String, at now: PhoneMoment) {
        guard let app = app(of: life) else { return }
        log(.notLaunched, app, reason, at: now)
        forget(app, at: now)
    }

    /// Accepts a process.
    ///
    /// - Returns: its launch; nil if it is not awaited.
    package mutating func connected(life: Int, at now: PhoneMoment) -> PhoneLaunch? {
        guard let app = app(of: life), let process = process(app),
            case .launching = process.phase
        else { return nil }
        log(.connected, app, process.launch.reason.word, at: now)
        transfersKnown(app)
        let held = process.held
        changeProcess(app) { $0.held = [] }
        if process.launch.isForeground {
            changeProcess(app) { $0.phase = .foreground }
            log(.foreground, app, at: now)
            order(app, .foreground, at: now)
        } else {
            let isTold = process.launch.reason == .user || state.rules.backgroundLaunch == .told
            enterBackground(app, isTold: isTold, at: now)
        }
        for waiting in held { order(app, waiting, at: now) }
        return process.launch
    }

    private mutating func enterBackground(
        _ app: String, isTold: Bool = true, at now: PhoneMoment
    ) {
        let granted = grantedMilliseconds
        changeProcess(app) { $0.phase = .background(until: now.after(milliseconds: granted)) }
        log(.background, app, "\(granted)", at: now)
        if isTold { order(app, .background(grantedMilliseconds: granted), at: now) }
    }

    /// Another app is opened, or the user goes home.
    mutating func leaveForeground(_ app: String, at now: PhoneMoment) {
        guard let process = process(app) else { return }
        switch process.phase {
        case .foreground: enterBackground(app, at: now)
        case .launching: changeProcess(app) { $0.launch.isForeground = false }
        case .suspended: changeProcess(app) { $0.phase = .suspended(wasForeground: false) }
        case .background: break
        }
    }

    /// Sends an order to an app, now or when it has connected.
    mutating func order(_ app: String, _ order: AppOrder, at now: PhoneMoment) {
        guard let process = process(app) else { return }
        guard process.held.count + process.orders.count < PhoneLimits.orders else {
            return terminate(app, "it does nothing of what it is told", at: now)
        }
        if case .launching = process.phase {
            return changeProcess(app) { $0.held.append(order) }
        }
        let id = nextNumber()
        var told = order
        if case .slot(_, let task, let limit) = order {
            told = .slot(number: id, task: task, milliseconds: limit)
            beginSlot(app, number: id, task: task, limit: limit, at: now)
        }
        changeProcess(app) { process in
            process.orders[id] = told
            if case .willPresent = told {
                process.presentations[id] = now.after(
                    milliseconds: PhoneLimits.presentationMilliseconds)
            }
        }
        act(.order(life: process.life, id: id, told))
    }

    /// The app's handler has returned.
    package mutating func returned(
        life: Int, order id: Int, options: PresentationOptions?, at now: PhoneMoment
    ) {
        guard let app = app(of: life) else { return }
        guard let order = process(app)?.orders[id] else {
            return log(.nonsense, app, "it has done what it was not told", at: now)
        }
        changeProcess(app) {
            $0.orders[id] = nil
            $0.presentations[id] = nil
        }
        switch order {
        case .received(let response):
            _ = change(app) { $0.uncompleted.removeAll { $0 == response } }
            log(.completed, app, response.tapID.text, at: now)
        case .willPresent(let notification):
            present(app, notification, options ?? [], at: now)
        case .push: log(.pushCompleted, app, at: now)
        case .foreground, .background, .memoryPressure, .scene, .slot, .slotExpired,
            .transfersDone, .crashWebView, .late:
            break
        }
        settle(app, at: now)
    }

    /// Suspends an idle app in the background.
    mutating func settle(_ app: String, at now: PhoneMoment) {
        guard let process = process(app), case .background = process.phase,
            process.orders.isEmpty, process.slots.isEmpty
        else { return }
        freeze(app, "nothing is left to do", at: now)
    }

    mutating func freeze(_ app: String, _ reason: String, at now: PhoneMoment) {
        guard let process = process(app) else { return }
        changeProcess(app) { $0.phase = .suspended(wasForeground: process.phase == .foreground) }
        log(.suspended, app, reason, at: now)
        act(.stop(life: process.life))
    }

    private mutating func thaw(_ app: String, at now: PhoneMoment) {
        guard let process = process(app) else { return }
        log(.resumed, app, at: now)
        act(.go(life: process.life))
    }

    mutating func suspend(_ app: String, at now: PhoneMoment) throws(PhoneFailure) {
        switch process(app)?.phase {
        case .foreground, .background: freeze(app, "asked for", at: now)
        case .suspended: break
        case .launching: throw PhoneFailure(.unavailable, "The app is being launched.")
        case nil: throw Self.notRunning
        }
    }

    mutating func resume(_ app: String, at now: PhoneMoment) throws(PhoneFailure) {
        guard let process = process(app) else { throw Self.notRunning }
        guard case .suspended(let wasForeground) = process.phase else { return }
        thaw(app, at: now)
        let until = now.after(milliseconds: grantedMilliseconds)
        changeProcess(app) { $0.phase = wasForeground ? .foreground : .background(until: until) }
        log(wasForeground ? .foreground : .background, app, at: now)
        tellTransfers(app)
    }

    mutating func forceQuit(_ app: String, at now: PhoneMoment) {
        _ = change(app) { $0.isForceQuit = true }
        terminate(app, "force quit", at: now)
        transfersForceQuit(app, at: now)
    }

    mutating func memoryPressure(at now: PhoneMoment) {
        log(.memoryPressure, nil, at: now)
        for app in appNames {
            switch process(app)?.phase {
            case .suspended: terminate(app, "memory", at: now)
            case .launching, .foreground, .background: order(app, .memoryPressure, at: now)
            case nil: break
            }
        }
    }

    /// Kills the process without notice to the app.
    package mutating func terminate(_ app: String, _ reason: String, at now: PhoneMoment) {
        guard let process = process(app) else { return }
        log(.terminated, app, reason, at: now)
        if let identity = process.identity { state.condemned.append(identity) }
        act(.kill(life: process.life, process.identity))
        forget(app, at: now)
    }

    /// The phone ends, and with it all that runs.
    package mutating func shutDown(at now: PhoneMoment) {
        guard !isShutDown else { return }
        isShutDown = true
        for app in appNames { terminate(app, "the phone ends", at: now) }
        for run in state.extensions.keys.sorted() { act(.endExtension(run)) }
        log(.ended, nil, at: now)
    }

    /// A process that was ordered to be killed is dead.
    package mutating func killed(_ identity: ProcessIdentity) {
        state.condemned.removeAll { $0 == identity }
    }

    /// A process has ended by itself, or was killed by others.
    package mutating func ended(life: Int, _ how: String, at now: PhoneMoment) {
        guard let app = app(of: life) else { return }
        log(.exited, app, how, at: now)
        forget(app, at: now)
    }

    private mutating func forget(_ app: String, at now: PhoneMoment) {
        let repeats = state.rules.uncompletedResponse == .repeated
        _ = change(app) { record in
            if let process = record.process, repeats {
                let orders = process.orders.sorted { $0.key < $1.key }.map(\.value) + process.held
                record.uncompleted = orders.compactMap { order in
                    if case .received(let response) = order { response } else { nil }
                }
            }
            record.process = nil
            record.granted = [:]
        }
        pushesEnded(app, at: now)
    }

    static let notRunning = PhoneFailure(
        .unavailable, "The app is not running.", remedy: "Launch it first.")
}

extension PhoneLaunch.Reason {
    /// Its word in the log.
    var word: String {
        switch self {
        case .user: "user"
        case .response: "response"
        case .task(let task): "task \(task)"
        case .push: "push"
        case .transfers: "transfers"
        }
    }
}
