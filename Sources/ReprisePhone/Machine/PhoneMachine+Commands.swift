import Foundation
import RepriseCore

/// Commands of people and scripts.
extension PhoneMachine {
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
        case .launch(let app): launch(try named(app), at: now)
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
        case .metered(let isMetered): setDevice(at: now) { $0.isMetered = isMetered }
        case .storage(let bytes): try setStorage(bytes, at: now)
        case .advance(let milliseconds): try advance(milliseconds: milliseconds, at: now)
        case .setCalendar(let by): try setCalendar(by: by, at: now)
        case .zone(let zone):
            guard TimeZone(identifier: zone) != nil else {
                throw PhoneFailure(.badConfiguration, "There is no time zone of this name.")
            }
            setZone(zone, at: now)
        case .permission(let app, let settings): permit(try named(app), settings, at: now)
        case .answerPermission(let app, let allowed):
            _ = change(try named(app)) { $0.willAllow = allowed }
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
        if change(spec.id, { $0.spec = spec }) == nil {
            state.apps[spec.id] = AppRecord(spec: spec)
            let badge = state.badges.removeValue(forKey: spec.id)
            if let badge { _ = change(spec.id) { $0.badge = badge } }
        }
        log(.installed, spec.id, spec.executable, at: now)
    }

    private mutating func uninstall(_ app: String, at now: PhoneMoment) {
        terminate(app, "uninstalled", at: now)
        for (run, record) in state.extensions where record.app == app {
            state.extensions[run] = nil
            act(.endExtension(run))
        }
        removeTransfers(app)
        keepBadge(of: app)
        state.apps[app] = nil
        log(.uninstalled, app, at: now)
        act(.removeData(app: app))
    }

    /// For the next installation, if the rules say so.
    private mutating func keepBadge(of app: String) {
        guard state.rules.removedApp == .badgeKept, let badge = state.apps[app]?.badge, badge > 0,
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

    private mutating func permit(
        _ app: String, _ settings: NotificationSettings, at now: PhoneMoment
    ) {
        _ = change(app) { $0.settings = settings }
        log(.permission, app, settings.authorization.rawValue, at: now)
    }

    private mutating func crashWebView(_ app: String, at now: PhoneMoment) throws(PhoneFailure) {
        switch process(app)?.phase {
        case .foreground, .background: break
        case .launching, .suspended, nil:
            throw PhoneFailure(.unavailable, "The app does not run.", remedy: "Launch it first.")
        }
        log(.webViewCrashed, app, at: now)
        order(app, .crashWebView, at: now)
    }

    private mutating func setRules(_ rules: PhoneRules, at now: PhoneMoment) {
        state.rules = rules
        log(.rules, nil, at: now)
        runTransfers(at: now)
    }
}

/// Calls of apps.
extension PhoneMachine {
    /// Answers a call of a process; nil if the driver must answer it, or the process is gone.
    package mutating func called(life: Int, _ call: AppCall, at now: PhoneMoment) -> AppAnswer? {
        guard let app = app(of: life), let record = state.apps[app] else { return nil }
        do throws(PhoneFailure) {
            switch call {
            case .settings: return .settings(record.settings)
            case .requestAuthorization(let provisional):
                return requestAuthorization(app, provisional: provisional, at: now)
            case .pending: return .pending(soonestFirst(record, at: now))
            case .delivered: return .delivered(record.delivered.reversed())
            case .tasks: return .tasks(record.tasks)
            case .add(let request): try add(app, request, at: now)
            case .removePending(let ids):
                _ = change(app) { $0.pending.removeAll { ids.contains($0.request.id) } }
            case .removeDelivered(let ids):
                removeDelivered(app, at: now) { ids.contains($0.request.id) }
            case .setBadge(let count): setBadge(app, count, at: now)
            case .setCategories(let categories): try setCategories(app, categories)
            case .submit(let request): try submit(app, request, at: now)
            case .cancel(let id): _ = change(app) { $0.tasks.removeAll { $0.id == id } }
            case .complete(let slot, let success):
                complete(app, slot: slot, success: success, at: now)
            case .startTransfer(let request): try startTransfer(app, request, at: now)
            case .transfers: return .transfers(record.transfers.map(\.transfer))
            case .cancelTransfer(let id): cancelTransfer(app, id, at: now)
            case .forgetTransfer(let id): forgetTransfer(app, id, at: now)
            case .browser: return nil
            }
            return .done
        } catch {
            return .failed(error)
        }
    }

    private mutating func setCategories(_ app: String, _ categories: [NotificationCategory])
        throws(PhoneFailure)
    {
        guard categories.count <= PhoneLimits.categories else {
            throw PhoneFailure(
                .full, "An app has at most \(PhoneLimits.categories) categories here.")
        }
        _ = change(app) { $0.categories = categories }
    }

    func soonestFirst(_ record: AppRecord, at now: PhoneMoment) -> [NotificationRequest] {
        record.pending.map { ($0.due.microseconds(from: now), $0.added, $0.request) }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
    }

    /// The machine's part of the status; the driver adds its own.
    package func status(
        at now: PhoneMoment, process: Int32, lastEvent: Int, folder: PhoneFolder
    ) -> PhoneStatus {
        let apps = appNames.compactMap { state.apps[$0] }.map { record in
            let (appState, remaining) = Self.seen(record.process, at: now)
            return PhoneStatus.App(
                id: record.spec.id, state: appState, process: record.process?.identity?.id,
                remainingMilliseconds: remaining, isForceQuit: record.isForceQuit,
                settings: record.settings, badge: record.badge,
                pending: soonestFirst(record, at: now), delivered: record.delivered.reversed(),
                tasks: record.tasks, transfers: record.transfers.map(\.transfer),
                folder: folder.data(of: record.spec.id).path)
        }
        return PhoneStatus(
            process: process, now: now.wall, zone: state.clock.zone, network: state.network,
            device: state.device, rules: state.rules, apps: apps, lastEvent: lastEvent)
    }

    private static func seen(_ process: ProcessRecord?, at now: PhoneMoment)
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
