package import RepriseCore

/// Remote pushes, as the device handles them.
extension PhoneMachine {
    /// A push has arrived at the device's side of the network.
    package mutating func pushArrived(_ app: String, _ push: PhonePush, at now: PhoneMoment) {
        log(.push, app, push.alert?.id ?? (push.wakesApp ? "silent" : "badge"), at: now)
        inbox(app, at: now) { inbox, recipient, state in
            inbox.arrived(
                push, for: recipient, isOnline: state.network != .off, rules: state.rules, at: now)
        }
    }

    mutating func setNetwork(_ network: PhoneNetwork, at now: PhoneMoment) {
        guard state.network != network else { return }
        state.network = network
        log(.network, nil, network.word, at: now)
        act(.tellNetwork)
        conditionsChanged(at: now)
        networkChangedForTransfers(at: now)
        guard network != .off else { return }
        for app in appNames {
            inbox(app, at: now) { inbox, recipient, state in
                inbox.wentOnline(for: recipient, rules: state.rules, at: now)
            }
        }
    }

    /// The user has opened the app: held pushes are delivered.
    mutating func pushesOpened(_ app: String, at now: PhoneMoment) {
        inbox(app, at: now) { inbox, _, _ in inbox.userOpened() }
    }

    /// The process is gone: its held pushes are discarded.
    mutating func pushesEnded(_ app: String, at now: PhoneMoment) {
        inbox(app, at: now) { inbox, _, _ in inbox.appEnded() }
    }

    mutating func pushesDue(_ app: String, at now: PhoneMoment) {
        inbox(app, at: now) { inbox, _, state in inbox.timePassed(rules: state.rules, at: now) }
    }

    /// Runs the app's inbox, and performs its actions.
    private mutating func inbox(
        _ app: String, at now: PhoneMoment,
        _ decide: (inout PushInbox, PushInbox.Recipient, PhoneState) -> [PushInbox.Action]
    ) {
        guard var record = state.apps[app] else { return }
        let recipient = PushInbox.Recipient(
            isForeground: record.process?.phase == .foreground, isForceQuit: record.isForceQuit,
            isAllowed: record.settings.isAllowed,
            hasExtension: record.spec.serviceExtension != nil)
        let actions = decide(&record.inbox, recipient, state)
        state.apps[app] = record
        for action in actions { take(action, for: app, at: now) }
    }

    private mutating func take(_ action: PushInbox.Action, for app: String, at now: PhoneMoment) {
        switch action {
        case .runExtension(let push) where state.extensions.count < PhoneLimits.extensions:
            runExtension(app, push, at: now)
        case .runExtension(let push), .present(let push): deliverAlert(app, push, at: now)
        case .badge(let count):
            if state.apps[app]?.settings.badges == true,
                state.apps[app]?.settings.isAllowed == true
            {
                setBadge(app, count, at: now)
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

    private mutating func runExtension(_ app: String, _ push: PhonePush, at now: PhoneMoment) {
        let run = nextNumber()
        state.extensions[run] = ExtensionRun(
            app: app, push: push,
            until: now.after(milliseconds: PhoneLimits.extensionMilliseconds))
        log(.extension, app, "started", at: now)
        act(.runExtension(run, app: app, push))
    }

    /// The service extension has answered; or ended without an answer, and the push is shown as it
    /// came.
    ///
    /// Content without any text is no answer, as Apple has it.
    package mutating func extensionFinished(
        run: Int, content: NotificationContent?, at now: PhoneMoment
    ) {
        guard var finished = state.extensions.removeValue(forKey: run) else { return }
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

    mutating func extensionDue(_ run: Int, at now: PhoneMoment) {
        guard let record = state.extensions[run] else { return }
        guard record.isWarned else {
            state.extensions[run]?.isWarned = true
            log(.extension, record.app, "its time is nearly over", at: now)
            return act(.warnExtension(run))
        }
        log(.extension, record.app, "its time is over", at: now)
        extensionFinished(run: run, content: nil, at: now)
    }
}

extension PhoneNetwork {
    /// Its word in the log.
    var word: String {
        switch self {
        case .off: "off"
        case .on: "on"
        case .slow(let latency, let rate):
            "slow: \(latency) ms" + (rate.map { ", \($0) bytes/s" } ?? "")
        }
    }
}
