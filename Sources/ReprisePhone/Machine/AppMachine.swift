import RepriseCore

/// Decides the system's behaviour towards one app: its process, notifications, tasks and pushes.
///
/// What concerns several apps or the device is ``PhoneMachine``'s.
package struct AppMachine: Hashable, Sendable, Codable {
    /// What comes due.
    enum Due {
        case process(AppProcess.Due)
        case notification(PendingNotification)
        case pushes
    }

    package private(set) var spec: PhoneAppSpec
    package private(set) var isForceQuit = false
    /// An earlier process had a scene, which the system restores.
    private var hasScene = false
    package private(set) var notifications: AppNotifications
    package private(set) var tasks = AppTasks()
    /// Pushes that wait for the network or for the budget.
    private var inbox = PushInbox()
    /// Responses that the app has not completed, where the rules repeat them.
    private var uncompleted: [NotificationResponse] = []
    package private(set) var process: AppProcess?

    init(_ spec: PhoneAppSpec, badge: Int) {
        self.spec = spec
        notifications = AppNotifications(badge: badge)
    }

    var isSeen: Bool { process?.phase == .foreground }

    /// Another version was installed.
    mutating func update(to spec: PhoneAppSpec) { self.spec = spec }

    // MARK: Calls

    /// Answers a call of the process; nil: it is not about this app alone.
    mutating func called(
        _ call: AppCall, _ phone: inout PhoneContext
    ) throws(PhoneFailure) -> AppAnswer? {
        switch call {
        case .settings: return .settings(notifications.settings)
        case .requestAuthorization(let provisional):
            perform(notifications.requestAuthorization(provisional: provisional), &phone)
            return .allowed(notifications.isAllowed)
        // What is asked after a removal is answered after it.
        case .pending:
            performRemovals(&phone)
            return .pending(notifications.soonestFirst(at: phone.now))
        case .delivered:
            performRemovals(&phone)
            return .delivered(notifications.delivered.reversed())
        case .tasks: return .tasks(tasks.waiting)
        case .add(let request):
            let effects = try notifications.add(request, isSeen: isSeen, phone.notifications)
            perform(effects, &phone)
        case .removePending(let ids): remove(.pending(ids), &phone)
        case .removeDelivered(let ids): remove(.delivered(ids), &phone)
        case .setBadge(let count): perform(notifications.setBadge(count, phone.rules), &phone)
        case .setCategories(let categories): try notifications.setCategories(categories)
        case .submit(let request):
            try tasks.submit(request, declared: spec.backgroundTasks)
            phone.log(.submitted, spec.id, request.id)
        case .cancel(let id): tasks.cancel(id)
        case .register(let id): try register(id, &phone)
        case .complete(let slot, let success): complete(slot: slot, success: success, &phone)
        case .startTransfer, .transfers, .cancelTransfer, .forgetTransfer, .browser: return nil
        }
        return .done
    }

    /// The app registers a launch handler.
    private mutating func register(
        _ task: String, _ phone: inout PhoneContext
    ) throws(PhoneFailure) {
        guard spec.backgroundTasks.contains(task) else {
            throw PhoneFailure(
                .refused, "The app has not declared the task (notPermitted).",
                remedy: "Name it among the tasks when the app is installed.")
        }
        guard process?.register(task) == false else { return }
        terminate("the background task \(task) was registered twice", &phone)
    }

    private mutating func remove(_ removal: PendingRemovals.Removal, _ phone: inout PhoneContext) {
        let isFull = process?.remove(removal, at: phone.now)
        if isFull == true { performRemovals(&phone) }
    }

    private mutating func performRemovals(_ phone: inout PhoneContext) {
        for removal in process?.takeRemovals() ?? [] {
            switch removal {
            case .pending(let ids): notifications.removePending(ids)
            case .delivered(let ids):
                let effects = notifications.removeDelivered { ids.contains($0.request.id) }
                perform(effects, &phone)
            }
        }
    }

    // MARK: Process

    /// The user opens it; another app is in the foreground no more.
    mutating func launch(_ phone: inout PhoneContext) {
        isForceQuit = false
        bringToForeground(reason: .user, &phone)
        take(inbox.userOpened(), &phone)
    }

    /// Shows the app; starts it if it has no process.
    private mutating func bringToForeground(
        reason: PhoneLaunch.Reason, sceneResponse: NotificationResponse? = nil,
        _ phone: inout PhoneContext
    ) {
        guard let process else {
            let launch = PhoneLaunch(
                reason: reason, isForeground: true, response: sceneResponse,
                isSceneRestored: hasScene)
            return start(launch, &phone)
        }
        guard process.phase != .foreground else { return }
        if process.isSuspended { thaw(process, &phone) }
        self.process?.enterForeground()
        guard !process.isLaunching else { return }
        hasScene = true
        phone.log(.foreground, spec.id)
        tellTransfers(&phone)
        order(.foreground, &phone)
    }

    /// Runs the app in the background for an event; launches it if it has no process.
    private mutating func wake(reason: PhoneLaunch.Reason, _ phone: inout PhoneContext) {
        guard let process else {
            guard !phone.isLocked || phone.rules.launchBeforeUnlock == .launched else {
                return phone.log(.notLaunched, spec.id, "before the first unlock")
            }
            return start(PhoneLaunch(reason: reason, isForeground: false), &phone)
        }
        let granted = phone.grantedMilliseconds
        switch process.phase {
        case .launching, .foreground: break
        case .background: self.process?.enterBackground(at: phone.now, granted: granted)
        case .suspended:
            thaw(process, &phone)
            self.process?.enterBackground(at: phone.now, granted: granted)
            tellTransfers(&phone)
        }
    }

    private mutating func start(_ launch: PhoneLaunch, _ phone: inout PhoneContext) {
        let life = phone.nextLife()
        process = AppProcess(
            life: life, launch: launch,
            until: phone.now.after(milliseconds: spec.launchMilliseconds), held: uncompleted)
        phone.log(.launched, spec.id, launch.reason.word)
        phone.act(.spawn(app: spec.id, life: life))
    }

    /// The driver has started the process.
    mutating func spawned(_ identity: ProcessIdentity) { process?.spawned(identity) }

    /// The driver could not start the process.
    mutating func spawnFailed(_ reason: String, _ phone: inout PhoneContext) {
        phone.log(.notLaunched, spec.id, reason)
        forget(&phone)
    }

    /// Accepts the process.
    ///
    /// - Returns: its launch; nil if it is not awaited.
    mutating func connected(_ phone: inout PhoneContext) -> PhoneLaunch? {
        guard let process, process.isLaunching else { return nil }
        phone.log(.connected, spec.id, process.launch.reason.word)
        // It reads the list of its transfers itself.
        _ = phone.untoldTransfers(of: spec.id)
        let granted = phone.grantedMilliseconds
        let held = self.process?.connected(at: phone.now, granted: granted)
        let isTold = process.launch.reason == .user || phone.rules.backgroundLaunch == .told
        if process.launch.isForeground {
            hasScene = true
            phone.log(.foreground, spec.id)
            order(.foreground, &phone)
        } else {
            phone.log(.background, spec.id, "\(granted)")
            if isTold { orderBackground(&phone) }
        }
        for waiting in held ?? [] { order(waiting, &phone) }
        return process.launch
    }

    /// Another app is opened, or the user goes home.
    mutating func leaveForeground(_ phone: inout PhoneContext) {
        guard process?.leaveForeground() == true else { return }
        let granted = phone.grantedMilliseconds
        process?.enterBackground(at: phone.now, granted: granted)
        phone.log(.background, spec.id, "\(granted)")
        orderBackground(&phone)
    }

    private mutating func orderBackground(_ phone: inout PhoneContext) {
        let remaining =
            switch phone.rules.backgroundTimeOnEntry {
            case .named: Double(phone.grantedMilliseconds) / 1_000
            case .unlimited: Double.greatestFiniteMagnitude
            }
        order(.background(remaining: remaining), &phone)
    }

    /// Sends an order to the app, now or when it has connected.
    private mutating func order(_ order: AppOrder, _ phone: inout PhoneContext) {
        guard let process else { return }
        guard process.hasRoom else {
            return terminate("it does nothing of what it is told", &phone)
        }
        let id = phone.nextOrder()
        guard let told = self.process?.tell(order, number: id, at: phone.now) else { return }
        if case .slot(_, let task, _) = told { phone.log(.taskBegan, spec.id, task) }
        phone.act(.order(life: process.life, id: id, told))
    }

    /// The app's handler has returned.
    mutating func returned(_ id: Int, options: PresentationOptions?, _ phone: inout PhoneContext) {
        guard let order = process?.returned(id) else {
            return phone.log(.nonsense, spec.id, "it has done what it was not told")
        }
        switch order {
        case .received(let response):
            uncompleted.removeAll { $0 == response }
            phone.log(.completed, spec.id, response.tapID.text)
        case .willPresent(let notification): present(notification, options ?? [], &phone)
        case .push: phone.log(.pushCompleted, spec.id)
        case .foreground, .background, .backgroundExpires, .memoryPressure, .scene, .slot,
            .slotExpired, .transfersDone, .transferEventsEnded, .crashWebView, .late:
            break
        }
        settle(&phone)
    }

    /// Suspends an idle app in the background.
    private mutating func settle(_ phone: inout PhoneContext) {
        if process?.isIdle == true { freeze("nothing is left to do", &phone) }
    }

    private mutating func freeze(_ reason: String, _ phone: inout PhoneContext) {
        guard let process else { return }
        self.process?.suspend()
        phone.log(.suspended, spec.id, reason)
        phone.act(.stop(life: process.life))
    }

    private func thaw(_ process: AppProcess, _ phone: inout PhoneContext) {
        phone.log(.resumed, spec.id)
        phone.act(.go(life: process.life))
    }

    mutating func suspend(_ phone: inout PhoneContext) throws(PhoneFailure) {
        switch process?.phase {
        case .foreground, .background: freeze("asked for", &phone)
        case .suspended: break
        case .launching: throw PhoneFailure(.unavailable, "The app is being launched.")
        case nil: throw PhoneFailure.notRunning
        }
    }

    mutating func resume(_ phone: inout PhoneContext) throws(PhoneFailure) {
        guard let process else { throw PhoneFailure.notRunning }
        guard case .suspended(let wasForeground) = process.phase else { return }
        thaw(process, &phone)
        if wasForeground {
            self.process?.enterForeground()
        } else {
            self.process?.enterBackground(at: phone.now, granted: phone.grantedMilliseconds)
        }
        phone.log(wasForeground ? .foreground : .background, spec.id)
        tellTransfers(&phone)
    }

    mutating func forceQuit(_ phone: inout PhoneContext) {
        isForceQuit = true
        // Its scene session is discarded.
        hasScene = false
        terminate("force quit", &phone)
    }

    mutating func memoryPressure(_ phone: inout PhoneContext) {
        guard let process else { return }
        if process.isSuspended {
            terminate("memory", &phone)
        } else {
            order(.memoryPressure, &phone)
        }
    }

    mutating func crashWebView(_ phone: inout PhoneContext) throws(PhoneFailure) {
        guard process?.isRunning == true else {
            throw PhoneFailure(.unavailable, "The app does not run.", remedy: "Launch it first.")
        }
        phone.log(.webViewCrashed, spec.id)
        order(.crashWebView, &phone)
    }

    mutating func kill(_ phone: inout PhoneContext) throws(PhoneFailure) {
        guard process != nil else { throw PhoneFailure.notRunning }
        terminate("by the system", &phone)
    }

    /// Kills the process without notice to the app.
    mutating func terminate(_ reason: String, _ phone: inout PhoneContext) {
        guard let process else { return }
        phone.log(.terminated, spec.id, reason)
        if let identity = process.identity { phone.condemn(identity) }
        phone.act(.kill(life: process.life, process.identity))
        forget(&phone)
    }

    /// The process has ended by itself, or was killed by others.
    mutating func ended(_ how: String, _ phone: inout PhoneContext) {
        phone.log(.exited, spec.id, how)
        forget(&phone)
    }

    private mutating func forget(_ phone: inout PhoneContext) {
        if let process, phone.rules.uncompletedResponse == .repeated {
            uncompleted = process.uncompleted
        }
        process = nil
        tasks.ended()
        // Held pushes are discarded.
        take(inbox.appEnded(), &phone)
    }

    /// The phone was started.
    mutating func restarted(_ phone: inout PhoneContext) {
        if let process {
            if let identity = process.identity {
                phone.condemn(identity)
                phone.act(.killLeftover(identity))
            }
            ended("power off", &phone)
        }
        tasks.restarted(phone.rules)
        if phone.rules.forceQuitAcrossRestart == .lifted { isForceQuit = false }
        perform(notifications.restarted(phone.notifications), &phone)
    }

    // MARK: Notifications

    private mutating func perform(
        _ effects: [AppNotifications.Effect], _ phone: inout PhoneContext
    ) {
        for effect in effects {
            switch effect {
            case .log(let what, let detail): phone.log(what, spec.id, detail)
            case .ask(let notification): order(.willPresent(notification), &phone)
            }
        }
    }

    private mutating func present(
        _ notification: DeliveredNotification, _ options: PresentationOptions,
        _ phone: inout PhoneContext
    ) {
        perform(notifications.present(notification, options, phone.notifications), &phone)
    }

    mutating func permit(_ settings: NotificationSettings, _ phone: inout PhoneContext) {
        perform(notifications.permit(settings), &phone)
    }

    mutating func willAnswer(_ isAllowed: Bool) { notifications.willAnswer(isAllowed) }

    /// The calendar was set, or the time zone.
    mutating func calendarChanged(isOver: (WallTime) -> Bool, _ phone: inout PhoneContext) {
        let effects = notifications.calendarChanged(
            isSeen: isSeen, phone.notifications, isOver: isOver)
        perform(effects, &phone)
    }

    /// The user does something with a notification in the notification centre.
    ///
    /// - Returns: the response, and whether the app enters the foreground for it; nil if it is not
    ///   notified at all.
    mutating func tap(
        _ id: String?, _ action: NotificationResponse.Action, _ phone: inout PhoneContext
    ) throws(PhoneFailure) -> (response: NotificationResponse, opensApp: Bool?) {
        let (response, opensApp, effects) = try notifications.tap(id, action, phone.rules)
        if phone.isLocked, opensApp == true { throw PhoneFailure.locked }
        perform(effects, &phone)
        return (response, opensApp)
    }

    /// Passes a response to the app; if that opens it, another app is in the foreground no more.
    mutating func respond(
        _ response: NotificationResponse, opensApp: Bool, _ phone: inout PhoneContext
    ) {
        guard opensApp else {
            wake(reason: .response, &phone)
            return order(.received(response), &phone)
        }
        isForceQuit = false
        guard process == nil else {
            bringToForeground(reason: .response, &phone)
            return order(.received(response), &phone)
        }
        let rule = phone.rules.launchingTap
        let inOptions = rule == .sceneThenDelegate || rule == .sceneAlone
        bringToForeground(reason: .response, sceneResponse: inOptions ? response : nil, &phone)
        if rule != .sceneAlone { order(.received(response), &phone) }
        if rule == .delegateThenScene { order(.scene(response), &phone) }
    }

    // MARK: Pushes

    /// A push has arrived at the device's side of the network.
    mutating func pushArrived(_ push: PhonePush, _ phone: inout PhoneContext) {
        let actions = inbox.arrived(
            push, for: recipient(phone), isOnline: phone.isOnline, rules: phone.rules,
            at: phone.now)
        take(actions, &phone)
    }

    /// The device is online again.
    mutating func wentOnline(_ phone: inout PhoneContext) {
        let actions = inbox.wentOnline(for: recipient(phone), rules: phone.rules, at: phone.now)
        take(actions, &phone)
    }

    private func recipient(_ phone: PhoneContext) -> PushInbox.Recipient {
        PushInbox.Recipient(
            isForeground: isSeen, isForceQuit: isForceQuit, isAllowed: notifications.isAllowed,
            hasExtension: spec.serviceExtension != nil
                && (!phone.isLocked || phone.rules.extensionBeforeUnlock == .runs))
    }

    private mutating func take(_ actions: [PushInbox.Action], _ phone: inout PhoneContext) {
        for action in actions {
            switch action {
            case .runExtension(let push):
                guard let run = phone.startExtension(of: spec.id, push) else {
                    deliverAlert(push, &phone)
                    continue
                }
                phone.log(.extension, spec.id, "started")
                phone.act(.runExtension(run, app: spec.id, push))
            case .present(let push): deliverAlert(push, &phone)
            case .badge(let count):
                guard notifications.settings.badges, notifications.isAllowed else { continue }
                perform(notifications.setBadge(count, phone.rules), &phone)
            case .wake(let push):
                wake(reason: .push, &phone)
                order(.push(info: push.payload), &phone)
            case .drop(_, let outcome): phone.log(.pushDropped, spec.id, outcome.rawValue)
            case .keep(_, let outcome): phone.log(.pushKept, spec.id, outcome.rawValue)
            }
        }
    }

    /// Shows a push, as it came or as the service extension has changed it.
    mutating func deliverAlert(_ push: PhonePush, _ phone: inout PhoneContext) {
        guard let request = push.alert else { return }
        let notification = DeliveredNotification(
            request: request, date: phone.now.wall, isRemote: true)
        let effects = notifications.deliver(notification, isSeen: isSeen, phone.notifications)
        perform(effects, &phone)
    }

    // MARK: Background tasks

    /// The system has chosen to run a task now.
    mutating func runBackground(_ task: String, _ phone: inout PhoneContext) throws(PhoneFailure) {
        if isForceQuit, !tasks.runsAfterForceQuit(task, phone.rules) {
            phone.log(.notLaunched, spec.id, "force quit: task \(task)")
            throw PhoneFailure(
                .refused, "The user has force-quit the app: it gets no time in the background.",
                remedy: "Launch it first.")
        }
        guard !phone.isLocked || process != nil || phone.rules.launchBeforeUnlock == .launched
        else { throw PhoneFailure.locked }
        let limit = try tasks.grant(task, phone.conditions, at: phone.now)
        wake(reason: .task(task), &phone)
        order(.slot(number: 0, task: task, milliseconds: limit), &phone)
    }

    /// A slot's time is over: the app is notified; after that, terminated.
    private mutating func slotDue(_ slot: AppProcess.Slot, _ phone: inout PhoneContext) {
        guard !slot.isExpired else {
            return terminate("the task \(slot.task) was not completed in time", &phone)
        }
        phone.log(.taskExpired, spec.id, slot.task)
        process?.expire(slot, at: phone.now)
        order(.slotExpired(slot.number), &phone)
    }

    private mutating func complete(slot number: Int, success: Bool, _ phone: inout PhoneContext) {
        guard let slot = process?.complete(number) else { return }
        tasks.completed(slot.task)
        phone.log(.taskCompleted, spec.id, "\(slot.task) \(success ? "success" : "failure")")
        settle(&phone)
    }

    mutating func expireBackground(_ phone: inout PhoneContext) throws(PhoneFailure) {
        guard let process else { throw PhoneFailure.notRunning }
        for slot in process.slots where !slot.isExpired { slotDue(slot, &phone) }
        if case .background = process.phase, process.slots.isEmpty { backgroundOver(&phone) }
    }

    /// The time in the background is over, and the app is still at work.
    private mutating func backgroundOver(_ phone: inout PhoneContext) {
        switch phone.rules.backgroundOverrun {
        case .terminated: terminate("beyond its time in the background", &phone)
        case .suspended: freeze("its time is over", &phone)
        }
    }

    /// Power or network has changed: expires the running tasks that asked for it.
    mutating func expireObstructedTasks(_ phone: inout PhoneContext) {
        for slot in process?.slots ?? [] where !slot.isExpired {
            guard tasks.isObstructed(slot.task, phone.conditions) else { continue }
            slotDue(slot, &phone)
        }
    }

    // MARK: Transfers

    /// A transfer has ended, or is forgotten.
    ///
    /// If it was the last, an app that does not know it yet is woken for it.
    mutating func transferEnded(_ phone: inout PhoneContext) {
        tellTransfers(&phone)
        guard phone.areTransfersDoneUntold(of: spec.id), process?.isLaunching != true else {
            return
        }
        guard !isForceQuit else {
            return phone.log(.notLaunched, spec.id, "force quit: transfers")
        }
        wake(reason: .transfers, &phone)
        if phone.rules.transferEventsEnd == .beforeHandler { order(.transferEventsEnded, &phone) }
        order(.transfersDone, &phone)
        if phone.rules.transferEventsEnd == .afterHandler { order(.transferEventsEnded, &phone) }
    }

    /// Notifies a running process of ended transfers that it does not know.
    private func tellTransfers(_ phone: inout PhoneContext) {
        guard let process, process.isRunning else { return }
        for transfer in phone.untoldTransfers(of: spec.id) {
            phone.act(.tellTransfer(life: process.life, transfer))
        }
    }

    // MARK: Time

    /// The next event; of several at the same time always the same.
    func soonest(from now: PhoneMoment) -> (at: Int64, due: Due)? {
        var all: [(at: Int64, due: Due)] = notifications.pending.map {
            ($0.due.microseconds(from: now), .notification($0))
        }
        if let at = inbox.due { all.append((at, .pushes)) }
        for (at, due) in process?.due ?? [] { all.append((at, .process(due))) }
        return all.min { $0.at < $1.at }
    }

    mutating func handle(_ due: Due, _ phone: inout PhoneContext) {
        switch due {
        case .process(.launch): terminate("it did not connect in time", &phone)
        case .process(.backgroundWarning):
            guard process?.warned() == true else { return }
            phone.log(.backgroundExpires, spec.id)
            order(.backgroundExpires, &phone)
        case .process(.background): backgroundOver(&phone)
        case .process(.removals): performRemovals(&phone)
        case .process(.slot(let slot)): slotDue(slot, &phone)
        case .process(.presentation(let order)):
            guard let late = process?.presentationDue(order) else { return }
            let isListed = phone.rules.unansweredPresentation == .listed
            present(late, isListed ? .list : [], &phone)
        case .notification(let pending):
            let effects = notifications.fire(pending, isSeen: isSeen, phone.notifications)
            perform(effects, &phone)
        case .pushes: take(inbox.timePassed(rules: phone.rules, at: phone.now), &phone)
        }
    }

    // MARK: What is seen

    func status(
        at now: PhoneMoment, transfers: [TransferRecord], folder: String
    ) -> PhoneStatus.App {
        let (state, remaining) = phase(at: now)
        return PhoneStatus.App(
            id: spec.id, state: state, process: process?.identity?.id,
            remainingMilliseconds: remaining, isForceQuit: isForceQuit,
            settings: notifications.settings, badge: notifications.badge,
            pending: notifications.soonestFirst(at: now),
            delivered: notifications.delivered.reversed(), tasks: tasks.waiting,
            transfers: transfers.map(\.transfer), folder: folder)
    }

    private func phase(at now: PhoneMoment) -> (PhoneStatus.AppState, Int64?) {
        switch process?.phase {
        case nil: (.notRunning, nil)
        case .launching: (.launching, nil)
        case .foreground: (.foreground, nil)
        case .background(let until): (.background, max(0, (until - now.microseconds) / 1_000))
        case .suspended: (.suspended, nil)
        }
    }
}

extension PhoneFailure {
    static let notRunning = PhoneFailure(
        .unavailable, "The app is not running.", remedy: "Launch it first.")
    static let locked = PhoneFailure(
        .unavailable, "The phone waits for its first unlock.", remedy: "Unlock it first.")
}
