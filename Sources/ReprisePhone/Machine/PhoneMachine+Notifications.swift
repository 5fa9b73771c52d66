import RepriseCore

/// The notification centre.
extension PhoneMachine {
    mutating func requestAuthorization(
        _ app: String, provisional: Bool, at now: PhoneMoment
    ) -> AppAnswer {
        guard let record = state.apps[app] else { return .allowed(false) }
        guard record.settings.authorization == .notDetermined else {
            return .allowed(record.settings.authorization != .denied)
        }
        let answer: NotificationSettings.Authorization =
            provisional ? .provisional : record.willAllow ? .authorized : .denied
        _ = change(app) { $0.settings.authorization = answer }
        log(.permission, app, answer.rawValue, at: now)
        return .allowed(answer != .denied)
    }

    /// An app adds a request.
    mutating func add(
        _ app: String, _ request: NotificationRequest, at now: PhoneMoment
    ) throws(PhoneFailure) {
        guard let record = state.apps[app] else { return }
        guard record.settings.isAllowed else {
            throw PhoneFailure(
                .refused, "Notifications are not allowed (notificationsNotAllowed).",
                remedy: "Ask for permission first.")
        }
        guard request.content.bytes + request.id.utf8.count <= PhoneLimits.contentBytes else {
            throw PhoneFailure(
                .tooLarge, "The notification has more than \(PhoneLimits.contentBytes) bytes.")
        }
        guard let trigger = request.trigger else {
            _ = change(app) { $0.pending.removeAll { $0.request.id == request.id } }
            return deliver(
                app, DeliveredNotification(request: request, date: now.wall, isRemote: false),
                at: now)
        }
        if case .after(let seconds, repeats: true) = trigger, seconds < PhoneLimits.repeatSeconds {
            throw PhoneFailure(.refused, "An interval that repeats is at least 60 seconds.")
        }
        let due = TriggerTime.next(
            trigger, after: now, zone: state.clock.zone, rules: state.rules)
        guard let due else {
            throw PhoneFailure(.refused, "The trigger never fires (notificationInvalidNoDate).")
        }
        let added = PendingNotification(request: request, due: due, added: nextNumber())
        _ = change(app) { record in
            record.pending.removeAll { $0.request.id == request.id }
            record.pending.append(added)
        }
        log(.pending, app, request.id, at: now)
        dropBeyondLimit(app, at: now)
    }

    private mutating func dropBeyondLimit(_ app: String, at now: PhoneMoment) {
        guard let record = state.apps[app], record.pending.count > PhoneLimits.pending else {
            return
        }
        let dropped: PendingNotification? =
            switch state.rules.beyondPendingLimit {
            case .soonestKept:
                record.pending.max {
                    ($0.due.microseconds(from: now), $0.added)
                        < ($1.due.microseconds(from: now), $1.added)
                }
            case .latestAddedKept: record.pending.min { $0.added < $1.added }
            }
        guard let dropped else { return }
        _ = change(app) { $0.pending.removeAll { $0.added == dropped.added } }
        log(.dropped, app, "\(dropped.request.id): more than 64 pending", at: now)
    }

    /// A pending notification has come due.
    mutating func fire(_ app: String, _ pending: PendingNotification, at now: PhoneMoment) {
        rearm(app, pending, at: now)
        deliver(
            app, DeliveredNotification(request: pending.request, date: now.wall, isRemote: false),
            at: now)
    }

    /// Sets a repeating one to its next time; removes another.
    mutating func rearm(_ app: String, _ pending: PendingNotification, at now: PhoneMoment) {
        let next = pending.request.trigger.flatMap { trigger in
            trigger.repeats
                ? TriggerTime.next(trigger, after: now, zone: state.clock.zone, rules: state.rules)
                : nil
        }
        _ = change(app) { record in
            guard let index = record.pending.firstIndex(where: { $0.added == pending.added })
            else { return }
            if let next {
                record.pending[index].due = next
            } else {
                record.pending.remove(at: index)
            }
        }
    }

    /// A notification arrives: an app in the foreground decides its presentation, else it is shown.
    mutating func deliver(_ app: String, _ notification: DeliveredNotification, at now: PhoneMoment)
    {
        guard let record = state.apps[app] else { return }
        guard record.settings.isAllowed else {
            return log(.dropped, app, "\(notification.request.id): not allowed", at: now)
        }
        if record.process?.phase == .foreground {
            return order(app, .willPresent(notification), at: now)
        }
        show(app, notification, [.banner, .list, .sound, .badge], at: now)
    }

    /// The app in the foreground has answered, or not in time.
    mutating func present(
        _ app: String, _ notification: DeliveredNotification, _ options: PresentationOptions,
        at now: PhoneMoment
    ) {
        guard !options.isEmpty else {
            return log(.notPresented, app, notification.request.id, at: now)
        }
        show(app, notification, options, at: now)
    }

    private mutating func show(
        _ app: String, _ notification: DeliveredNotification, _ options: PresentationOptions,
        at now: PhoneMoment
    ) {
        guard let settings = state.apps[app]?.settings else { return }
        let id = notification.request.id
        if options.contains(.list) {
            _ = change(app) { record in
                record.delivered.removeAll { $0.request.id == id }
                record.delivered.append(notification)
                record.delivered.removeFirst(
                    max(0, record.delivered.count - PhoneLimits.delivered))
            }
        }
        log(.delivered, app, id, at: now)
        let isPassive = notification.request.content.interruption == .passive
        if options.contains(.banner), settings.alerts, settings.authorization == .authorized,
            !isPassive
        {
            log(.banner, app, id, at: now)
        }
        if options.contains(.badge), settings.badges, let badge = notification.request.content.badge
        {
            setBadge(app, badge, at: now)
        }
    }

    mutating func setBadge(_ app: String, _ count: Int, at now: PhoneMoment) {
        let count = max(0, count)
        guard state.apps[app]?.badge != count || count == 0 else { return }
        _ = change(app) { $0.badge = count }
        log(.badge, app, "\(count)", at: now)
        if count == 0, state.rules.zeroBadge == .removesDelivered {
            removeDelivered(app, at: now) { _ in true }
        }
    }

    mutating func removeDelivered(
        _ app: String, at now: PhoneMoment, where isGone: (DeliveredNotification) -> Bool
    ) {
        let gone = state.apps[app]?.delivered.filter(isGone) ?? []
        _ = change(app) { $0.delivered.removeAll(where: isGone) }
        for notification in gone { log(.removed, app, notification.request.id, at: now) }
    }

    /// The user does something with a notification in the notification centre.
    mutating func tap(
        _ app: String, _ id: String?, _ action: NotificationResponse.Action, at now: PhoneMoment
    ) throws(PhoneFailure) {
        guard let record = state.apps[app],
            let notification = record.delivered.last(where: { id == nil || $0.request.id == id })
        else {
            throw PhoneFailure(
                .noSuchEntry,
                id.map { "No notification \($0) stands in the notification centre." }
                    ?? "The notification centre has none of this app.")
        }
        let category = record.categories.first { $0.id == notification.request.content.category }
        let opensApp = try Self.opensApp(action, category)
        let response = NotificationResponse(notification: notification, action: action)
        log(.tapped, app, response.tapID.text, at: now)
        if action == .dismiss || state.rules.tappedNotification == .leaves {
            removeDelivered(app, at: now) { $0 == notification }
        }
        guard let opensApp else { return }
        respond(app, response, opensApp: opensApp, at: now)
    }

    /// Whether the app enters the foreground for it; nil if it is not notified at all.
    private static func opensApp(
        _ action: NotificationResponse.Action, _ category: NotificationCategory?
    ) throws(PhoneFailure) -> Bool? {
        func named(_ id: String, text: Bool) throws(PhoneFailure) -> Bool {
            let action = category?.actions.first { $0.id == id && $0.asksForText == text }
            guard let action else {
                throw PhoneFailure(.noSuchEntry, "The notification has no such action: \(id).")
            }
            return action.opensApp
        }
        switch action {
        case .open: return true
        case .dismiss: return category?.reportsDismissal == true ? false : nil
        case .button(let id): return try named(id, text: false)
        case .text(let id, _): return try named(id, text: true)
        }
    }

    private mutating func respond(
        _ app: String, _ response: NotificationResponse, opensApp: Bool, at now: PhoneMoment
    ) {
        guard opensApp else {
            wake(app, reason: .response, at: now)
            return order(app, .received(response), at: now)
        }
        _ = change(app) { $0.isForceQuit = false }
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
}

extension NotificationContent {
    /// Its size.
    var bytes: Int {
        title.utf8.count + subtitle.utf8.count + body.utf8.count + thread.utf8.count
            + category.utf8.count + info.count
    }
}
