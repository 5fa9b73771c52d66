package import RepriseCore

/// Remote pushes, as the device treats what APNs brings.
extension PhoneMachine {
    /// A push has arrived at the device's side of the network.
    package mutating func pushArrived(_ app: String, _ push: PhonePush, at now: PhoneMoment) {
        guard state.network == .off else { return deliverPush(app, push, at: now) }
        if let expires = push.expires, expires <= now.wall {
            return log(.pushDropped, app, "offline, and not to be kept", at: now)
        }
        let keepsFirst = state.rules.storedPush == .first && state.apps[app]?.storedPush != nil
        if keepsFirst {
            return log(.pushDropped, app, "offline, and another is kept", at: now)
        }
        if state.apps[app]?.storedPush != nil {
            log(.pushDropped, app, "offline, and a newer one is kept", at: now)
        }
        _ = change(app) { $0.storedPush = push }
        log(.push, app, "kept until the network is back", at: now)
    }

    mutating func setNetwork(_ network: PhoneNetwork, at now: PhoneMoment) {
        guard state.network != network else { return }
        state.network = network
        log(.network, nil, network.word, at: now)
        act(.tellNetwork)
        guard network != .off else { return }
        for app in appNames {
            guard let push = state.apps[app]?.storedPush else { continue }
            _ = change(app) { $0.storedPush = nil }
            if let expires = push.expires, expires <= now.wall {
                log(.pushDropped, app, "expired while offline", at: now)
            } else {
                deliverPush(app, push, at: now)
            }
        }
    }

    private mutating func deliverPush(_ app: String, _ push: PhonePush, at now: PhoneMoment) {
        guard let record = state.apps[app] else { return }
        log(.push, app, push.alert?.id ?? (push.wakesApp ? "silent" : "badge"), at: now)
        if push.alert != nil {
            let mayRun = !record.isForceQuit || state.rules.extensionOfForceQuitApp == .runs
            if push.isMutable, record.spec.serviceExtension != nil, mayRun,
                state.extensions.count < PhoneLimits.extensions
            {
                runExtension(app, push, at: now)
            } else {
                deliverAlert(app, push, at: now)
            }
        } else if let badge = push.badge, record.settings.badges,
            record.settings.authorization == .authorized
        {
            setBadge(app, badge, at: now)
        }
        if push.wakesApp { wakeSilently(app, push, at: now) }
    }

    private mutating func deliverAlert(_ app: String, _ push: PhonePush, at now: PhoneMoment) {
        guard let request = push.alert else { return }
        deliver(
            app, DeliveredNotification(request: request, date: now.wall, isRemote: true), at: now)
    }

    private mutating func wakeSilently(_ app: String, _ push: PhonePush, at now: PhoneMoment) {
        guard let record = state.apps[app] else { return }
        if record.isForceQuit { return log(.pushDropped, app, "force quit", at: now) }
        let isForeground = record.process?.phase == .foreground
        if !isForeground || state.rules.silentInForeground == .counted {
            let hour = now.microseconds - 3_600_000_000
            let recent = record.silentPushes.filter { $0 > hour }
            guard recent.count < state.rules.silentPushesPerHour else {
                return log(.pushDropped, app, "throttled", at: now)
            }
            _ = change(app) { $0.silentPushes = recent + [now.microseconds] }
        }
        wake(app, reason: .push, at: now)
        order(app, .push(info: push.payload), at: now)
    }

    private mutating func runExtension(_ app: String, _ push: PhonePush, at now: PhoneMoment) {
        let run = nextNumber()
        state.extensions[run] = ExtensionRun(
            app: app, push: push,
            until: now.after(milliseconds: PhoneLimits.extensionMilliseconds))
        log(.extension, app, "started", at: now)
        act(.runExtension(run, app: app, push))
    }

    /// The service extension has answered; or ended without an answer, and the push is shown as it came.
    package mutating func extensionFinished(
        run: Int, content: NotificationContent?, at now: PhoneMoment
    ) {
        guard var finished = state.extensions.removeValue(forKey: run) else { return }
        log(.extension, finished.app, content == nil ? "ended without answer" : "answered", at: now)
        if let content { finished.push.alert?.content = content }
        deliverAlert(finished.app, finished.push, at: now)
    }

    mutating func extensionDue(_ run: Int, at now: PhoneMoment) {
        guard let app = state.extensions[run]?.app else { return }
        log(.extension, app, "its time is over", at: now)
        act(.endExtension(run))
        extensionFinished(run: run, content: nil, at: now)
    }
}

extension PhoneNetwork {
    /// As it stands in the log.
    var word: String {
        switch self {
        case .off: "off"
        case .on: "on"
        case .slow(let latency, let rate):
            "slow: \(latency) ms" + (rate.map { ", \($0) bytes/s" } ?? "")
        }
    }
}
