import Foundation
package import RepriseCore

/// Decides the phone's behaviour: that of each app by its ``AppMachine``, the device, and the time.
///
/// Its inputs are commands, ends of processes, calls of apps and the passing of time; ``drain()``
/// returns the actions, to be performed once the state is on disk. It reads no clock and draws no
/// random number.
package struct PhoneMachine: Sendable {
    /// The driver's actions, in order.
    package enum Action: Hashable, Sendable {
        /// Starts a process of the app; ``PhoneMachine/spawned(life:_:)`` or
        /// ``PhoneMachine/spawnFailed(life:_:at:)`` follows.
        case spawn(app: String, life: Int)
        /// SIGSTOP.
        case stop(life: Int)
        /// SIGCONT.
        case go(life: Int)
        /// SIGKILL, and waits for the end.
        case kill(life: Int, ProcessIdentity?)
        /// Kills a process of a former run, if its identity matches.
        case killLeftover(ProcessIdentity)
        case order(life: Int, id: Int, AppOrder)
        /// Notifies all processes.
        case tellClock, tellNetwork, tellDevice
        /// Starts the service extension; ``PhoneMachine/extensionFinished(run:content:at:)``
        /// follows.
        case runExtension(Int, app: String, PhonePush)
        /// Warns the service extension that its time is nearly over.
        case warnExtension(Int)
        /// Kills the service extension.
        case endExtension(Int)
        /// Begins an attempt, when the one before has ended;
        /// ``PhoneMachine/transferEnded(_:run:_:bytes:total:at:)`` follows.
        case startTransfer(Int, run: Int)
        /// Ends an attempt; its later reports are ignored.
        case stopTransfer(Int, run: Int)
        /// Takes the file of a transfer away.
        case removeTransfer(Int)
        /// Takes the files of all other transfers away.
        case keepTransfers(Set<Int>)
        case tellTransfer(life: Int, Transfer)
        /// Makes the protected files of all apps unreadable, or readable again.
        case protectFiles, releaseFiles
        /// Takes the app's folder away.
        case removeData(app: String)
    }

    package private(set) var state: PhoneState
    private var isShutDown = false
    private var actions: [Action] = []
    private var events: [PhoneEvent] = []

    package init(_ state: PhoneState = PhoneState()) { self.state = state }

    /// The actions and log events since the last call.
    package mutating func drain() -> (actions: [Action], events: [PhoneEvent]) {
        defer { (actions, events) = ([], []) }
        return (actions, events)
    }

    private mutating func act(_ action: Action) { actions.append(action) }

    private mutating func log(
        _ what: PhoneEvent.What, _ app: String?, _ detail: String = "", at now: PhoneMoment
    ) {
        events.append(PhoneEvent(what, app: app, detail, at: now))
    }

    /// The app that a command means.
    func named(_ app: String?) throws(PhoneFailure) -> String {
        if let app {
            guard state.apps[app] != nil else {
                throw PhoneFailure(.noSuchEntry, "No app of the name \(app) is installed.")
            }
            return app
        }
        guard state.apps.count == 1, let only = state.apps.keys.first else {
            throw PhoneFailure(
                .badConfiguration,
                state.apps.isEmpty ? "No app is installed." : "Several apps are installed.",
                remedy: state.apps.isEmpty ? "Install one first." : "Name the app.")
        }
        return only
    }

    /// The app whose process this is; nil if that process is no more.
    package func app(of life: Int) -> String? {
        state.apps.first { $0.value.process?.life == life }?.key
    }

    /// In an order that is always the same.
    private var appNames: [String] { state.apps.keys.sorted() }

    static let farthest: Int64 = 10 * 366 * 86_400_000

    /// Changes an app, and performs what follows; does nothing if it is not installed.
    @discardableResult
    private mutating func change<Answer, Failure: Error>(
        _ name: String?, at now: PhoneMoment,
        _ body: (inout AppMachine, inout PhoneContext) throws(Failure) -> Answer
    ) throws(Failure) -> Answer? {
        guard let name, var app = state.apps[name] else { return nil }
        var phone = PhoneContext(state, at: now)
        defer {
            actions += phone.actions
            events += phone.events
        }
        let answer = try body(&app, &phone)
        state = phone.state
        state.apps[name] = app
        return answer
    }

    // MARK: Commands

    /// Performs a command that changes something; ``PhoneCommand/status``, `log`, `push` and
    /// `shutdown` are the driver's.
    ///
    /// - Throws: ``PhoneFailure``; then nothing has changed.
    package mutating func command(
        _ command: PhoneCommand, at now: PhoneMoment
    ) throws(PhoneFailure) {
        switch command {
        case .install(let spec): try install(spec, at: now)
        case .uninstall(let app): uninstall(try named(app), at: now)
        case .launch(let app):
            let app = try named(app)
            guard !state.isLocked else { throw PhoneFailure.locked }
            leaveForeground(except: app, at: now)
            change(app, at: now) { $0.launch(&$1) }
        case .tap(let app, let id, let action): try tap(try named(app), id, action, at: now)
        case .home: leaveForeground(at: now)
        case .kill(let app):
            try change(try named(app), at: now) { app, phone throws(PhoneFailure) in
                try app.kill(&phone)
            }
        case .forceQuit(let app):
            let app = try named(app)
            change(app, at: now) { $0.forceQuit(&$1) }
            transfers(at: now) { $0.forceQuit(app) }
        case .suspend(let app):
            try change(try named(app), at: now) { app, phone throws(PhoneFailure) in
                try app.suspend(&phone)
            }
        case .resume(let app):
            try change(try named(app), at: now) { app, phone throws(PhoneFailure) in
                try app.resume(&phone)
            }
        case .memoryPressure: memoryPressure(at: now)
        case .offline: setNetwork(.off, at: now)
        case .online: setNetwork(.on, at: now)
        case .slow(let latency, let rate): try slow(latency, rate, at: now)
        case .power(let isPluggedIn): setDevice(at: now) { $0.isPluggedIn = isPluggedIn }
        case .lowPower(let isLow): setDevice(at: now) { $0.isLowPower = isLow }
        case .focus(let isFocused): setFocus(isFocused, at: now)
        case .restart: restart(at: now)
        case .unlock: unlock(at: now)
        case .metered(let isMetered): setDevice(at: now) { $0.isMetered = isMetered }
        case .storage(let bytes): try setStorage(bytes, at: now)
        case .advance(let milliseconds): try advance(milliseconds: milliseconds, at: now)
        case .setCalendar(let by): try setCalendar(by: by, at: now)
        case .zone(let zone):
            guard TimeZone(identifier: zone) != nil else {
                throw PhoneFailure(.badConfiguration, "There is no time zone of this name.")
            }
            setZone(zone, at: now)
        case .permission(let app, let settings):
            change(try named(app), at: now) { $0.permit(settings, &$1) }
        case .answerPermission(let app, let allowed):
            state.apps[try named(app)]?.willAnswer(allowed)
        case .runBackground(let app, let task):
            try change(try named(app), at: now) { app, phone throws(PhoneFailure) in
                try app.runBackground(task, &phone)
            }
        case .expireBackground(let app):
            try change(try named(app), at: now) { app, phone throws(PhoneFailure) in
                try app.expireBackground(&phone)
            }
        case .crashWebView(let app):
            try change(try named(app), at: now) { app, phone throws(PhoneFailure) in
                try app.crashWebView(&phone)
            }
        case .rules(let rules): setRules(rules, at: now)
        case .status, .log, .push, .shutdown: break
        }
    }

    private mutating func install(_ spec: PhoneAppSpec, at now: PhoneMoment) throws(PhoneFailure) {
        if let fault = spec.fault { throw PhoneFailure(.badConfiguration, fault) }
        guard state.apps[spec.id] != nil || state.apps.count < PhoneLimits.apps else {
            throw PhoneFailure(
                .full, "\(PhoneLimits.apps) apps are installed.", remedy: "Uninstall one.")
        }
        terminate(spec.id, "update", at: now)
        if state.apps[spec.id] != nil {
            state.apps[spec.id]?.update(to: spec)
        } else {
            let badge = state.badges.removeValue(forKey: spec.id) ?? 0
            state.apps[spec.id] = AppMachine(spec, badge: badge)
        }
        log(.installed, spec.id, spec.executable, at: now)
    }

    private mutating func uninstall(_ app: String, at now: PhoneMoment) {
        terminate(app, "uninstalled", at: now)
        for run in state.extensions.numbers where state.extensions.runs[run]?.app == app {
            _ = state.extensions.end(run)
            act(.endExtension(run))
        }
        transfers(at: now) { queue in queue.remove(app) }
        keepBadge(of: app)
        state.apps[app] = nil
        log(.uninstalled, app, at: now)
        act(.removeData(app: app))
    }

    /// For the next installation, if the rules say so.
    private mutating func keepBadge(of app: String) {
        guard state.rules.removedApp == .badgeKept,
            let badge = state.apps[app]?.notifications.badge,
            badge > 0,
            state.badges.count < PhoneLimits.apps
        else { return }
        state.badges[app] = badge
    }

    private mutating func slow(_ latency: Int, _ rate: Int?, at now: PhoneMoment)
        throws(PhoneFailure)
    {
        guard (0...600_000).contains(latency), (rate ?? 1) > 0 else {
            throw PhoneFailure(
                .badConfiguration, "The latency is 0 to 600,000 ms, the rate at least 1 byte/s.")
        }
        setNetwork(.slow(latencyMilliseconds: latency, bytesPerSecond: rate), at: now)
    }

    private mutating func setRules(_ rules: PhoneRules, at now: PhoneMoment) {
        state.rules = rules
        log(.rules, nil, at: now)
        transfers(at: now) { _ in [] }
    }

    // MARK: Calls of apps

    /// Answers a call of a process; nil if the driver must answer it, or the process is gone.
    package mutating func called(life: Int, _ call: AppCall, at now: PhoneMoment) -> AppAnswer? {
        guard let app = app(of: life) else { return nil }
        do throws(PhoneFailure) {
            switch call {
            case .startTransfer(let request):
                let isSeen = state.apps[app]?.isSeen == true
                try transfers(at: now) { queue throws(PhoneFailure) in
                    try queue.start(app, request, isSeen: isSeen, at: now)
                }
            case .transfers: return .transfers(state.transfers[app].map(\.transfer))
            case .cancelTransfer(let id): transfers(at: now) { $0.cancel(app, id, at: now) }
            case .forgetTransfer(let id): transfers(at: now) { $0.forget(app, id) }
            case .settings, .requestAuthorization, .add, .pending, .delivered, .removePending,
                .removeDelivered, .setBadge, .setCategories, .submit, .cancel, .tasks, .register,
                .complete, .browser:
                var answer: AppAnswer?
                try change(app, at: now) { app, phone throws(PhoneFailure) in
                    answer = try app.called(call, &phone)
                }
                return answer
            }
            return .done
        } catch {
            return .failed(error)
        }
    }

    // MARK: Processes

    /// Another app is opened, or the user goes home.
    private mutating func leaveForeground(except app: String? = nil, at now: PhoneMoment) {
        for other in appNames where other != app {
            change(other, at: now) { $0.leaveForeground(&$1) }
        }
    }

    /// The driver has started the process.
    package mutating func spawned(life: Int, _ identity: ProcessIdentity) {
        guard let app = app(of: life) else { return }
        state.apps[app]?.spawned(identity)
    }

    /// The driver could not start the process.
    package mutating func spawnFailed(life: Int, _ reason: String, at now: PhoneMoment) {
        change(app(of: life), at: now) { $0.spawnFailed(reason, &$1) }
    }

    /// Accepts a process.
    ///
    /// - Returns: its launch; nil if it is not awaited.
    package mutating func connected(life: Int, at now: PhoneMoment) -> PhoneLaunch? {
        var launch: PhoneLaunch?
        change(app(of: life), at: now) { launch = $0.connected(&$1) }
        return launch
    }

    /// The app's handler has returned.
    package mutating func returned(
        life: Int, order id: Int, options: PresentationOptions?, at now: PhoneMoment
    ) {
        change(app(of: life), at: now) { $0.returned(id, options: options, &$1) }
    }

    private mutating func memoryPressure(at now: PhoneMoment) {
        log(.memoryPressure, nil, at: now)
        for app in appNames { change(app, at: now) { $0.memoryPressure(&$1) } }
    }

    /// Kills the process without notice to the app.
    package mutating func terminate(_ app: String, _ reason: String, at now: PhoneMoment) {
        change(app, at: now) { $0.terminate(reason, &$1) }
    }

    /// The phone ends, and with it all that runs.
    package mutating func shutDown(at now: PhoneMoment) {
        guard !isShutDown else { return }
        isShutDown = true
        for app in appNames { terminate(app, "the phone ends", at: now) }
        for run in state.extensions.numbers { act(.endExtension(run)) }
        log(.ended, nil, at: now)
    }

    /// A process that was ordered to be killed is dead.
    package mutating func killed(_ identity: ProcessIdentity) {
        state.condemned.removeAll { $0 == identity }
    }

    /// A process has ended by itself, or was killed by others.
    package mutating func ended(life: Int, _ how: String, at now: PhoneMoment) {
        change(app(of: life), at: now) { $0.ended(how, &$1) }
    }

    // MARK: Notifications and pushes

    /// The user does something with a notification in the notification centre.
    private mutating func tap(
        _ app: String, _ id: String?, _ action: NotificationResponse.Action, at now: PhoneMoment
    ) throws(PhoneFailure) {
        let answer = try change(app, at: now) { app, phone throws(PhoneFailure) in
            try app.tap(id, action, &phone)
        }
        guard let tapped = answer, let opensApp = tapped.opensApp else { return }
        if opensApp { leaveForeground(except: app, at: now) }
        change(app, at: now) { $0.respond(tapped.response, opensApp: opensApp, &$1) }
    }

    /// A push has arrived at the device's side of the network.
    package mutating func pushArrived(_ app: String, _ push: PhonePush, at now: PhoneMoment) {
        log(.push, app, push.alert?.id ?? (push.wakesApp ? "silent" : "badge"), at: now)
        change(app, at: now) { $0.pushArrived(push, &$1) }
    }

    /// The service extension has answered; or ended without an answer, and the push is shown as it
    /// came.
    ///
    /// Content without any text is no answer, as Apple has it.
    package mutating func extensionFinished(
        run: Int, content: NotificationContent?, at now: PhoneMoment
    ) {
        guard var finished = state.extensions.end(run) else { return }
        act(.endExtension(run))
        switch content {
        case nil: log(.extension, finished.app, "ended without answer", at: now)
        case .some(let content) where content.hasText && content.bytes <= PhoneLimits.contentBytes:
            log(.extension, finished.app, "answered", at: now)
            finished.push.alert?.content = content
        case .some:
            log(.extension, finished.app, "answered with no text, or too much: ignored", at: now)
        }
        change(finished.app, at: now) { $0.deliverAlert(finished.push, &$1) }
    }

    private mutating func extensionDue(_ run: Int, at now: PhoneMoment) {
        guard let app = state.extensions.runs[run]?.app else { return }
        if state.extensions.warn(run) {
            log(.extension, app, "its time is nearly over", at: now)
            return act(.warnExtension(run))
        }
        log(.extension, app, "its time is over", at: now)
        extensionFinished(run: run, content: nil, at: now)
    }

    // MARK: Transfers

    /// Changes the transfers, performs what follows, and starts those that can run now.
    private mutating func transfers<Failure: Error>(
        at now: PhoneMoment,
        _ body: (inout TransferQueue) throws(Failure) -> [TransferQueue.Effect]
    ) throws(Failure) {
        perform(try body(&state.transfers), at: now)
        perform(state.transfers.run(state.conditions), at: now)
    }

    private mutating func perform(_ effects: [TransferQueue.Effect], at now: PhoneMoment) {
        for effect in effects {
            switch effect {
            case .act(let action): act(action)
            case .log(let what, let app, let detail): log(what, app, detail, at: now)
            case .ended(let app): change(app, at: now) { $0.transferEnded(&$1) }
            }
        }
    }

    /// An attempt has received a response's head: a later attempt can request the rest.
    package mutating func transferBegan(_ number: Int, run: Int, part: TransferRecord.Part?) {
        state.transfers.began(number, run: run, part: part)
    }

    /// An attempt is over; one that was stopped meanwhile is not heard.
    package mutating func transferEnded(
        _ number: Int, run: Int, _ outcome: TransferRecord.Outcome, bytes: Int64, total: Int64?,
        at now: PhoneMoment
    ) {
        let rules = state.rules
        transfers(at: now) { queue in
            queue.finished(
                number, run: run, outcome, bytes: bytes, total: total, rules: rules, at: now)
        }
    }

    // MARK: Network and power

    private mutating func setNetwork(_ network: PhoneNetwork, at now: PhoneMoment) {
        guard state.network != network else { return }
        state.network = network
        log(.network, nil, network.word, at: now)
        act(.tellNetwork)
        conditionsChanged(at: now)
        transfers(at: now) { queue in
            if network != .off { queue.retryAll() }
            return []
        }
        guard network != .off else { return }
        for app in appNames { change(app, at: now) { $0.wentOnline(&$1) } }
    }

    private mutating func setDevice(at now: PhoneMoment, _ body: (inout PhoneDevice) -> Void) {
        var device = state.device
        body(&device)
        guard device != state.device else { return }
        state.device = device
        log(.device, nil, device.word, at: now)
        act(.tellDevice)
        conditionsChanged(at: now)
        transfers(at: now) { _ in [] }
    }

    private mutating func setFocus(_ isFocused: Bool, at now: PhoneMoment) {
        guard state.isFocused != isFocused else { return }
        state.isFocused = isFocused
        log(.focus, nil, isFocused ? "on" : "off", at: now)
    }

    private mutating func restart(at now: PhoneMoment) {
        for app in appNames { terminate(app, "the device restarts", at: now) }
        if !state.isLocked { act(.protectFiles) }
        state.isLocked = true
        log(.locked, nil, at: now)
        started(after: "restart", at: now)
    }

    private mutating func unlock(at now: PhoneMoment) {
        guard state.isLocked else { return }
        state.isLocked = false
        act(.releaseFiles)
        log(.unlocked, nil, at: now)
    }

    private mutating func setStorage(_ bytes: Int64?, at now: PhoneMoment) throws(PhoneFailure) {
        guard bytes ?? 0 >= 0 else {
            throw PhoneFailure(.badConfiguration, "A disk has no less than 0 bytes free.")
        }
        setDevice(at: now) { $0.freeBytes = bytes }
    }

    /// Power or network has changed while tasks run that asked for it.
    private mutating func conditionsChanged(at now: PhoneMoment) {
        guard state.rules.taskConditionLost == .expires else { return }
        for app in appNames { change(app, at: now) { $0.expireObstructedTasks(&$1) } }
    }

    // MARK: Time

    private enum Due {
        case app(String, AppMachine.Due)
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
        var all: [(at: Int64, due: Due)] = []
        for name in appNames {
            guard let next = state.apps[name]?.soonest(from: now) else { continue }
            all.append((next.at, .app(name, next.due)))
        }
        if let (at, number) = state.transfers.due { all.append((at, .transfer(number))) }
        if let (at, run) = state.extensions.due { all.append((at, .extension(run))) }
        return all.min { $0.at < $1.at }
    }

    private mutating func handle(_ due: Due, at now: PhoneMoment) {
        switch due {
        case .app(let app, let due): change(app, at: now) { $0.handle(due, &$1) }
        case .transfer(let number): transfers(at: now) { $0.due(number, at: now) }
        case .extension(let run): extensionDue(run, at: now)
        }
    }

    /// Time passes at once.
    private mutating func advance(milliseconds: Int64, at now: PhoneMoment) throws(PhoneFailure) {
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
    private mutating func setCalendar(by milliseconds: Int64, at now: PhoneMoment)
        throws(PhoneFailure)
    {
        guard (-Self.farthest...Self.farthest).contains(milliseconds) else {
            throw PhoneFailure(.badConfiguration, "The calendar is set by at most ten years.")
        }
        state.clock.calendarMilliseconds += milliseconds
        let now = PhoneMoment(
            wall: now.wall.advanced(by: .milliseconds(milliseconds)),
            microseconds: now.microseconds)
        log(.clock, nil, "the calendar was set by \(milliseconds) ms", at: now)
        calendarChanged(at: now, isOver: { $0 <= now.wall })
    }

    private mutating func setZone(_ zone: String, at now: PhoneMoment) {
        state.clock.zone = zone
        log(.clock, nil, zone, at: now)
        calendarChanged(at: now, isOver: { _ in false })
    }

    private mutating func calendarChanged(at now: PhoneMoment, isOver: (WallTime) -> Bool) {
        act(.tellClock)
        for app in appNames {
            change(app, at: now) { $0.calendarChanged(isOver: isOver, &$1) }
        }
        timePassed(to: now)
    }

    /// The phone was started: all processes are gone, and the rules decide the rest.
    package mutating func started(after reason: String, at now: PhoneMoment) {
        log(.started, nil, reason, at: now)
        act(.keepTransfers(state.transfers.numbers))
        for leftover in state.condemned { act(.killLeftover(leftover)) }
        for app in appNames { change(app, at: now) { $0.restarted(&$1) } }
        for run in state.extensions.numbers {
            extensionFinished(run: run, content: nil, at: now)
        }
        let rules = state.rules
        transfers(at: now) { $0.restarted(rules) }
        timePassed(to: now)
    }

    // MARK: What is seen

    /// The machine's part of the status; the driver adds its own.
    package func status(
        at now: PhoneMoment, process: Int32, lastEvent: Int, folder: PhoneFolder
    ) -> PhoneStatus {
        let apps = state.apps.sorted { $0.key < $1.key }.map { name, app in
            app.status(
                at: now, transfers: state.transfers[name], folder: folder.data(of: name).path)
        }
        return PhoneStatus(
            process: process, now: now.wall, zone: state.clock.zone, network: state.network,
            device: state.device, rules: state.rules, apps: apps, lastEvent: lastEvent)
    }
}

extension PhoneMoment {
    func after(milliseconds: Int64) -> Int64 { microseconds + milliseconds * 1_000 }
}
