package import RepriseCore

/// An app's part of the notification centre: what is allowed, pending, delivered, and the badge.
package struct AppNotifications: Hashable, Sendable, Codable {
    /// The moment of a change, and what the system does then.
    struct Context {
        var now: PhoneMoment
        var zone: String
        var rules: PhoneRules
        var isFocused: Bool
    }

    /// What follows from a change, in order.
    enum Effect {
        case log(PhoneEvent.What, String)
        /// The app is in the foreground and decides.
        case ask(DeliveredNotification)
    }

    package private(set) var settings = NotificationSettings(authorization: .notDetermined)
    /// The user's answer to the next permission prompt.
    private var willAllow = true
    package private(set) var pending: [PendingNotification] = []
    /// Oldest first.
    package private(set) var delivered: [DeliveredNotification] = []
    package private(set) var badge = 0
    package private(set) var categories: [NotificationCategory] = []
    private var lastAdded = 0

    init(badge: Int = 0) { self.badge = badge }

    /// Whether any notification may be shown.
    var isAllowed: Bool {
        switch settings.authorization {
        case .authorized, .provisional: true
        case .notDetermined, .denied: false
        }
    }

    // MARK: Permission

    mutating func requestAuthorization(provisional: Bool) -> [Effect] {
        guard settings.authorization == .notDetermined else { return [] }
        var answered = settings
        answered.authorization = provisional ? .provisional : willAllow ? .authorized : .denied
        return permit(answered)
    }

    mutating func permit(_ settings: NotificationSettings) -> [Effect] {
        self.settings = settings
        return [.log(.permission, settings.authorization.rawValue)]
    }

    mutating func willAnswer(_ isAllowed: Bool) { willAllow = isAllowed }

    mutating func setCategories(_ categories: [NotificationCategory]) throws(PhoneFailure) {
        guard categories.count <= PhoneLimits.categories else {
            throw PhoneFailure(
                .full, "An app has at most \(PhoneLimits.categories) categories here.")
        }
        self.categories = categories
    }

    // MARK: Pending

    /// `isSeen`: the app is in the foreground.
    mutating func add(
        _ request: NotificationRequest, isSeen: Bool, _ context: Context
    ) throws(PhoneFailure) -> [Effect] {
        guard isAllowed else {
            throw PhoneFailure(
                .refused, "Notifications are not allowed (notificationsNotAllowed).",
                remedy: "Ask for permission first.")
        }
        guard request.content.bytes + request.id.utf8.count <= PhoneLimits.contentBytes else {
            throw PhoneFailure(
                .tooLarge, "The notification has more than \(PhoneLimits.contentBytes) bytes.")
        }
        guard let trigger = request.trigger else {
            removePending([request.id])
            return deliver(Self.delivered(request, context), isSeen: isSeen, context)
        }
        if case .after(let seconds, repeats: true) = trigger, seconds < PhoneLimits.repeatSeconds {
            throw PhoneFailure(.refused, "An interval that repeats is at least 60 seconds.")
        }
        guard let due = Self.next(trigger, context) else {
            throw PhoneFailure(.refused, "The trigger never fires (notificationInvalidNoDate).")
        }
        removePending([request.id])
        lastAdded += 1
        pending.append(PendingNotification(request: request, due: due, added: lastAdded))
        return [.log(.pending, request.id)] + dropBeyondLimit(context)
    }

    private static func next(_ trigger: NotificationTrigger, _ context: Context) -> TriggerTime? {
        TriggerTime.next(trigger, after: context.now, zone: context.zone, rules: context.rules)
    }

    private static func delivered(
        _ request: NotificationRequest, _ context: Context
    ) -> DeliveredNotification {
        DeliveredNotification(request: request, date: context.now.wall, isRemote: false)
    }

    private mutating func dropBeyondLimit(_ context: Context) -> [Effect] {
        guard pending.count > PhoneLimits.pending else { return [] }
        let dropped: PendingNotification? =
            switch context.rules.beyondPendingLimit {
            case .soonestKept:
                pending.max {
                    ($0.due.microseconds(from: context.now), $0.added)
                        < ($1.due.microseconds(from: context.now), $1.added)
                }
            case .latestAddedKept: pending.min { $0.added < $1.added }
            }
        guard let dropped else { return [] }
        pending.removeAll { $0.added == dropped.added }
        return [.log(.dropped, "\(dropped.request.id): more than 64 pending")]
    }

    mutating func removePending(_ ids: [String]) {
        pending.removeAll { ids.contains($0.request.id) }
    }

    /// A pending notification has come due.
    mutating func fire(
        _ pending: PendingNotification, isSeen: Bool, _ context: Context
    ) -> [Effect] {
        rearm(pending, context)
        return deliver(Self.delivered(pending.request, context), isSeen: isSeen, context)
    }

    /// Sets a repeating one to its next time; removes another.
    private mutating func rearm(_ one: PendingNotification, _ context: Context) {
        guard let index = pending.firstIndex(where: { $0.added == one.added }) else { return }
        let repeating = one.request.trigger.flatMap { $0.repeats ? $0 : nil }
        if let next = repeating.flatMap({ Self.next($0, context) }) {
            pending[index].due = next
        } else {
            pending.remove(at: index)
        }
    }

    /// Recomputes the times of calendar triggers; skipped ones fire once.
    mutating func calendarChanged(
        isSeen: Bool, _ context: Context, isOver: (WallTime) -> Bool
    ) -> [Effect] {
        var effects: [Effect] = []
        for one in pending {
            guard case .calendar(let due) = one.due, case .calendar? = one.request.trigger
            else { continue }
            if isOver(due), context.rules.passedOverTriggers == .fire {
                effects += fire(one, isSeen: isSeen, context)
            } else if isOver(due) {
                effects.append(.log(.dropped, "\(one.request.id): its time was passed over"))
                rearm(one, context)
            } else if let next = one.request.trigger.flatMap({ Self.next($0, context) }),
                let index = pending.firstIndex(where: { $0.added == one.added })
            {
                pending[index].due = next
            }
        }
        return effects
    }

    /// The phone was started.
    mutating func restarted(_ context: Context) -> [Effect] {
        if context.rules.pendingAcrossRestart == .cleared { pending = [] }
        if context.rules.deliveredAcrossRestart == .cleared { delivered = [] }
        guard context.rules.dueWhileOff == .skipped else { return [] }
        let now = context.now
        return pending.filter { $0.due.microseconds(from: now) <= now.microseconds }.map { one in
            rearm(one, context)
            return .log(.dropped, "\(one.request.id): its time came while the phone was off")
        }
    }

    /// Those that wait, soonest first.
    func soonestFirst(at now: PhoneMoment) -> [NotificationRequest] {
        pending.map { ($0.due.microseconds(from: now), $0.added, $0.request) }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
    }

    // MARK: Delivered

    /// A notification arrives: an app in the foreground decides its presentation, else it is shown.
    mutating func deliver(
        _ notification: DeliveredNotification, isSeen: Bool, _ context: Context
    ) -> [Effect] {
        guard isAllowed else {
            return [.log(.dropped, "\(notification.request.id): not allowed")]
        }
        if isSeen { return [.ask(notification)] }
        return show(notification, [.banner, .list, .sound, .badge], context)
    }

    /// The app in the foreground has answered, or not in time.
    mutating func present(
        _ notification: DeliveredNotification, _ options: PresentationOptions, _ context: Context
    ) -> [Effect] {
        guard !options.isEmpty else { return [.log(.notPresented, notification.request.id)] }
        return show(notification, options, context)
    }

    private mutating func show(
        _ notification: DeliveredNotification, _ options: PresentationOptions, _ context: Context
    ) -> [Effect] {
        let content = notification.request.content
        let id = notification.request.id
        if options.contains(.list) {
            delivered.removeAll { $0.request.id == id }
            delivered.append(notification)
            delivered.removeFirst(max(0, delivered.count - PhoneLimits.delivered))
        }
        var effects: [Effect] = [.log(.delivered, id)]
        if options.contains(.banner), settings.alerts, settings.authorization == .authorized,
            content.interruption != .passive,
            !context.isFocused || content.breaksThroughFocus(context.rules)
        {
            effects.append(.log(.banner, id))
        }
        if options.contains(.badge), settings.badges, let badge = content.badge {
            effects += setBadge(badge, context.rules)
        }
        return effects
    }

    mutating func setBadge(_ count: Int, _ rules: PhoneRules) -> [Effect] {
        let count = max(0, count)
        guard badge != count || count == 0 else { return [] }
        badge = count
        let isCleared = count == 0 && rules.zeroBadge == .removesDelivered
        return [.log(.badge, "\(count)")] + (isCleared ? removeDelivered { _ in true } : [])
    }

    mutating func removeDelivered(where isGone: (DeliveredNotification) -> Bool) -> [Effect] {
        let gone = delivered.filter(isGone)
        delivered.removeAll(where: isGone)
        return gone.map { .log(.removed, $0.request.id) }
    }

    // MARK: The user

    /// The user does something with a notification.
    ///
    /// - Returns: the response, and whether the app enters the foreground for it; nil if it is not
    ///   notified at all.
    mutating func tap(
        _ id: String?, _ action: NotificationResponse.Action, _ rules: PhoneRules
    ) throws(PhoneFailure) -> (response: NotificationResponse, opensApp: Bool?, [Effect]) {
        guard let notification = delivered.last(where: { id == nil || $0.request.id == id })
        else {
            throw PhoneFailure(
                .noSuchEntry,
                id.map { "No notification \($0) stands in the notification centre." }
                    ?? "The notification centre has none of this app.")
        }
        let category = categories.first { $0.id == notification.request.content.category }
        let opensApp = try Self.opensApp(action, category)
        let response = NotificationResponse(notification: notification, action: action)
        var effects: [Effect] = [.log(.tapped, response.tapID.text)]
        if action == .dismiss || rules.tappedNotification == .leaves {
            effects += removeDelivered { $0 == notification }
        }
        return (response, opensApp, effects)
    }

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
}

/// A local notification that has not fired.
package struct PendingNotification: Hashable, Sendable, Codable {
    package var request: NotificationRequest
    package var due: TriggerTime
    /// Counts up with every adding.
    package var added: Int
}

extension NotificationContent {
    fileprivate func breaksThroughFocus(_ rules: PhoneRules) -> Bool {
        interruption == .timeSensitive || interruption == .critical
            || conversation != nil && rules.communicationInFocus == .breaksThrough
    }

    /// Its size.
    var bytes: Int {
        title.utf8.count + subtitle.utf8.count + body.utf8.count + thread.utf8.count
            + category.utf8.count + info.count
    }
}
