import GRDB
public import RepriseCore
public import RepriseJournal

/// The reminders feature: local notifications that ring on time, and taps that open the right
/// screen.
///
/// The facade makes one; see `Reprise`.
///
/// ```swift
/// try await reminders.received(response)   // durable when it returns
/// let centre = SystemNotifications()
/// try await reminders.run(store: goals, notifications: centre, scheduler: scheduler)
/// ```
///
/// The plan is computed from the app's store alone and compared with the system's answer each time;
/// no copy of either can become stale.
public final class Reminders: Sendable {
    let journal: Journal
    let configuration: Configuration
    let driver: RemindersDriver
    let routing: ReminderRouting

    /// Persistent state of the feature.
    var planStore: ReminderPlanStore { driver.planStore }

    /// The kinds of entries that this feature records, for `Journal.open`.
    ///
    /// - Parameter configuration: with the time to live of a tap.
    /// - Returns: a kind for taps and links, and one for actions.
    package static func kinds(_ configuration: Configuration = Configuration()) -> [EntryKind] {
        let bound = configuration.timeToLive.map { EntryKind.Bound(after: $0, then: .expire) }
        return [
            // No attempt limit: a store that fails for an hour must not lose a tap.
            EntryKind(
                ReminderKinds.route, requires: [.store, .ui], bound: bound, attemptLimit: .max,
                backoff: ReminderRouting.backoff, parallel: RouteLimits.inFlight),
            EntryKind(
                ReminderKinds.action, requires: [.store], attemptLimit: .max,
                backoff: ReminderRouting.backoff, parallel: RouteLimits.inFlight),
        ]
    }

    /// Makes the feature over a journal that was opened with ``kinds(_:)`` and ``schema``.
    ///
    /// - Parameters:
    ///   - journal: stays the caller's.
    ///   - configuration: the options, already checked.
    ///   - actionTimeout: how long ``received(_:)`` waits for the effect of a button; zero: not at
    ///     all.
    package init(
        journal: Journal, configuration: Configuration = Configuration(),
        actionTimeout: Duration = .seconds(RouteLimits.actionSeconds)
    ) {
        self.journal = journal
        self.configuration = configuration
        routing = ReminderRouting(
            journal: journal, configuration: configuration, actionTimeout: actionTimeout)
        driver = RemindersDriver(
            journal: journal, configuration: configuration,
            opens: { [routing] in await routing.open() },
            hears: { [resolver = routing.resolver] change in resolver.changed(change) })
    }

    /// Plans and dispatches, until the task is cancelled or the journal is closed.
    ///
    /// Loads the app's store first, with retries; then entries that need `store` are dispatched.
    /// The plan is compared with the system at the start, in the foreground, in granted background
    /// time, after each tap, and after each change of the store.
    ///
    /// - Parameters:
    ///   - store: the app's own.
    ///   - notifications: the system's notification centre.
    ///   - scheduler: grants background time to plan again; nil: none.
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`, `.closed`; `.badConfiguration` if
    ///   it runs already. Cancellation is no error.
    public func run(
        store: any ReminderStore, notifications: any UserNotifications,
        scheduler: (any BackgroundScheduler)? = nil
    ) async throws {
        try await driver.run(
            .init(store: store, notifications: notifications, scheduler: scheduler)
        ) { [self] in
            await routingStarted(store)
        } finished: { [self] in
            await routingStopped()
        }
    }

    /// The tables of this feature, for `Journal.open` and for reading the ledger of a foreign
    /// journal.
    public static let schema = JournalSchema(
        name: "reminders",
        migrations: [
            { db in try db.execute(sql: ReminderTables.first) },
            { db in try db.execute(sql: ReminderTables.second) },
        ],
        prune: { db, now in try ReminderTables.prune(db, at: now) },
        calendarMoved: { db, step in try ReminderTables.calendarMoved(db, by: step) })
}

/// The names of this feature's kinds of entries.
package enum ReminderKinds {
    /// A tap or a link: dispatched to the app's screen.
    package static let route = "reminders-route"
    /// An action of a notification: done without the app's screen.
    package static let action = "reminders-action"
}
