import GRDB
public import RepriseCore
import RepriseJournal

extension Reminders {
    // MARK: What a person says about one occurrence

    /// One occurrence rings again, so long from now; returns once it is durable.
    ///
    /// It replaces what was said about that occurrence before. Of an entity that is paused or
    /// deleted it does not ring.
    ///
    /// - Parameters:
    ///   - entity: as in ``RemindedEntity/id``.
    ///   - reminder: as in ``Reminder/id``.
    ///   - occurrence: as in ``Occurrence/local``.
    ///   - wait: 1 second to 30 days.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.full`, and what the journal throws.
    public func snooze(
        _ entity: String, reminder: String, occurrence: String, for wait: Duration
    ) async throws {
        try await mark { now in
            try .snooze(entity, reminder: reminder, occurrence: occurrence, for: wait, at: now)
        }
    }

    /// A snooze is taken back: it does not ring, and an occurrence that is still to come rings at
    /// its own time.
    ///
    /// - Parameters:
    ///   - entity: as in ``RemindedEntity/id``.
    ///   - reminder: as in ``Reminder/id``.
    ///   - occurrence: as in ``Occurrence/local``.
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

    /// What is left of today does not ring, until midnight where the device is now; returns once it
    /// is durable.
    ///
    /// Neither does what was snoozed until later today. What is snoozed from now on rings: the last
    /// word counts.
    ///
    /// - Parameters:
    ///   - entity: as in ``RemindedEntity/id``.
    ///   - reminder: as in ``Reminder/id``; nil: all of the entity.
    /// - Throws: ``RepriseCore/RepriseError`` `.full`, and what the journal throws.
    public func skipToday(_ entity: String, reminder: String? = nil) async throws {
        let zone = configuration.zone()
        try await mark { now in .skipOfToday(entity, reminder: reminder, at: now, in: zone) }
    }

    /// Rings once, on trial: by the same way as all others, and a tap on it leads where it would;
    /// nothing of it is stored.
    ///
    /// - Parameters:
    ///   - reminder: what is tried; it need not be in the store.
    ///   - entity: where a tap leads, as in ``RemindedEntity/id``.
    ///   - wait: 1 second to 30 days.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.badID`, `.tooLarge`, `.full`, and
    ///   what the journal throws.
    public func test(
        _ reminder: Reminder, of entity: String, after wait: Duration = .seconds(5)
    ) async throws {
        try ReminderCheck.content(reminder)
        let occurrence = "test-\(EntryID.random().text)"
        try await mark { now in
            var mark = try ReminderMark.snooze(
                entity, reminder: reminder.id, occurrence: occurrence, for: wait, at: now)
            mark.what = .test(reminder)
            return mark
        }
    }

    /// Made in its transaction, by the calendar as of that: one that was read before may have been
    /// set since.
    private func mark(
        _ make: @escaping @Sendable (WallTime) throws -> ReminderMark
    ) async throws {
        try await journal.write { [journal] db in
            let mark = try make(journal.now)
            try mark.checkNames()
            try ReminderDesk.mark(mark, in: db, at: journal.now)
        }
        driver.poke(.mark)
    }

    // MARK: Planning

    /// Compares what should ring with what the system has, soon.
    ///
    /// Call it after the person has answered the question for permission; all else is noticed.
    public func survey() { driver.poke(.asked) }

    /// Plans in the time that the system has given in the background; returns when it is given
    /// back.
    ///
    /// The next time is asked for before. It is called for slots of ``Configuration/refreshTask``.
    ///
    /// - Parameter slot: what the system has given.
    public func slot(_ slot: any BackgroundSlot) async { await driver.slot(slot) }

    /// Where the door stands now.
    public var state: ReminderState { driver.states.value }

    /// Where the door stands: first now, then each change.
    ///
    /// Who reads slowly gets the newest 64.
    public var states: AsyncStream<ReminderState> { driver.states.watch() }

    /// Every number of the door as of now; costs nothing while nobody asks.
    public var insight: ReminderInsight { get async { await driver.insight } }

    /// Ends ``run(store:notifications:scheduler:)`` and returns when it has ended: nothing of what
    /// the system has is changed any more.
    package func stop() async { await driver.stop() }

    /// Takes back all that this door has asked the system for, as when an account is left.
    ///
    /// What the system does not do now, the survey of the next account does.
    package func leave() async { await driver.leave() }
}

extension Reminders: AppLife {
    /// The app is in the background: a comparison that is under way is finished.
    ///
    /// - Parameter granted: how long the app may run.
    public func background(granted: Duration) async {
        await enter(.background(granted: granted))()
    }

    /// The app is in the foreground: the store is read again, and compared with what the system
    /// has.
    public func foreground() async { await enter(.foreground)() }

    /// Keeps what it has.
    public func memoryPressure() async {}
}

extension ReminderMark {
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
    /// Whether a payload leads to something of this door, as far as anybody can read it.
    package func isOurs(_ info: [UInt8]) -> Bool {
        let reading = RouteReading(sort: configuration.sort, readers: configuration.readers)
        switch reading.read(info: info) {
        case .read: return true
        case .malformed(let why): return why != .noRoute && why != .notJSON
        }
    }

    /// Whether nothing is under way: all is done, or what failed waits for its time.
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
                let patience = Patience(clock: configuration.timekeeper)
                _ = try? await patience.wait(granted - .seconds(1), for: "A survey") {
                    await driver.settled()
                }
            }
        }
    }

    /// Whether it has been told that the app is in the background.
    package var isAsleep: Bool { get async { await driver.machine.isAsleep } }
}
