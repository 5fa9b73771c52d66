public import RepriseCore
public import RepriseJournal

/// A tap on a notification with its target, resolved at the moment of its dispatch.
public struct NoticeTap: Sendable, Identifiable {
    /// The id that it was recorded with: stays the same when it is dispatched again after a crash.
    public let id: EntryID
    /// The conversation: `sort` is `NoticeTaps.sort`, `id` the channel, `part` the message; nil
    /// if it carries none that can be read.
    public let route: Route?
    /// The target's current status; each case needs a screen of its own.
    public let resolution: Resolution
    /// Why, for a log.
    public let reason: String
    /// The sequence of the message.
    public let seq: Int64?
    /// The action of the notification, if it was not the notification itself.
    public let action: String?
    /// The text typed for that action.
    public let answer: String?
    /// The number of dispatches, including this one.
    public let attempt: Int

    let lease: DeliveryQueue<NoticeRouted>.Lease

    /// Acknowledges that a screen shows it: it is never dispatched again.
    ///
    /// Returns when that is durable. A second call does nothing.
    ///
    /// - Throws: what the journal throws; then call it again.
    public func presented() async throws { try await end("presented") }

    /// Acknowledges it without a screen: it is never dispatched again.
    ///
    /// - Parameter reason: for the log; at most 1,024 bytes of it are kept.
    /// - Throws: what the journal throws; then call it again.
    public func declined(_ reason: String) async throws {
        try await end("declined: \(reason)")
    }
}

/// The taps on notifications, each dispatched until the app acknowledges it.
///
/// ```swift
/// for await tap in notices.taps {
///     switch tap.resolution {
///     case .active(let conversation, let place): router.open(conversation, at: place)
///     default: return try await tap.declined(tap.reason)
///     }
///     try await tap.presented()
/// }
/// ```
///
/// A tap whose process dies is dispatched again; so is one whose loop ends. At most
/// ``NoticeLimits/tapsInFlight`` are in flight.
public typealias NoticeTaps = DeliveryStream<NoticeTap>

extension DeliveryStream where Element == NoticeTap {
    /// The sort of entity that a tap leads to, as in ``RepriseCore/Route/sort``.
    public static var sort: String { "channel" }
}

/// A tap on its way to a loop.
struct NoticeRouted: Sendable {
    let arrival: NoticeArrival
    var route: Route?
    var resolution: Resolution
    var reason: String
}

extension NoticeTap {
    static func stream(
        _ queue: DeliveryQueue<NoticeRouted>, _ journal: Journal, _ clock: any Timekeeper
    ) -> NoticeTaps {
        NoticeTaps(queue) { entry, routed, lease in
            let now = clock.wall()
            // Not awaited: a log for people, while a person waits for the screen.
            Task {
                try? await journal.write { db in
                    try NoticeTapLog.handed(entry.id, routed, at: now, db)
                }
            }
            return NoticeTap(entry, routed, lease)
        }
    }

    private init(
        _ entry: Entry, _ routed: NoticeRouted, _ lease: DeliveryQueue<NoticeRouted>.Lease
    ) {
        self.init(
            id: entry.id, route: routed.route, resolution: routed.resolution,
            reason: routed.reason, seq: routed.arrival.seq,
            action: routed.arrival.isButton ? routed.arrival.action : nil,
            answer: routed.arrival.text, attempt: entry.attempt, lease: lease)
    }

    private func end(_ reason: String) async throws {
        try await lease.end(id, reason: reason) { [id] db, now in
            try NoticeTapLog.presented(id, at: now, db)
        }
    }
}
