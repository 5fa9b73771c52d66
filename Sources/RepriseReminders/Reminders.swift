import GRDB
public import RepriseCore
public import RepriseJournal

/// The reminders feature: local notifications that ring on time, and taps that open the right
/// screen.
///
/// `RepriseClient` makes one for each account.
///
/// ```swift
/// try await client.received(response)   // a tap: durable when it returns
/// for await tap in client.reminderTaps { …; try await tap.presented() }
/// try await client.reminders.skipToday("goal-7")
/// ```
///
/// The plan is computed from the app's store alone and compared with the system's answer each time;
/// no copy of either can become stale.
public final class Reminders: Sendable {
    private let journal: Journal
    private let configuration: Configuration
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
    package func run(
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

extension Reminders {
    // MARK: Overrides of one occurrence

    /// Postpones one occurrence to `wait` from now; returns once it is durable.
    ///
    /// It rings then instead of at its own time, also where that is still ahead. Replaces any
    /// former override of that occurrence. It does not ring for a paused or deleted entity.
    ///
    /// - Parameters:
    ///   - entity: as in ``RemindedEntity/id``.
    ///   - reminder: as in ``Reminder/id``.
    ///   - occurrence: as in ``RepriseCore/Occurrence/local``.
    ///   - wait: 1 second to 30 days.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.full`, and what the journal throws.
    public func snooze(
        _ entity: String, reminder: String, occurrence: String, for wait: Duration
    ) async throws {
        try await mark { now in
            try .snooze(entity, reminder: reminder, occurrence: occurrence, for: wait, at: now)
        }
    }

    /// Removes a snooze; an occurrence that is still to come rings at its own time.
    ///
    /// - Parameters:
    ///   - entity: as in ``RemindedEntity/id``.
    ///   - reminder: as in ``Reminder/id``.
    ///   - occurrence: as in ``RepriseCore/Occurrence/local``.
    /// - Throws: what the journal throws.
    public func unsnooze(_ entity: String, reminder: String, occurrence: String) async throws {
        try await journal.write { db in
            try db.execute(
                sql: """
                    DELETE FROM reminderMark WHERE what = 'snooze'
                    AND entity = ? AND reminder = ? AND occurrence = ?
                    """, arguments: [entity, reminder, occurrence])
        }
        driver.poke(.mark)
    }

    /// Skips the rest of today, until midnight in the device's zone; returns once it is durable.
    ///
    /// Also skips earlier snoozes that end today. Later snoozes ring: the last override wins.
    ///
    /// - Parameters:
    ///   - entity: as in ``RemindedEntity/id``.
    ///   - reminder: as in ``Reminder/id``; nil: all of the entity.
    /// - Throws: ``RepriseCore/RepriseError`` `.full`, and what the journal throws.
    public func skipToday(_ entity: String, reminder: String? = nil) async throws {
        let zone = configuration.zone()
        try await mark { now in .skipOfToday(entity, reminder: reminder, at: now, in: zone) }
    }

    /// Rings a reminder once as a test, the same way as all others; a tap on it routes as usual,
    /// and nothing of it is stored.
    ///
    /// - Parameters:
    ///   - reminder: the reminder to test; need not be in the store.
    ///   - entity: the target of a tap, as in ``RemindedEntity/id``.
    ///   - wait: 1 second to 30 days.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.badID`, `.tooLarge`, `.full`, and
    ///   what the journal throws.
    public func test(
        _ reminder: Reminder, of entity: String, after wait: Duration = .seconds(5)
    ) async throws {
        try ReminderCheck.content(reminder)
        let occurrence = "test-\(EntryID.random().text)"
        try await mark { now in
            var mark = try ReminderOverride.snooze(
                entity, reminder: reminder.id, occurrence: occurrence, for: wait, at: now)
            mark.what = .test(reminder)
            return mark
        }
    }

    /// Made in its transaction, by the calendar as of that: one that was read before may have been
    /// set since.
    private func mark(
        _ make: @escaping @Sendable (WallTime) throws -> ReminderOverride
    ) async throws {
        try await journal.write { [journal] db in
            let mark = try make(journal.now)
            try mark.checkNames()
            try ReminderPlanStore.mark(mark, in: db, at: journal.now)
        }
        driver.poke(.mark)
    }

    // MARK: Planning

    /// Schedules a comparison of the plan with the system's pending notifications.
    ///
    /// Call it after the person has answered the permission prompt; all other changes are noticed.
    public func reconciliation() { driver.poke(.asked) }

    /// Plans within a background slot; returns when the slot is given back.
    ///
    /// Requests the next slot first. Call it for slots of ``Configuration/refreshTask``.
    ///
    /// - Parameter slot: the system's slot.
    public func slot(_ slot: any BackgroundSlot) async { await driver.slot(slot) }

    /// The current state.
    public var state: ReminderState { driver.states.value }

    /// The states: the current one first, then each change.
    ///
    /// Buffers the newest 64 values; older ones are dropped.
    public var states: AsyncStream<ReminderState> { driver.states.watch() }

    /// The current figures; costs nothing until it is read.
    public var diagnostics: ReminderDiagnostics { get async { await driver.diagnostics } }

    /// Ends `run`; after it returns, the system's notifications
    /// are not changed any more.
    package func stop() async { await driver.loop.stop() }

    /// Removes all of this feature's requests from the system, for example at sign-out.
    ///
    /// Whatever fails now, the reconciliation of the next account removes.
    ///
    /// - Parameter centre: the notification centre, for when the feature does not run.
    package func leave(_ centre: (any UserNotifications)? = nil) async {
        await driver.leave(centre)
    }
}

extension Reminders: AppLife {
    /// The app is in the background: a comparison that is under way is finished.
    ///
    /// - Parameter granted: how long the app may run.
    public func background(granted: Duration) async {
        await enter(.background(granted: granted))()
    }

    /// The app is in the foreground: reads the store again and compares it with the system.
    public func foreground() async { await enter(.foreground)() }

    /// Does nothing.
    public func memoryPressure() async {}
}

extension ReminderOverride {
    /// - Throws: ``RepriseCore/RepriseError`` `.badID`.
    fileprivate func checkNames() throws {
        guard (1...RouteLimits.routeID).contains(entity.utf8.count),
            ((isOfDay ? 0 : 1)...ReminderLimits.idBytes).contains(reminder.utf8.count),
            (1...ReminderLimits.idBytes).contains(occurrence.utf8.count)
        else {
            throw RepriseError(
                .badID,
                "An entity's id has 1 to \(RouteLimits.routeID) bytes, a reminder's and an "
                    + "occurrence's \(ReminderLimits.idBytes).",
                remedy: "Take them from the route of a tap.")
        }
    }
}

extension Reminders {
    /// Whether a payload belongs to this feature, as far as it is readable.
    package func isOurs(_ info: [UInt8]) -> Bool {
        let reading = RouteReading(sort: configuration.sort, readers: configuration.readers)
        switch reading.read(info: info) {
        case .read: return true
        case .malformed(let why): return why != .noRoute && why != .notJSON
        }
    }

    /// Whether nothing is under way: all is done, or waits for a retry.
    package var isQuiet: Bool { get async { await driver.isIdle } }
}

extension Reminders: AppLifeFollower {
    package func enter(_ phase: AppPhase) -> @Sendable () async -> Void {
        switch phase {
        case .foreground:
            driver.inbox.put(.event(.woke))
            return {}
        case .background(let granted):
            driver.inbox.put(.event(.slept))
            guard granted > .seconds(1) else { return {} }
            return { [driver, configuration] in
                let timeout = CallTimeout(clock: configuration.timekeeper)
                _ = try? await timeout.wait(granted - .seconds(1), for: "A reconciliation") {
                    await driver.settled()
                }
            }
        }
    }

    /// Whether the app is in the background.
    package var isAsleep: Bool { get async { await driver.machine.isAsleep } }
}
