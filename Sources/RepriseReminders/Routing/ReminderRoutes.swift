public import RepriseCore
public import RepriseJournal

/// A tap with its target, resolved at the moment of its dispatch.
public struct RoutedTap: Sendable, Identifiable {
    /// Through which entrance it came.
    public enum Source: String, Hashable, Sendable, Codable, CaseIterable {
        /// A tap on a notification.
        case tap
        /// An action of a notification.
        case action
        /// A deep link.
        case link
        /// The app itself.
        case app
    }

    /// The id that it was recorded with: stays the same when it is dispatched again after a crash.
    public let id: EntryID
    /// The target; nil if the tap has no readable route.
    public let route: Route?
    /// The target's current status; each case needs a screen of its own.
    public let resolution: Resolution
    /// Why, for a log.
    public let reason: String
    /// The reminder that rang.
    public let reminder: String?
    /// The occurrence that rang, as in ``RepriseCore/Occurrence/local``.
    public let occurrence: String?
    /// Through which entrance it came.
    public let source: Source
    /// The action of the notification, if it was not the notification itself.
    public let action: String?
    /// The text typed for that action.
    public let answer: String?
    /// The number of dispatches, including this one.
    public let attempt: Int
    /// Whether it is a test: nothing of it is to be stored.
    public var isTest: Bool { route?.isTest ?? false }

    let lease: DeliveryQueue<RoutedEntry>.Lease

    /// Acknowledges that a screen shows it: it is never dispatched again.
    ///
    /// Returns when that is durable. A second call does nothing.
    ///
    /// - Throws: what the journal throws; then call it again.
    public func presented() async throws {
        try await end(resolution.name)
    }

    /// Acknowledges it without a screen: it is never dispatched again.
    ///
    /// - Parameter reason: for the log; at most 1,024 bytes of it are kept.
    /// - Throws: what the journal throws; then call it again.
    public func declined(_ reason: String) async throws {
        try await end("declined: \(reason)")
    }
}

/// The routes of taps, links and actions, each dispatched until the app acknowledges it.
///
/// ```swift
/// for await tap in reminders.routes {
///     switch tap.resolution {
///     case .active(let goal, let place): router.show(goal, at: place)
///     case .paused(let goal): router.showPaused(goal)
///     case .deleted, .missing: router.showGone()
///     case .superseded(let goal): router.show(goal)
///     case .malformed(let why): return try await tap.declined("\(why)")
///     }
///     try await tap.presented()
/// }
/// ```
///
/// A tap whose process dies is dispatched again; so is one whose loop has ended and that is no
/// longer referenced. Several loops share the taps. At most 8 are in flight: a loop that
/// acknowledges none of them gets no more.
public typealias ReminderRoutes = DeliveryStream<RoutedTap>

/// An entry on its way to a loop.
struct RoutedEntry: Sendable {
    let arrival: RouteArrival
    let resolved: ResolvedRoute
}

extension RoutedTap {
    static func stream(
        _ queue: DeliveryQueue<RoutedEntry>, _ journal: Journal, _ clock: any Timekeeper
    ) -> ReminderRoutes {
        ReminderRoutes(queue) { entry, routed, lease in
            let now = clock.wall()
            // Not awaited: a log for people, while a person waits for the screen.
            Task {
                try? await journal.write { db in
                    try RouteLog.resolved(
                        entry.id, routed.resolved, isDispatched: true, at: now, db)
                }
            }
            return RoutedTap(entry, routed, lease)
        }
    }

    private init(
        _ entry: Entry, _ routed: RoutedEntry, _ lease: DeliveryQueue<RoutedEntry>.Lease
    ) {
        let (arrival, resolved) = (routed.arrival, routed.resolved)
        self.init(
            id: entry.id, route: resolved.info?.route, resolution: resolved.resolution,
            reason: resolved.reason, reminder: resolved.info?.reminder,
            occurrence: resolved.info?.occurrence, source: arrival.source, action: arrival.action,
            answer: arrival.answer, attempt: entry.attempt, lease: lease)
    }

    private func end(_ reason: String) async throws {
        try await lease.end(id, reason: reason) { [id] db, now in
            try RouteLog.presented(id, at: now, db)
        }
    }
}
