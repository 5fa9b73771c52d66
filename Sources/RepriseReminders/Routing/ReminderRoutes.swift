public import RepriseCore
import RepriseJournal

/// Where something that a person has tapped leads, resolved at the moment of its hand-over.
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

    /// The id that it was recorded with: the same tap comes again with the same id if the process
    /// died over it.
    public let id: EntryID
    /// Where it leads; nil if it carries no route that can be read.
    public let route: Route?
    /// What that is now; each case is a screen of its own.
    public let resolution: Resolution
    /// Why, for a log.
    public let reason: String
    /// The reminder that rang.
    public let reminder: String?
    /// The occurrence that rang, as in ``Occurrence/local``.
    public let occurrence: String?
    /// Through which entrance it came.
    public let source: Source
    /// The action of the notification, if it was not the notification itself.
    public let action: String?
    /// What was typed for that action.
    public let answer: String?
    /// How often it was handed over, this time included.
    public let attempt: Int
    /// Whether it is only tried: nothing of it is to be stored.
    public var isTest: Bool { route?.isTest ?? false }

    let ending: Ending

    /// Says that a screen shows it: it is never handed over again.
    ///
    /// Returns when that is durable. A second call does nothing.
    ///
    /// - Throws: what the journal throws; then say it again.
    public func presented() async throws {
        try await ending.end(id, reason: resolution.name)
    }

    /// Says that no screen is to be shown for it: it is never handed over again.
    ///
    /// - Parameter reason: why, for the log; at most 1,024 bytes of it are kept.
    /// - Throws: what the journal throws; then say it again.
    public func declined(_ reason: String) async throws {
        try await ending.end(id, reason: "declined: \(reason)")
    }
}

/// What taps, links and actions lead to, each handed over until the app says that it has presented
/// it.
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
/// A tap over which the process dies comes again; so does one whose loop ends, as soon as nobody
/// holds it. Several loops share the taps. At most 8 are in hand: a loop that presents none of them
/// gets no more.
public struct ReminderRoutes: AsyncSequence, Sendable {
    /// What it brings.
    public typealias Element = RoutedTap

    let journal: Journal
    let clock: any Timekeeper
    let queue: LentQueue<RoutedEntry>

    /// Begins to take taps.
    public func makeAsyncIterator() -> Iterator {
        Iterator(ending: RoutedTap.Ending(journal: journal, clock: clock, hand: .init(queue)))
    }

    /// Takes one tap after the other.
    public struct Iterator: AsyncIteratorProtocol {
        let ending: RoutedTap.Ending

        /// Waits for the next.
        ///
        /// - Returns: nil when the task is cancelled.
        public mutating func next() async -> RoutedTap? { await ending.next() }
    }
}

/// An entry on its way to a loop.
struct RoutedEntry: Sendable {
    let arrival: RouteArrival
    let resolved: ResolvedRoute
}

extension RoutedTap {
    /// What one loop has in hand, held by the loop and by each tap that it has brought.
    final class Ending: Sendable {
        private let journal: Journal
        private let clock: any Timekeeper
        private let hand: LentQueue<RoutedEntry>.Hand

        init(journal: Journal, clock: any Timekeeper, hand: LentQueue<RoutedEntry>.Hand) {
            self.journal = journal
            self.clock = clock
            self.hand = hand
        }

        func next() async -> RoutedTap? {
            guard let (lent, routed) = await hand.next() else { return nil }
            let (id, now) = (lent.entry.id, clock.wall())
            // Not waited for: it is for people, and a person waits for the screen.
            Task { [journal] in
                try? await journal.write { db in
                    try RouteLog.resolved(id, routed.resolved, isHanded: true, at: now, db)
                }
            }
            return RoutedTap(lent.entry, routed, self)
        }

        func end(_ id: EntryID, reason: String) async throws {
            let now = clock.wall()
            // The word of the app is durable before the entry ends: a kill between the two must not
            // show it again.
            try await journal.write { db in try RouteLog.presented(id, at: now, db) }
            hand.release(id)?.end(as: .ended(.applied, reason: reason))
        }
    }

    fileprivate init(_ entry: Entry, _ routed: RoutedEntry, _ ending: Ending) {
        let (arrival, resolved) = (routed.arrival, routed.resolved)
        self.init(
            id: entry.id, route: resolved.info?.route, resolution: resolved.resolution,
            reason: resolved.reason, reminder: resolved.info?.reminder,
            occurrence: resolved.info?.occurrence, source: arrival.source, action: arrival.action,
            answer: arrival.answer, attempt: entry.attempt, ending: ending)
    }
}
