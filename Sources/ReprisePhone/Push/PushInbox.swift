import RepriseCore

/// The device's handling of pushes for one app, and APNs' storage while the device is offline.
///
/// Pure: time is an argument. Each branch is a row of `docs/phone.md`.
package struct PushInbox: Hashable, Sendable, Codable {
    /// The app's state for a decision.
    package struct Recipient: Hashable, Sendable {
        /// The user sees it.
        package var isForeground: Bool
        /// The user has thrown it out and not opened it since.
        package var isForceQuit: Bool
        /// The user allows notifications.
        package var isAllowed: Bool
        package var hasExtension: Bool

        package init(
            isForeground: Bool = false, isForceQuit: Bool = false, isAllowed: Bool = true,
            hasExtension: Bool = false
        ) {
            self.isForeground = isForeground
            self.isForceQuit = isForceQuit
            self.isAllowed = isAllowed
            self.hasExtension = hasExtension
        }
    }

    /// The actions, in this order.
    package enum Action: Hashable, Sendable {
        /// Run the service extension, then present its result.
        case runExtension(PhonePush)
        /// Pass it to the notification centre, with its badge; an app in the foreground decides its
        /// presentation.
        case present(PhonePush)
        /// Set the badge; nothing is shown.
        case badge(Int)
        /// Deliver the payload to the app, which is launched or resumed for it.
        case wake(PhonePush)
        /// Drop it for good.
        case drop(PhonePush, Outcome)
        /// Keep it for later.
        case keep(PhonePush, Outcome)
    }

    /// Why a push is not acted on now.
    package enum Outcome: String, Hashable, Sendable, Codable {
        /// APNs stores it until the device is online.
        case storedOffline = "the device is offline"
        /// Another one is kept for this app.
        case replaced = "another one is kept"
        /// Its expiration has passed.
        case expired = "expired"
        /// Background pushes have come too often; the newest is held.
        case throttled = "too many background pushes"
        /// The user has thrown the app out.
        case forceQuit = "the app was force-quit"
        /// The app ended while it was held.
        case appEnded = "the app has ended"
        /// The user does not allow notifications.
        case notAllowed = "notifications are not allowed"
        /// It shows nothing and does not wake the app.
        case empty = "it asks for nothing"
    }

    /// How long APNs stores a push without an expiration.
    package static let storedFor = Duration.seconds(30 * 86_400)
    /// The time within which background pushes are counted, in microseconds.
    package static let window: Int64 = 3_600_000_000

    private struct Stored: Hashable, Codable {
        var push: PhonePush
        var since: WallTime
    }

    /// At most one, as APNs has it.
    private var stored: Stored?
    /// The newest background push while the app is throttled.
    private var held: PhonePush?
    /// Background pushes delivered to the app within the last hour, in microseconds; at most the
    /// budget.
    private var handed: [Int64] = []

    package init() {}

    /// A push arrived.
    package mutating func arrived(
        _ push: PhonePush, for recipient: Recipient, isOnline: Bool, rules: PhoneRules,
        at now: PhoneMoment
    ) -> [Action] {
        guard isOnline else { return store(push, rules: rules, at: now) }
        guard !push.isSilent else {
            return wakeSilently(push, recipient, rules: rules, at: now)
        }
        return show(push, recipient, rules: rules)
            + wakeBeside(push, recipient, rules: rules, at: now)
    }

    /// The device is online again: stored pushes arrive.
    package mutating func wentOnline(
        for recipient: Recipient, rules: PhoneRules, at now: PhoneMoment
    ) -> [Action] {
        guard let stored else { return [] }
        self.stored = nil
        let end = stored.push.expires ?? stored.since.advanced(by: Self.storedFor)
        guard end > now.wall else { return [.drop(stored.push, .expired)] }
        return arrived(stored.push, for: recipient, isOnline: true, rules: rules, at: now)
    }

    /// The user opened the app: held pushes are delivered at once.
    package mutating func userOpened() -> [Action] { take().map { [.wake($0)] } ?? [] }

    /// The process was killed or the app force-quit: held pushes are discarded.
    package mutating func appEnded() -> [Action] { take().map { [.drop($0, .appEnded)] } ?? [] }

    /// When ``timePassed(rules:at:)`` is due, in microseconds; nil: never.
    package var due: Int64? { held == nil ? nil : handed.first.map { $0 + Self.window } }

    /// Delivers held pushes once the budget has room again.
    package mutating func timePassed(rules: PhoneRules, at now: PhoneMoment) -> [Action] {
        guard let push = held, hasRoom(rules, at: now), rules.heldPush == .dispatched else {
            return []
        }
        held = nil
        handed.append(now.microseconds)
        return [.wake(push)]
    }

    // MARK: Deciding

    /// A push that expires at once is never stored; of several one is.
    private mutating func store(_ push: PhonePush, rules: PhoneRules, at now: PhoneMoment)
        -> [Action]
    {
        if let end = push.expires, end <= now.wall { return [.drop(push, .expired)] }
        guard let other = stored?.push else {
            stored = Stored(push: push, since: now.wall)
            return [.keep(push, .storedOffline)]
        }
        switch rules.storedPush {
        case .first: return [.drop(push, .replaced)]
        case .newest:
            stored = Stored(push: push, since: now.wall)
            return [.drop(other, .replaced), .keep(push, .storedOffline)]
        }
    }

    private func show(_ push: PhonePush, _ recipient: Recipient, rules: PhoneRules) -> [Action] {
        guard let alert = push.alert else {
            return push.badge.map { [.badge($0)] } ?? []
        }
        guard recipient.isAllowed else { return [.drop(push, .notAllowed)] }
        let runs = !recipient.isForceQuit || rules.extensionOfForceQuitApp == .runs
        let isChanged = push.isMutable && alert.content.hasText && recipient.hasExtension && runs
        return [isChanged ? .runExtension(push) : .present(push)]
    }

    /// An alert that also wakes the app is shown regardless of the budget; waking counts if the
    /// rule says so.
    private mutating func wakeBeside(
        _ push: PhonePush, _ recipient: Recipient, rules: PhoneRules, at now: PhoneMoment
    ) -> [Action] {
        guard push.wakesApp else { return [] }
        guard rules.alertsThatWake == .free || recipient.isForceQuit else {
            return wakeSilently(push, recipient, rules: rules, at: now)
        }
        return [recipient.isForceQuit ? .drop(push, .forceQuit) : .wake(push)]
    }

    private mutating func wakeSilently(
        _ push: PhonePush, _ recipient: Recipient, rules: PhoneRules, at now: PhoneMoment
    ) -> [Action] {
        guard push.wakesApp else { return [.drop(push, .empty)] }
        guard !recipient.isForceQuit else { return [.drop(push, .forceQuit)] }
        if recipient.isForeground, rules.silentInForeground == .free { return [.wake(push)] }
        let drops = take().map { [Action.drop($0, .replaced)] } ?? []
        guard hasRoom(rules, at: now) else {
            held = push
            return drops + [.keep(push, .throttled)]
        }
        handed.append(now.microseconds)
        return drops + [.wake(push)]
    }

    private mutating func take() -> PhonePush? {
        defer { held = nil }
        return held
    }

    private mutating func hasRoom(_ rules: PhoneRules, at now: PhoneMoment) -> Bool {
        handed.removeAll { $0 + Self.window <= now.microseconds }
        return handed.count < rules.silentPushesPerHour
    }
}

extension NotificationContent {
    /// Whether it has any text.
    var hasText: Bool { !(title.isEmpty && subtitle.isEmpty && body.isEmpty) }
}
