package import RepriseCore

/// What a device does with what APNs delivers, and what APNs keeps for it while it is offline. Pure: time is an argument.
///
/// Each branch is a row of `docs/phone.md`.
package struct PushMachine: Hashable, Sendable, Codable {
    /// What the machine has to know about the app that a push is for.
    package struct Recipient: Hashable, Sendable {
        /// How the app is now.
        package enum State: Hashable, Sendable {
            case notRunning, background, foreground, suspended
        }

        package var app: String
        package var state: State
        /// The user has swiped it away and not opened it since.
        package var isForceQuit: Bool
        /// Whether banners or the list may show it.
        package var showsAlerts: Bool
        package var hasExtension: Bool

        package init(
            app: String, state: State, isForceQuit: Bool = false, showsAlerts: Bool = true,
            hasExtension: Bool = false
        ) {
            self.app = app
            self.state = state
            self.isForceQuit = isForceQuit
            self.showsAlerts = showsAlerts
            self.hasExtension = hasExtension
        }
    }

    /// What to do, in this order.
    package enum Action: Hashable, Sendable {
        /// Let the service extension change it; then present what comes of it.
        case runExtension(RemotePush)
        /// Give it to the notification centre, which asks the app if that is in the foreground, and applies its badge.
        case present(RemotePush)
        /// Hand the payload to the app, which is launched or resumed for it where it does not run.
        case wake(RemotePush)
        /// Nothing is done with it now or ever, for this reason.
        case drop(RemotePush, Outcome)
        /// It is kept for later.
        case keep(RemotePush, Outcome)
    }

    /// Why a push is not acted on.
    package enum Outcome: String, Hashable, Sendable, Codable {
        /// APNs stores it until the device is online.
        case storedOffline
        /// Another one is stored for this app already.
        case replaced
        /// Its expiration has passed.
        case expired
        /// Background pushes have come too often; the newest is held.
        case throttled
        /// The user has force-quit the app.
        case forceQuit
        /// The app ended while it was held.
        case appEnded
        /// The person does not allow notifications.
        case notAllowed
    }

    /// How long APNs stores a push without an expiration.
    package static let storedFor = Duration.seconds(30 * 86_400)
    /// The time within which background pushes are counted.
    package static let budgetWindow = Duration.seconds(3_600)

    /// What makes this device's tokens its own.
    private let device: String
    /// By app; at most one each, as APNs has it.
    private var stored: [String: Stored] = [:]
    /// The newest background push of each app that is throttled.
    private var held: [String: RemotePush] = [:]
    /// When background pushes were handed to an app within the last hour.
    private var handed: [String: [WallTime]] = [:]

    private struct Stored: Hashable, Codable {
        var push: RemotePush
        var since: WallTime
    }

    /// - Parameter device: random, the same for the device's whole life.
    package init(device: String) { self.device = device }

    /// The token to which pushes for an app are sent: 64 hexadecimal digits.
    package func token(of app: String) -> String {
        ["a", "b"].map { EntryID.hash(of: "\($0)\u{0}\(device)\u{0}\(app)", prefix: "").text }
            .joined()
    }

    /// A push arrived for an app.
    package mutating func arrived(
        _ push: RemotePush, for recipient: Recipient, isOnline: Bool, rules: PhoneRules,
        now: WallTime
    ) -> [Action] {
        if let end = push.expiration, end <= now, !isOnline { return [.drop(push, .expired)] }
        guard isOnline else { return store(push, for: recipient.app, rules: rules, now: now) }
        return deliver(push, to: recipient, rules: rules, now: now)
    }

    /// The device is online again.
    ///
    /// - Returns: what was stored, of all apps in the order in which it was stored; each is then given to ``arrived(_:for:isOnline:rules:now:)``
    ///   or has expired.
    package mutating func wentOnline(now: WallTime) -> (
        fresh: [(String, RemotePush)], expired: [(String, RemotePush)]
    ) {
        let all = stored.sorted { ($0.value.since, $0.key) < ($1.value.since, $1.key) }
        stored = [:]
        let parts = all.map { (app: $0.key, stored: $0.value) }
        let isFresh = { (stored: Stored) in
            (stored.push.expiration ?? stored.since.advanced(by: Self.storedFor)) > now
        }
        return (
            parts.filter { isFresh($0.stored) }.map { ($0.app, $0.stored.push) },
            parts.filter { !isFresh($0.stored) }.map { ($0.app, $0.stored.push) }
        )
    }

    /// The user opened the app: what was held is handed to it at once.
    package mutating func userOpened(_ app: String) -> [Action] {
        held.removeValue(forKey: app).map { [.wake($0)] } ?? []
    }

    /// The app's process was killed, or the user force-quit it: the system discards what it held for it.
    package mutating func appEnded(_ app: String) -> [Action] {
        held.removeValue(forKey: app).map { [.drop($0, .appEnded)] } ?? []
    }

    /// When a held push may be handed over, the earliest.
    package func due() -> WallTime? {
        held.keys.compactMap { app in
            handed[app]?.first?.advanced(by: Self.budgetWindow)
        }.min()
    }

    /// Time has passed: apps whose held push may be handed over now; each is taken out.
    package mutating func released(rules: PhoneRules, now: WallTime) -> [(String, RemotePush)] {
        held.keys.sorted().compactMap { app in
            guard room(for: app, rules: rules, now: now) else { return nil }
            return held.removeValue(forKey: app).map { (app, $0) }
        }
    }

    // MARK: Deciding

    private mutating func store(
        _ push: RemotePush, for app: String, rules: PhoneRules, now: WallTime
    ) -> [Action] {
        guard let other = stored[app] else {
            stored[app] = Stored(push: push, since: now)
            return [.keep(push, .storedOffline)]
        }
        switch rules.storedPush {
        case .first: return [.drop(push, .replaced)]
        case .newest:
            stored[app] = Stored(push: push, since: now)
            return [.drop(other.push, .replaced), .keep(push, .storedOffline)]
        }
    }

    private mutating func deliver(
        _ push: RemotePush, to recipient: Recipient, rules: PhoneRules, now: WallTime
    ) -> [Action] {
        guard !push.isSilent else {
            return push.wakesApp ? wakeSilently(push, recipient, rules: rules, now: now) : []
        }
        return shown(push, recipient, rules: rules) + wakeWithAlert(push, recipient)
    }

    private func shown(_ push: RemotePush, _ recipient: Recipient, rules: PhoneRules) -> [Action] {
        guard recipient.showsAlerts || !push.hasAlert else { return [.drop(push, .notAllowed)] }
        let extensionRuns =
            !recipient.isForceQuit || rules.extensionOfForceQuitApp == .runs
        guard push.isMutable, push.hasAlert, recipient.hasExtension, extensionRuns else {
            return [.present(push)]
        }
        return [.runExtension(push)]
    }

    /// An alert that also wakes the app is no background push, and not throttled as one.
    private func wakeWithAlert(_ push: RemotePush, _ recipient: Recipient) -> [Action] {
        guard push.wakesApp else { return [] }
        return recipient.isForceQuit ? [.drop(push, .forceQuit)] : [.wake(push)]
    }

    private mutating func wakeSilently(
        _ push: RemotePush, _ recipient: Recipient, rules: PhoneRules, now: WallTime
    ) -> [Action] {
        guard !recipient.isForceQuit else { return [.drop(push, .forceQuit)] }
        if recipient.state == .foreground, rules.silentInForeground == .free {
            return [.wake(push)]
        }
        let replaced = held.removeValue(forKey: recipient.app)
        let drops = replaced.map { [Action.drop($0, .replaced)] } ?? []
        guard room(for: recipient.app, rules: rules, now: now) else {
            held[recipient.app] = push
            return drops + [.keep(push, .throttled)]
        }
        handed[recipient.app, default: []].append(now)
        return drops + [.wake(push)]
    }

    /// Forgets what is older than the window; what lies in the future was counted before the calendar was set back.
    private mutating func room(for app: String, rules: PhoneRules, now: WallTime) -> Bool {
        let recent = (handed[app] ?? []).filter {
            $0 <= now && $0.advanced(by: Self.budgetWindow) > now
        }
        handed[app] = recent.isEmpty ? nil : recent
        return recent.count < rules.silentPushesPerHour
    }
}
