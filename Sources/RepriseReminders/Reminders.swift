import GRDB
public import RepriseCore
public import RepriseJournal

/// The door for reminders: notifications that ring when they should, and taps on them that land
/// where they should.
///
/// The facade makes one; see `Reprise`.
///
/// ```swift
/// try await reminders.received(response)   // durable when it returns
/// try await reminders.run(store: goals, notifications: SystemNotifications(), scheduler: scheduler)
/// ```
///
/// What should ring is computed from the app's store alone, and what the system has is asked for
/// each time: nothing keeps books about it, so nothing can be forgotten in them.
public final class Reminders: Sendable {
    let journal: Journal
    let configuration: Configuration
    let driver: RemindersDriver
    let routing: ReminderRouting

    /// What the door writes down.
    var desk: ReminderDesk { driver.desk }

    /// The kinds of entries that this door records, for `Journal.open`.
    ///
    /// - Parameter configuration: with the time that a tap is worth.
    /// - Returns: a kind for taps and links, and one for actions.
    package static func kinds(_ configuration: Configuration = Configuration()) -> [EntryKind] {
        let bound = configuration.timeToLive.map { EntryKind.Bound(after: $0, then: .expire) }
        return [
            // A store that fails for an hour costs nobody a tap: it is asked again for ever.
            EntryKind(
                ReminderKinds.route, requires: [.store, .ui], bound: bound, attemptLimit: .max,
                backoff: ReminderRouting.backoff, parallel: RouteLimits.inHand),
            EntryKind(
                ReminderKinds.action, requires: [.store], attemptLimit: .max,
                backoff: ReminderRouting.backoff, parallel: RouteLimits.inHand),
        ]
    }

    /// Makes the door over a journal that was opened with ``kinds(_:)`` and ``schema``.
    ///
    /// - Parameters:
    ///   - journal: stays the caller's.
    ///   - configuration: what can be set, checked before.
    ///   - actionPatience: how long ``received(_:)`` waits for the effect of a button; zero: not at
    ///     all.
    package init(
        journal: Journal, configuration: Configuration = Configuration(),
        actionPatience: Duration = .seconds(RouteLimits.actionSeconds)
    ) {
        self.journal = journal
        self.configuration = configuration
        routing = ReminderRouting(
            journal: journal, configuration: configuration, actionPatience: actionPatience)
        driver = RemindersDriver(
            journal: journal, configuration: configuration,
            opens: { [routing] in await routing.open() },
            hears: { [resolver = routing.resolver] change in resolver.changed(change) })
    }

    /// Plans and hands over, until the task is cancelled or the journal is closed.
    ///
    /// The app's store is loaded first, again and again if that fails; then entries that need
    /// `store` are handed over. What should ring is compared with what the system has at the start,
    /// in the foreground, in the background when the system gives time, after each tap, and
    /// whenever the store says that something has changed.
    ///
    /// - Parameters:
    ///   - store: the app's own.
    ///   - notifications: the system's notification centre.
    ///   - scheduler: gives time in the background to plan again; nil: there is none.
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`, `.closed`; `.badConfiguration` if
    ///   it runs already. Cancellation is no error.
    public func run(
        store: any ReminderStore, notifications: any UserNotifications,
        scheduler: (any BackgroundScheduler)? = nil
    ) async throws {
        try await driver.began(store, notifications, scheduler)
        await routingStarted(store)
        let result = await Result { try await driver.run() }
        await routingStopped()
        try result.get()
    }

    /// The tables of this door, for `Journal.open` and for reading the ledger of a journal that
    /// somebody else owns.
    public static let schema = JournalSchema(
        name: "reminders",
        migrations: [
            { db in try db.execute(sql: ReminderTables.first) },
            { db in try db.execute(sql: ReminderTables.second) },
        ],
        prune: { db, now in try ReminderTables.prune(db, at: now) },
        calendarMoved: { db, step in try ReminderTables.calendarMoved(db, by: step) })
}

extension Result where Failure == any Error, Success: Sendable {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

/// The names of this door's kinds of entries.
package enum ReminderKinds {
    /// A tap, or a link: handed to the app's screen.
    package static let route = "reminders-route"
    /// An action of a notification: done without the app's screen.
    package static let action = "reminders-action"
}
