import Foundation
package import RepriseCore

/// Decides the phone's behaviour: processes, notifications, tasks and pushes.
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

    private func process(_ app: String) -> AppProcess? { state.apps[app]?.process }

    private var grantedMilliseconds: Int64 { Int64(max(0, state.rules.backgroundSeconds)) * 1_000 }

    private var conditions: RunConditions {
        .init(network: state.network, device: state.device, rules: state.rules)
    }

    private static let notRunning = PhoneFailure(
        .unavailable, "The app is not running.", remedy: "Launch it first.")
    private static let locked = PhoneFailure(
        .unavailable, "The phone waits for its first unlock.", remedy: "Unlock it first.")
    static let farthest: Int64 = 10 * 366 * 86_400_000

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
            guard !state.isLocked else { throw Self.locked }
            launch(app, at: now)
        case .tap(let app, let id, let action): try tap(try named(app), id, action, at: now)
        case .home: for app in appNames { leaveForeground(app, at: now) }
        case .kill(let app): try kill(try named(app), at: now)
        case .forceQuit(let app): forceQuit(try named(app), at: now)
        case .suspend(let app): try suspend(try named(app), at: now)
        case .resume(let app): try resume(try named(app), at: now)
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
            notifications(try named(app), at: now) { centre, _ in centre.permit(settings) }
        case .answerPermission(let app, let allowed):
            state.apps[try named(app)]?.notifications.willAnswer(allowed)
        case .runBackground(let app, let task): try runBackground(try named(app), task, at: now)
        case .expireBackground(let app): try expireBackground(try named(app), at: now)
        case .crashWebView(let app): try crashWebView(try named(app), at: now)
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
            state.apps[spec.id]?.spec = spec
        } else {
            let badge = state.badges.removeValue(forKey: spec.id) ?? 0
            state.apps[spec.id] = AppRecord(
                spec: spec, notifications: AppNotifications(badge: badge))
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

    private mutating func kill(_ app: String, at now: PhoneMoment) throws(PhoneFailure) {
        guard process(app) != nil else { throw Self.notRunning }
        terminate(app, "by the system", at: now)
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

    private mutating func crashWebView(_ app: String, at now: PhoneMoment) throws(PhoneFailure) {
        guard process(app)?.isRunning == true else {
            throw PhoneFailure(.unavailable, "The app does not run.", remedy: "Launch it first.")
        }
        log(.webViewCrashed, app, at: now)
        order(app, .crashWebView, at: now)
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
        // What is asked after a removal is answered after it.
        if call.readsNotifications { performRemovals(app, at: now) }
        guard let record = state.apps[app] else { return nil }
        let centre = record.notifications
        do throws(PhoneFailure) {
            switch call {
            case .settings: return .settings(centre.settings)
            case .requestAuthorization(let provisional):
                notifications(app, at: now) { centre, _ in
                    centre.requestAuthorization(provisional: provisional)
                }
                return .allowed(state.apps[app]?.notifications.isAllowed ?? false)
            case .pending: return .pending(centre.soonestFirst(at: now))
            case .delivered: return .delivered(centre.delivered.reversed())
            case .tasks: return .tasks(record.tasks.waiting)
            case .add(let request):
                try notifications(app, at: now) { centre, context throws(PhoneFailure) in
                    try centre.add(request, isSeen: record.isSeen, context)
                }
            case .removePending(let ids): remove(app, .pending(ids), at: now)
            case .removeDelivered(let ids): remove(app, .delivered(ids), at: now)
            case .setBadge(let count):
                notifications(app, at: now) { $0.setBadge(count, $1.rules) }
            case .setCategories(let categories):
                try state.apps[app]?.notifications.setCategories(categories)
            case .submit(let request):
                try state.apps[app]?.tasks.submit(request, declared: record.spec.backgroundTasks)
                log(.submitted, app, request.id, at: now)
            case .cancel(let id): state.apps[app]?.tasks.cancel(id)
            case .register(let id): try register(app, id, at: now)
            case .complete(let slot, let success):
                complete(app, slot: slot, success: success, at: now)
            case .startTransfer(let request):
                try transfers(at: now) { queue throws(PhoneFailure) in
                    try queue.start(app, request, isSeen: record.isSeen, at: now)
                }
            case .transfers: return .transfers(state.transfers[app].map(\.transfer))
            case .cancelTransfer(let id): transfers(at: now) { $0.cancel(app, id) }
            case .forgetTransfer(let id): transfers(at: now) { $0.forget(app, id) }
            case .browser: return nil
            }
            return .done
        } catch {
            return .failed(error)
        }
    }

    /// The app registers a launch handler.
    private mutating func register(_ app: String, _ task: String, at now: PhoneMoment)
        throws(PhoneFailure)
    {
        guard state.apps[app]?.spec.backgroundTasks.contains(task) == true else {
            throw PhoneFailure(
                .refused, "The app has not declared the task (notPermitted).",
                remedy: "Name it among the tasks when the app is installed.")
        }
        guard state.apps[app]?.process?.register(task) == false else { return }
        terminate(app, "the background task \(task) was registered twice", at: now)
    }

    private mutating func remove(
        _ app: String, _ removal: PendingRemovals.Removal, at now: PhoneMoment
    ) {
        let isFull = state.apps[app]?.process?.remove(removal, at: now)
        if isFull == true { performRemovals(app, at: now) }
    }

    private mutating func performRemovals(_ app: String, at now: PhoneMoment) {
        for removal in state.apps[app]?.process?.takeRemovals() ?? [] {
            switch removal {
            case .pending(let ids): state.apps[app]?.notifications.removePending(ids)
            case .delivered(let ids):
                notifications(app, at: now) { centre, _ in
                    centre.removeDelivered { ids.contains($0.request.id) }
                }
            }
        }
    }

    // MARK: Processes

    /// The user opens an app.
    private mutating func launch(_ app: String, at now: PhoneMoment) {
        state.apps[app]?.isForceQuit = false
        bringToForeground(app, reason: .user, at: now)
        inbox(app, at: now) { inbox, _, _ in inbox.userOpened() }
    }

    /// Shows an app; starts it if it has no process.
    private mutating func bringToForeground(
        _ app: String, reason: PhoneLaunch.Reason, sceneResponse: NotificationResponse? = nil,
        at now: PhoneMoment
    ) {
        for other in appNames where other != app { leaveForeground(other, at: now) }
        guard let process = process(app) else {
            let launch = PhoneLaunch(
                reason: reason, isForeground: true, response: sceneResponse,
                isSceneRestored: state.apps[app]?.hasScene == true)
            return start(app, launch, at: now)
        }
        guard process.phase != .foreground else { return }
        if process.isSuspended { thaw(app, process, at: now) }
        state.apps[app]?.process?.enterForeground()
        guard !process.isLaunching else { return }
        state.apps[app]?.hasScene = true
        log(.foreground, app, at: now)
        tellTransfers(app)
        order(app, .foreground, at: now)
    }

    /// Runs an app in the background for an event; launches it if it has no process.
    private mutating func wake(_ app: String, reason: PhoneLaunch.Reason, at now: PhoneMoment) {
        guard let process = process(app) else {
            guard !state.isLocked || state.rules.launchBeforeUnlock == .launched else {
                return log(.notLaunched, app, "before the first unlock", at: now)
            }
            return start(app, PhoneLaunch(reason: reason, isForeground: false), at: now)
        }
        let granted = grantedMilliseconds
        switch process.phase {
        case .launching, .foreground: break
        case .background: state.apps[app]?.process?.enterBackground(at: now, granted: granted)
        case .suspended:
            thaw(app, process, at: now)
            state.apps[app]?.process?.enterBackground(at: now, granted: granted)
            tellTransfers(app)
        }
    }

    private mutating func start(_ app: String, _ launch: PhoneLaunch, at now: PhoneMoment) {
        guard let record = state.apps[app] else { return }
        state.lastLife += 1
        state.apps[app]?.process = AppProcess(
            life: state.lastLife, launch: launch,
            until: now.after(milliseconds: record.spec.launchMilliseconds),
            held: record.uncompleted)
        log(.launched, app, launch.reason.word, at: now)
        act(.spawn(app: app, life: state.lastLife))
    }

    /// The driver has started the process.
    package mutating func spawned(life: Int, _ identity: ProcessIdentity) {
        guard let app = app(of: life) else { return }
        state.apps[app]?.process?.spawned(identity)
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
        guard let app = app(of: life), let process = process(app), process.isLaunching else {
            return nil
        }
        log(.connected, app, process.launch.reason.word, at: now)
        // It reads the list of its transfers itself.
        _ = state.transfers.untold(app)
        let granted = grantedMilliseconds
        let held = state.apps[app]?.process?.connected(at: now, granted: granted)
        let isTold = process.launch.reason == .user || state.rules.backgroundLaunch == .told
        if process.launch.isForeground {
            state.apps[app]?.hasScene = true
            log(.foreground, app, at: now)
            order(app, .foreground, at: now)
        } else {
            log(.background, app, "\(granted)", at: now)
            if isTold { orderBackground(app, at: now) }
        }
        for waiting in held ?? [] { order(app, waiting, at: now) }
        return process.launch
    }

    /// Another app is opened, or the user goes home.
    private mutating func leaveForeground(_ app: String, at now: PhoneMoment) {
        guard state.apps[app]?.process?.leaveForeground() == true else { return }
        let granted = grantedMilliseconds
        state.apps[app]?.process?.enterBackground(at: now, granted: granted)
        log(.background, app, "\(granted)", at: now)
        orderBackground(app, at: now)
    }

    private mutating func orderBackground(_ app: String, at now: PhoneMoment) {
        let remaining =
            switch state.rules.backgroundTimeOnEntry {
            case .named: Double(grantedMilliseconds) / 1_000
            case .unlimited: Double.greatestFiniteMagnitude
            }
        order(app, .background(remaining: remaining), at: now)
    }

    /// Sends an order to an app, now or when it has connected.
    private mutating func order(_ app: String, _ order: AppOrder, at now: PhoneMoment) {
        guard let process = process(app) else { return }
        guard process.hasRoom else {
            return terminate(app, "it does nothing of what it is told", at: now)
        }
        state.lastOrder += 1
        let id = state.lastOrder
        guard let told = state.apps[app]?.process?.tell(order, number: id, at: now) else { return }
        if case .slot(_, let task, _) = told { log(.taskBegan, app, task, at: now) }
        act(.order(life: process.life, id: id, told))
    }

    /// The app's handler has returned.
    package mutating func returned(
        life: Int, order id: Int, options: PresentationOptions?, at now: PhoneMoment
    ) {
        guard let app = app(of: life) else { return }
        guard let order = state.apps[app]?.process?.returned(id) else {
            return log(.nonsense, app, "it has done what it was not told", at: now)
        }
        switch order {
        case .received(let response):
            state.apps[app]?.uncompleted.removeAll { $0 == response }
            log(.completed, app, response.tapID.text, at: now)
        case .willPresent(let notification):
            notifications(app, at: now) { $0.present(notification, options ?? [], $1) }
        case .push: log(.pushCompleted, app, at: now)
        case .foreground, .background, .backgroundExpires, .memoryPressure, .scene, .slot,
            .slotExpired, .transfersDone, .transferEventsEnded, .crashWebView, .late:
            break
        }
        settle(app, at: now)
    }

    /// Suspends an idle app in the background.
    private mutating func settle(_ app: String, at now: PhoneMoment) {
        if process(app)?.isIdle == true { freeze(app, "nothing is left to do", at: now) }
    }

    private mutating func freeze(_ app: String, _ reason: String, at now: PhoneMoment) {
        guard let process = process(app) else { return }
        state.apps[app]?.process?.suspend()
        log(.suspended, app, reason, at: now)
        act(.stop(life: process.life))
    }

    private mutating func thaw(_ app: String, _ process: AppProcess, at now: PhoneMoment) {
        log(.resumed, app, at: now)
        act(.go(life: process.life))
    }

    private mutating func suspend(_ app: String, at now: PhoneMoment) throws(PhoneFailure) {
        switch process(app)?.phase {
        case .foreground, .background: freeze(app, "asked for", at: now)
        case .suspended: break
        case .launching: throw PhoneFailure(.unavailable, "The app is being launched.")
        case nil: throw Self.notRunning
        }
    }

    private mutating func resume(_ app: String, at now: PhoneMoment) throws(PhoneFailure) {
        guard let process = process(app) else { throw Self.notRunning }
        guard case .suspended(let wasForeground) = process.phase else { return }
        thaw(app, process, at: now)
        let granted = grantedMilliseconds
        if wasForeground {
            state.apps[app]?.process?.enterForeground()
        } else {
            state.apps[app]?.process?.enterBackground(at: now, granted: granted)
        }
        log(wasForeground ? .foreground : .background, app, at: now)
        tellTransfers(app)
    }

    private mutating func forceQuit(_ app: String, at now: PhoneMoment) {
        state.apps[app]?.isForceQuit = true
        // Its scene session is discarded.
        state.apps[app]?.hasScene = false
        terminate(app, "force quit", at: now)
        transfers(at: now) { $0.forceQuit(app) }
    }

    private mutating func memoryPressure(at now: PhoneMoment) {
        log(.memoryPressure, nil, at: now)
        for app in appNames {
            guard let process = process(app) else { continue }
            if process.isSuspended {
                terminate(app, "memory", at: now)
            } else {
                order(app, .memoryPressure, at: now)
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
        for run in state.extensions.numbers { act(.endExtension(run)) }
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
        if let process = process(app), state.rules.uncompletedResponse == .repeated {
            state.apps[app]?.uncompleted = process.uncompleted
        }
        state.apps[app]?.process = nil
        state.apps[app]?.tasks.ended()
        // Held pushes are discarded.
        inbox(app, at: now) { inbox, _, _ in inbox.appEnded() }
    }

    // MARK: Notifications

    /// Changes an app's notifications, and performs what follows.
    private mutating func notifications<Failure: Error>(
        _ app: String, at now: PhoneMoment,
        _ body: (inout AppNotifications, AppNotifications.Context) throws(Failure) ->
            [AppNotifications.Effect]
    ) throws(Failure) {
        guard var centre = state.apps[app]?.notifications else { return }
        let context = AppNotifications.Context(
            now: now, zone: state.clock.zone, rules: state.rules, isFocused: state.isFocused)
        let effects = try body(&centre, context)
        state.apps[app]?.notifications = centre
        for effect in effects {
            switch effect {
            case .log(let what, let detail): log(what, app, detail, at: now)
            case .ask(let notification): order(app, .willPresent(notification), at: now)
            }
        }
    }

    private mutating func deliver(
        _ app: String, _ notification: DeliveredNotification, at now: PhoneMoment
    ) {
        let isSeen = state.apps[app]?.isSeen ?? false
        notifications(app, at: now) { $0.deliver(notification, isSeen: isSeen, $1) }
    }

    /// The user does something with a notification in the notification centre.
    private mutating func tap(
        _ app: String, _ id: String?, _ action: NotificationResponse.Action, at now: PhoneMoment
    ) throws(PhoneFailure) {
        var tapped: (response: NotificationResponse, opensApp: Bool?)?
        let isLocked = state.isLocked
        try notifications(app, at: now) { centre, context throws(PhoneFailure) in
            let (response, opensApp, effects) = try centre.tap(id, action, context.rules)
            if isLocked, opensApp == true { throw Self.locked }
            tapped = (response, opensApp)
            return effects
        }
        if let tapped, let opensApp = tapped.opensApp {
            respond(app, tapped.response, opensApp: opensApp, at: now)
        }
    }

    private mutating func respond(
        _ app: String, _ response: NotificationResponse, opensApp: Bool, at now: PhoneMoment
    ) {
        guard opensApp else {
            wake(app, reason: .response, at: now)
            return order(app, .received(response), at: now)
        }
        state.apps[app]?.isForceQuit = false
        guard process(app) == nil else {
            bringToForeground(app, reason: .response, at: now)
            return order(app, .received(response), at: now)
        }
        let rule = state.rules.launchingTap
        let inOptions = rule == .sceneThenDelegate || rule == .sceneAlone
        bringToForeground(
            app, reason: .response, sceneResponse: inOptions ? response : nil, at: now)
        if rule != .sceneAlone { order(app, .received(response), at: now) }
        if rule == .delegateThenScene { order(app, .scene(response), at: now) }
    }

    // MARK: Remote pushes

    /// A push has arrived at the device's side of the network.
    package mutating func pushArrived(_ app: String, _ push: PhonePush, at now: PhoneMoment) {
        log(.push, app, push.alert?.id ?? (push.wakesApp ? "silent" : "badge"), at: now)
        inbox(app, at: now) { inbox, recipient, state in
            inbox.arrived(
                push, for: recipient, isOnline: state.network != .off, rules: state.rules, at: now)
        }
    }

    /// Runs the app's inbox, and performs its actions.
    private mutating func inbox(
        _ app: String, at now: PhoneMoment,
        _ decide: (inout PushInbox, PushInbox.Recipient, PhoneState) -> [PushInbox.Action]
    ) {
        guard var record = state.apps[app] else { return }
        let recipient = PushInbox.Recipient(
            isForeground: record.isSeen, isForceQuit: record.isForceQuit,
            isAllowed: record.notifications.isAllowed,
            hasExtension: record.spec.serviceExtension != nil
                && (!state.isLocked || state.rules.extensionBeforeUnlock == .runs))
        let actions = decide(&record.inbox, recipient, state)
        state.apps[app] = record
        for action in actions { take(action, for: app, at: now) }
    }

    private mutating func take(_ action: PushInbox.Action, for app: String, at now: PhoneMoment) {
        switch action {
        case .runExtension(let push):
            guard let run = state.extensions.start(app, push, at: now) else {
                return deliverAlert(app, push, at: now)
            }
            log(.extension, app, "started", at: now)
            act(.runExtension(run, app: app, push))
        case .present(let push): deliverAlert(app, push, at: now)
        case .badge(let count):
            notifications(app, at: now) { centre, context in
                centre.settings.badges && centre.isAllowed
                    ? centre.setBadge(count, context.rules) : []
            }
        case .wake(let push):
            wake(app, reason: .push, at: now)
            order(app, .push(info: push.payload), at: now)
        case .drop(_, let outcome): log(.pushDropped, app, outcome.rawValue, at: now)
        case .keep(_, let outcome): log(.pushKept, app, outcome.rawValue, at: now)
        }
    }

    private mutating func deliverAlert(_ app: String, _ push: PhonePush, at now: PhoneMoment) {
        guard let request = push.alert else { return }
        deliver(
            app, DeliveredNotification(request: request, date: now.wall, isRemote: true), at: now)
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
        deliverAlert(finished.app, finished.push, at: now)
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

    // MARK: Background tasks

    /// The system has chosen to run a task now.
    private mutating func runBackground(
        _ app: String, _ task: String, at now: PhoneMoment
    ) throws(PhoneFailure) {
        guard var record = state.apps[app] else { return }
        if record.isForceQuit, !record.tasks.runsAfterForceQuit(task, state.rules) {
            log(.notLaunched, app, "force quit: task \(task)", at: now)
            throw PhoneFailure(
                .refused, "The user has force-quit the app: it gets no time in the background.",
                remedy: "Launch it first.")
        }
        guard
            !state.isLocked || record.process != nil
                || state.rules.launchBeforeUnlock == .launched
        else { throw Self.locked }
        let limit = try record.tasks.grant(task, conditions, at: now)
        state.apps[app] = record
        wake(app, reason: .task(task), at: now)
        order(app, .slot(number: 0, task: task, milliseconds: limit), at: now)
    }

    /// A slot's time is over: the app is notified; after that, terminated.
    private mutating func slotDue(_ app: String, _ slot: AppProcess.Slot, at now: PhoneMoment) {
        guard !slot.isExpired else {
            return terminate(app, "the task \(slot.task) was not completed in time", at: now)
        }
        log(.taskExpired, app, slot.task, at: now)
        state.apps[app]?.process?.expire(slot, at: now)
        order(app, .slotExpired(slot.number), at: now)
    }

    private mutating func complete(
        _ app: String, slot number: Int, success: Bool, at now: PhoneMoment
    ) {
        guard let slot = state.apps[app]?.process?.complete(number) else { return }
        state.apps[app]?.tasks.completed(slot.task)
        log(.taskCompleted, app, "\(slot.task) \(success ? "success" : "failure")", at: now)
        settle(app, at: now)
    }

    private mutating func expireBackground(_ app: String, at now: PhoneMoment)
        throws(PhoneFailure)
    {
        guard let process = process(app) else { throw Self.notRunning }
        for slot in process.slots where !slot.isExpired { slotDue(app, slot, at: now) }
        if case .background = process.phase, process.slots.isEmpty {
            backgroundOver(app, at: now)
        }
    }

    /// The time in the background is over, and the app is still at work.
    private mutating func backgroundOver(_ app: String, at now: PhoneMoment) {
        switch state.rules.backgroundOverrun {
        case .terminated: terminate(app, "beyond its time in the background", at: now)
        case .suspended: freeze(app, "its time is over", at: now)
        }
    }

    // MARK: Transfers

    /// Changes the transfers, performs what follows, and starts those that can run now.
    private mutating func transfers<Failure: Error>(
        at now: PhoneMoment,
        _ body: (inout TransferQueue) throws(Failure) -> [TransferQueue.Effect]
    ) throws(Failure) {
        perform(try body(&state.transfers), at: now)
        perform(state.transfers.run(conditions), at: now)
    }

    private mutating func perform(_ effects: [TransferQueue.Effect], at now: PhoneMoment) {
        for effect in effects {
            switch effect {
            case .act(let action): act(action)
            case .log(let what, let app, let detail): log(what, app, detail, at: now)
            case .ended(let app):
                tellTransfers(app)
                transfersDone(app, at: now)
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

    /// Notifies a running process of ended transfers that it does not know.
    private mutating func tellTransfers(_ app: String) {
        guard let process = process(app), process.isRunning else { return }
        for transfer in state.transfers.untold(app) {
            act(.tellTransfer(life: process.life, transfer))
        }
    }

    /// All of an app's transfers are done: an app that does not know it yet is woken for it.
    private mutating func transfersDone(_ app: String, at now: PhoneMoment) {
        guard let record = state.apps[app], state.transfers.isDoneUntold(app),
            record.process?.isLaunching != true
        else { return }
        guard !record.isForceQuit else {
            return log(.notLaunched, app, "force quit: transfers", at: now)
        }
        wake(app, reason: .transfers, at: now)
        if state.rules.transferEventsEnd == .beforeHandler {
            order(app, .transferEventsEnded, at: now)
        }
        order(app, .transfersDone, at: now)
        if state.rules.transferEventsEnd == .afterHandler {
            order(app, .transferEventsEnded, at: now)
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
        for app in appNames {
            inbox(app, at: now) { inbox, recipient, state in
                inbox.wentOnline(for: recipient, rules: state.rules, at: now)
            }
        }
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
        for app in appNames {
            for slot in process(app)?.slots ?? [] where !slot.isExpired {
                guard state.apps[app]?.tasks.isObstructed(slot.task, conditions) == true
                else { continue }
                slotDue(app, slot, at: now)
            }
        }
    }

    // MARK: Time

    private enum Due {
        case process(String, AppProcess.Due)
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
            for pending in record.notifications.pending {
                consider(pending.due.microseconds(from: now), .notification(app, pending))
            }
            if let at = record.inbox.due { consider(at, .pushes(app)) }
            for (at, due) in record.process?.due ?? [] { consider(at, .process(app, due)) }
        }
        if let (at, number) = state.transfers.due { consider(at, .transfer(number)) }
        if let (at, run) = state.extensions.due { consider(at, .extension(run)) }
        return best
    }

    private mutating func handle(_ due: Due, at now: PhoneMoment) {
        switch due {
        case .process(let app, .launch): terminate(app, "it did not connect in time", at: now)
        case .process(let app, .backgroundWarning):
            if state.apps[app]?.process?.warned() == true {
                log(.backgroundExpires, app, at: now)
                order(app, .backgroundExpires, at: now)
            }
        case .process(let app, .background): backgroundOver(app, at: now)
        case .process(let app, .removals): performRemovals(app, at: now)
        case .process(let app, .slot(let slot)): slotDue(app, slot, at: now)
        case .process(let app, .presentation(let order)):
            guard let late = state.apps[app]?.process?.presentationDue(order) else { return }
            let isListed = state.rules.unansweredPresentation == .listed
            notifications(app, at: now) { $0.present(late, isListed ? .list : [], $1) }
        case .notification(let app, let pending):
            let isSeen = state.apps[app]?.isSeen ?? false
            notifications(app, at: now) { $0.fire(pending, isSeen: isSeen, $1) }
        case .pushes(let app):
            inbox(app, at: now) { inbox, _, state in
                inbox.timePassed(rules: state.rules, at: now)
            }
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
            let isSeen = state.apps[app]?.isSeen ?? false
            notifications(app, at: now) { centre, context in
                centre.calendarChanged(isSeen: isSeen, context, isOver: isOver)
            }
        }
        timePassed(to: now)
    }

    /// The phone was started: all processes are gone, and the rules decide the rest.
    package mutating func started(after reason: String, at now: PhoneMoment) {
        log(.started, nil, reason, at: now)
        act(.keepTransfers(state.transfers.numbers))
        for leftover in state.condemned { act(.killLeftover(leftover)) }
        for app in appNames { restarted(app, at: now) }
        for run in state.extensions.numbers {
            extensionFinished(run: run, content: nil, at: now)
        }
        let rules = state.rules
        transfers(at: now) { $0.restarted(rules) }
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
        state.apps[app]?.tasks.restarted(state.rules)
        if state.rules.forceQuitAcrossRestart == .lifted { state.apps[app]?.isForceQuit = false }
        notifications(app, at: now) { $0.restarted($1) }
    }

    // MARK: What is seen

    /// The machine's part of the status; the driver adds its own.
    package func status(
        at now: PhoneMoment, process: Int32, lastEvent: Int, folder: PhoneFolder
    ) -> PhoneStatus {
        let apps = appNames.compactMap { state.apps[$0] }.map { record in
            let (appState, remaining) = Self.seen(record.process, at: now)
            return PhoneStatus.App(
                id: record.spec.id, state: appState, process: record.process?.identity?.id,
                remainingMilliseconds: remaining, isForceQuit: record.isForceQuit,
                settings: record.notifications.settings, badge: record.notifications.badge,
                pending: record.notifications.soonestFirst(at: now),
                delivered: record.notifications.delivered.reversed(),
                tasks: record.tasks.waiting,
                transfers: state.transfers[record.spec.id].map(\.transfer),
                folder: folder.data(of: record.spec.id).path)
        }
        return PhoneStatus(
            process: process, now: now.wall, zone: state.clock.zone, network: state.network,
            device: state.device, rules: state.rules, apps: apps, lastEvent: lastEvent)
    }

    private static func seen(_ process: AppProcess?, at now: PhoneMoment)
        -> (PhoneStatus.AppState, Int64?)
    {
        switch process?.phase {
        case nil: (.notRunning, nil)
        case .launching: (.launching, nil)
        case .foreground: (.foreground, nil)
        case .background(let until): (.background, max(0, (until - now.microseconds) / 1_000))
        case .suspended: (.suspended, nil)
        }
    }
}

extension AppCall {
    fileprivate var readsNotifications: Bool {
        switch self {
        case .pending, .delivered: true
        case .settings, .requestAuthorization, .add, .removePending, .removeDelivered, .setBadge,
            .setCategories, .submit, .cancel, .tasks, .register, .complete, .startTransfer,
            .transfers, .cancelTransfer, .forgetTransfer, .browser:
            false
        }
    }
}

extension PhoneMoment {
    func after(milliseconds: Int64) -> Int64 { microseconds + milliseconds * 1_000 }
}
