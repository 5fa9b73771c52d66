public import RepriseCore
import RepriseJournal

/// A tap on a notification with its target, resolved at the moment of its dispatch.
public struct NoticeTap: Sendable, Identifiable {
    /// The id that it was recorded with: stays the same when it is dispatched again after a crash.
    public let id: EntryID
    /// The conversation: `sort` is ``NoticeTaps/sort``, `id` the channel, `part` the message; nil
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

    let ending: Ending

    /// Acknowledges that a screen shows it: it is never dispatched again.
    ///
    /// Returns when that is durable. A second call does nothing.
    ///
    /// - Throws: what the journal throws; then call it again.
    public func presented() async throws { try await ending.end(id, reason: "presented") }

    /// Acknowledges it without a screen: it is never dispatched again.
    ///
    /// - Parameter reason: for the log; at most 1,024 bytes of it are kept.
    /// - Throws: what the journal throws; then call it again.
    public func declined(_ reason: String) async throws {
        try await ending.end(id, reason: "declined: \(reason)")
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
public struct NoticeTaps: AsyncSequence, Sendable {
    /// The element type.
    public typealias Element = NoticeTap

    /// The sort of entity that a tap leads to, as in ``RepriseCore/Route/sort``.
    public static let sort = "channel"

    let journal: Journal
    let clock: any Timekeeper
    let queue: DeliveryQueue<NoticeRouted>

    /// Begins to take taps.
    public func makeAsyncIterator() -> Iterator {
        Iterator(ending: NoticeTap.Ending(journal: journal, clock: clock, lease: .init(queue)))
    }

    /// Takes one tap after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let ending: NoticeTap.Ending

        /// Waits for the next.
        ///
        /// - Returns: nil when the task is cancelled.
        public mutating func next() async -> NoticeTap? { await ending.next() }
    }
}

/// A tap on its way to a loop.
struct NoticeRouted: Sendable {
    let arrival: NoticeArrival
    var route: Route?
    var resolution: Resolution
    var reason: String
}

extension NoticeTap {
    /// The taps in flight of one loop, held by the loop and by each tap.
    final class Ending: Sendable {
        private let journal: Journal
        private let clock: any Timekeeper
        private let lease: DeliveryQueue<NoticeRouted>.Lease

        init(journal: Journal, clock: any Timekeeper, lease: DeliveryQueue<NoticeRouted>.Lease) {
            self.journal = journal
            self.clock = clock
            self.lease = lease
        }

        func next() async -> NoticeTap? {
            guard let (delivery, routed) = await lease.next() else { return nil }
            let id = delivery.entry.id
            // Not awaited: a log for people, while a person waits for the screen.
            let now = clock.wall()
            Task { [journal] in
                try? await journal.write { db in
                    try NoticeTapLog.handed(id, routed, at: now, db)
                }
            }
            return NoticeTap(delivery.entry, routed, self)
        }

        func end(_ id: EntryID, reason: String) async throws {
            let now = clock.wall()
            // The word of the app is durable before the entry ends: a kill between the two must not
            // show it again.
            try await journal.write { db in try NoticeTapLog.presented(id, at: now, db) }
            lease.release(id)?.end(as: .ended(.applied, reason: reason))
        }
    }

    fileprivate init(_ entry: Entry, _ routed: NoticeRouted, _ ending: Ending) {
        self.init(
            id: entry.id, route: routed.route, resolution: routed.resolution,
            reason: routed.reason, seq: routed.arrival.seq,
            action: routed.arrival.isButton ? routed.arrival.action : nil,
            answer: routed.arrival.text, attempt: entry.attempt, ending: ending)
    }
}
