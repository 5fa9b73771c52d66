public import Foundation
public import RepriseCore
import Synchronization

/// The system's notification centre in memory: it rings by a test's clocks, keeps 64 pending
/// requests, and refuses on demand.
///
/// ```swift
/// let time = ManualClock()
/// let system = MemoryNotifications(clock: time)
/// let app = system.connect()                      // for the app, as `any UserNotifications`
/// try await app.add(request)
/// time.advance(by: .seconds(3_600))
/// #expect(system.delivered.map(\.request.id) == ["a"])
/// ```
///
/// It outlives the app: the requests of a killed app stay, and its next process connects again.
public final class MemoryNotifications: Sendable {
    /// Which of more than 64 pending requests are kept: undocumented, so try both.
    public enum BeyondLimit: String, Sendable, CaseIterable {
        /// Those that ring earliest.
        case soonestKept
        /// Those that were added last.
        case latestAddedKept
    }

    /// The most requests that are pending, by Apple's rule.
    public static let limit = 64

    struct Pending {
        var request: NotificationRequest
        var added: WallTime
        var order: Int
        /// When it rings, in the zone that it was computed for.
        var due: WallTime?
    }

    struct State {
        var settings: NotificationSettings
        /// The device's, in its zone.
        var calendar: Calendar
        var beyond: BeyondLimit
        var pending: [String: Pending] = [:]
        var delivered: [DeliveredNotification] = []
        var order = 0
        var dropped: [String] = []
        var rung: [DeliveredNotification] = []
        var changes = 0
        var badge = 0
        var badges: [Int] = []
        var refuse: @Sendable (NotificationRequest) -> RepriseError? = { _ in nil }
        var fault: RepriseError?
    }

    private let clock: ManualClock
    private let state: Mutex<State>

    /// Makes a notification centre.
    ///
    /// - Parameters:
    ///   - clock: the clock it rings by.
    ///   - zone: the device's zone.
    ///   - calendar: the calendar that the person has set: a trigger that names none is read in it.
    ///   - authorization: the person's permission.
    ///   - beyond: which of more than 64 are kept.
    public init(
        clock: ManualClock, zone: TimeZone = .gmt, calendar: Calendar.Identifier = .gregorian,
        authorization: NotificationSettings.Authorization = .authorized,
        beyond: BeyondLimit = .soonestKept
    ) {
        self.clock = clock
        var device = Calendar(identifier: calendar)
        device.timeZone = zone
        state = Mutex(
            State(
                settings: NotificationSettings(authorization: authorization), calendar: device,
                beyond: beyond))
    }

    // MARK: The app

    /// Makes the connection of one process of an app.
    ///
    /// - Parameter changes: after so many changes (requests added, calls of remove) the process is
    ///   dead: its later calls have no effect and are never answered. Nil: it lives.
    /// - Returns: the connection.
    public func connect(dyingAfter changes: Int? = nil) -> MemoryNotificationsConnection {
        MemoryNotificationsConnection(system: self, changes: changes)
    }

    // MARK: The person and the device

    /// Sets the person's permission.
    ///
    /// Pending requests stay, and do not ring while nothing is allowed.
    ///
    /// - Parameter authorization: the permission.
    public func allow(_ authorization: NotificationSettings.Authorization) {
        with { $0.settings.authorization = authorization }
    }

    /// Moves the device to another time zone: a request without a zone rings by the wall clock
    /// there.
    ///
    /// - Parameter zone: the new one.
    public func travel(to zone: TimeZone) {
        let now = clock.now
        with { state in
            guard zone != state.calendar.timeZone else { return }
            state.calendar.timeZone = zone
            for (id, pending) in state.pending {
                state.pending[id]?.due = Self.due(
                    pending.request, after: min(pending.added, now), in: state.calendar)
            }
        }
    }

    /// Refuses some requests from now on.
    ///
    /// - Parameter refuse: returns the error for a refused request; nil: it is accepted.
    public func refuse(_ refuse: @escaping @Sendable (NotificationRequest) -> RepriseError?) {
        with { $0.refuse = refuse }
    }

    /// Answers every call with this error from now on; nil: normally.
    public func fail(_ fault: RepriseError?) { with { $0.fault = fault } }

    /// Makes a request pending, as another part of the app does; none is refused.
    ///
    /// - Parameter request: with a trigger.
    public func plant(_ request: NotificationRequest) {
        let now = clock.now
        with { state in
            state.order += 1
            state.pending[request.id] = Pending(
                request: request, added: now, order: state.order,
                due: Self.due(request, after: now, in: state.calendar))
            Self.drop(&state)
        }
    }

    /// Makes an overdue request pending, as a late system does; it rings in an hour.
    ///
    /// - Parameter request: with a trigger.
    public func plantLate(_ request: NotificationRequest) {
        let now = clock.now
        with { state in
            state.order += 1
            state.pending[request.id] = Pending(
                request: request, added: now, order: state.order,
                due: now.advanced(by: .seconds(3_600)))
        }
    }

    // MARK: Its state

    /// The requests that have not rung, earliest first.
    public var pending: [NotificationRequest] {
        with { state in
            state.pending.values.sorted {
                ($0.due ?? .distant, $0.order) < ($1.due ?? .distant, $1.order)
            }
            .map(\.request)
        }
    }

    /// When each pending request rings, by its id.
    public var due: [String: WallTime] {
        with { state in state.pending.compactMapValues(\.due) }
    }

    /// The notifications in the notification centre.
    public var delivered: [DeliveredNotification] { with { $0.delivered } }

    /// The number on the app's icon.
    public var badge: Int { with { $0.badge } }

    /// Each badge number that was set, oldest first; at most 1,000.
    public var badges: [Int] { with { $0.badges } }

    /// Shows a push, as the system does while the app is not in the foreground; it replaces one
    /// with the same name.
    ///
    /// - Parameter request: the content of the push.
    public func push(_ request: NotificationRequest) {
        let now = clock.now
        with { state in
            guard [.authorized, .provisional].contains(state.settings.authorization) else { return }
            let shown = DeliveredNotification(request: request, date: now, isRemote: true)
            state.delivered.removeAll { $0.request.id == request.id }
            state.delivered.append(shown)
            state.rung.append(shown)
            if let badge = request.content.badge { Self.set(badge, &state) }
        }
    }

    /// Sets the number on the icon, as a push does that has nothing else.
    ///
    /// - Parameter count: 0 removes it.
    public func setBadge(_ count: Int) { with { Self.set(count, &$0) } }

    /// The response to a notification, as the system gives it to the app's handler; a notification
    /// that is tapped leaves the notification centre.
    ///
    /// ```swift
    /// try await client.received(try notifications.respond(to: "goal-1"))
    /// ```
    ///
    /// - Parameters:
    ///   - id: the name of one in the notification centre.
    ///   - action: what the person chose.
    /// - Returns: the response.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry` if it is not there.
    public func respond(
        to id: String, _ action: NotificationResponse.Action = .open
    ) throws -> NotificationResponse {
        let notification = with { state in
            let found = state.delivered.first { $0.request.id == id }
            state.delivered.removeAll { $0.request.id == id }
            return found
        }
        guard let notification else {
            let there = delivered.map(\.request.id).joined(separator: ", ")
            throw RepriseError(
                .noSuchEntry, "No notification \(id) is in the notification centre.",
                remedy: there.isEmpty ? "There is none." : "There: \(there).")
        }
        return NotificationResponse(notification: notification, action: action)
    }

    /// Removes a notification, as when the person dismisses or taps it.
    ///
    /// - Parameter id: its name.
    public func putAway(_ id: String) {
        with { state in state.delivered.removeAll { $0.request.id == id } }
    }

    /// All notifications that ever rang, removed ones included.
    public var rung: [DeliveredNotification] { with { $0.rung } }

    /// The ids of requests that were dropped because there were more than 64.
    public var dropped: [String] { with { $0.dropped } }

    /// How many changes apps have made: requests added, calls of remove.
    public var changes: Int { with { $0.changes } }

    func with<T: Sendable>(_ body: (inout State) -> T) -> T {
        let now = clock.now
        return state.withLock { state in
            Self.ring(&state, at: now)
            return body(&state)
        }
    }

    private static func ring(_ state: inout State, at now: WallTime) {
        // Its time had passed in the device's new zone: it rings again if the calendar is set back.
        for (id, pending) in state.pending where pending.due == nil {
            state.pending[id]?.due = due(pending.request, after: now, in: state.calendar)
        }
        let due = state.pending.values.filter { ($0.due ?? .distant) <= now }
        for pending in due.sorted(by: {
            ($0.due ?? .distant, $0.order) < ($1.due ?? .distant, $1.order)
        }) {
            rearm(&state, pending, at: now)
            guard [.authorized, .provisional].contains(state.settings.authorization) else {
                continue
            }
            let notification = DeliveredNotification(
                request: pending.request, date: pending.due ?? now, isRemote: false)
            state.delivered.removeAll { $0.request.id == pending.request.id }
            state.delivered.append(notification)
            state.rung.append(notification)
            if let badge = notification.request.content.badge { set(badge, &state) }
        }
    }

    static func set(_ badge: Int, _ state: inout State) {
        state.badge = max(0, badge)
        state.badges.append(state.badge)
        state.badges.removeFirst(max(0, state.badges.count - 1_000))
    }

    private static func rearm(_ state: inout State, _ pending: Pending, at now: WallTime) {
        guard pending.request.trigger?.isRepeating == true else {
            state.pending[pending.request.id] = nil
            return
        }
        state.pending[pending.request.id]?.due = due(
            pending.request, after: now, in: state.calendar)
    }

    // MARK: Changes

    func add(_ request: NotificationRequest) throws {
        let now = clock.now
        let result: RepriseError? = with { state in
            if let fault = state.fault { return fault }
            if let refusal = state.refuse(request) { return refusal }
            guard [.authorized, .provisional].contains(state.settings.authorization) else {
                return RepriseError(
                    .refused, "Notifications are not allowed.", remedy: "Ask the person first.")
            }
            state.changes += 1
            state.order += 1
            guard request.trigger != nil else {
                let shown = DeliveredNotification(request: request, date: now, isRemote: false)
                state.delivered.removeAll { $0.request.id == request.id }
                state.delivered.append(shown)
                state.rung.append(shown)
                if let badge = request.content.badge { Self.set(badge, &state) }
                return nil
            }
            guard let due = Self.due(request, after: now, in: state.calendar) else {
                return RepriseError(.refused, "The trigger never fires.")
            }
            state.pending[request.id] = Pending(
                request: request, added: now, order: state.order, due: due)
            Self.drop(&state)
            return nil
        }
        if let result { throw result }
    }

    private static func drop(_ state: inout State) {
        while state.pending.count > limit {
            let gone =
                switch state.beyond {
                case .soonestKept:
                    state.pending.values.max {
                        ($0.due ?? .distant, $0.order) < ($1.due ?? .distant, $1.order)
                    }
                case .latestAddedKept: state.pending.values.min { $0.order < $1.order }
                }
            guard let gone else { return }
            state.pending[gone.request.id] = nil
            state.dropped.append(gone.request.id)
        }
    }

    /// When it rings for the first time after a moment; nil: never.
    private static func due(
        _ request: NotificationRequest, after moment: WallTime, in device: Calendar
    ) -> WallTime? {
        switch request.trigger {
        case nil: return moment
        case .after(let seconds, let repeats):
            guard seconds > 0, seconds < 1e9, !repeats || seconds >= 60 else { return nil }
            return moment.advanced(by: .seconds(seconds))
        case .calendar(var components, _):
            var calendar = components.calendar ?? device
            calendar.timeZone = components.timeZone ?? device.timeZone
            components.timeZone = nil
            components.calendar = nil
            let from = Date(timeIntervalSince1970: Double(moment.milliseconds) / 1_000)
            let date =
                components.year != nil && components.month != nil && components.day != nil
                ? calendar.date(from: components).flatMap { $0 > from ? $0 : nil }
                : calendar.nextDate(after: from, matching: components, matchingPolicy: .nextTime)
            return date.map {
                WallTime(milliseconds: Int64(($0.timeIntervalSince1970 * 1_000).rounded()))
            }
        }
    }
}

extension WallTime {
    fileprivate static let distant = WallTime(milliseconds: .max)
}

extension NotificationTrigger {
    fileprivate var isRepeating: Bool {
        switch self {
        case .after(_, let repeats), .calendar(_, let repeats): repeats
        }
    }
}
