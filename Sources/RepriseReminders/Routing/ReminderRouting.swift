public import RepriseCore
import RepriseJournal

/// What comes in through taps, actions and links, from the record to the app.
final class ReminderRouting: Sendable {
    /// Between attempts, where the store has thrown or has not answered.
    static let backoff = Backoff(base: .milliseconds(100), longest: .seconds(30))

    let resolver: RouteResolver
    private let journal: Journal
    private let configuration: Reminders.Configuration
    let waits: ActionWaits
    private let reading: RouteReading
    private let first: FirstTap
    private let queue: LentQueue<RoutedEntry>

    private var clock: any Timekeeper { configuration.timekeeper }

    init(journal: Journal, configuration: Reminders.Configuration, actionPatience: Duration) {
        self.journal = journal
        self.configuration = configuration
        let resolver = RouteResolver(configuration)
        self.resolver = resolver
        waits = ActionWaits(
            journal: journal, clock: configuration.timekeeper, limit: actionPatience)
        let first = FirstTap(journal: journal, clock: configuration.timekeeper)
        self.first = first
        reading = RouteReading(sort: configuration.sort, readers: configuration.readers)
        queue = LentQueue(
            journal: journal, kind: ReminderKinds.route, timekeeper: configuration.timekeeper,
            patience: .milliseconds(RouteLimits.slowLookUpMilliseconds)
        ) { lent in
            defer { first.looked() }
            return await Self.make(lent, resolver, journal)
        }
    }

    var routes: ReminderRoutes { ReminderRoutes(journal: journal, clock: clock, queue: queue) }

    /// - Parameters:
    ///   - store: the app's.
    ///   - done: called with the entity, if it is known, when an action has taken effect.
    func started(_ store: any ReminderStore, done: @escaping @Sendable (String?) -> Void) {
        resolver.use(store)
        let actions = ReminderActions(configuration, resolver, journal, waits, done)
        journal.handleBatches(of: ReminderKinds.action) { batch in
            for lent in batch { Task { await actions.perform(lent) } }
        }
    }

    /// The app's store can be asked; a tap that has waited for it goes first.
    func open() async { await first.open(queue.hasTakers) }

    func stopped() { resolver.use(nil) }

    // MARK: Recording

    /// - Returns: the entity that it leads to, if it says so, and whether it is in the journal;
    ///   else it is in the spool.
    func record(_ arrival: RouteArrival, as id: EntryID) async throws -> (
        entity: String?, isRecorded: Bool
    ) {
        var info: ReminderInfo?
        if case .read(let read) = reading.read(arrival) { info = read }
        let entry = NewEntry(
            id: id, kind: kind(of: arrival), source: arrival.source.rawValue,
            payload: arrival.payload)
        let now = clock.wall()
        let isRecorded = try await journal.write(orSpool: entry) { [journal, info] db in
            try journal.record(entry, in: db)
            try RouteLog.recorded(id, arrival, info, at: now, db)
        }
        return (info?.route.id, isRecorded)
    }

    /// A button of which nobody knows what it does is a tap: the app sees which one it was.
    func kind(of arrival: RouteArrival) -> String {
        guard let action = arrival.action else { return ReminderKinds.route }
        switch configuration.rule(action, in: arrival.category)?.effect {
        case .open: return ReminderKinds.route
        case nil:
            return action == ReminderActionRule.dismissal
                ? ReminderKinds.action : ReminderKinds.route
        case .log, .snooze, .skipToday, .pause: return ReminderKinds.action
        }
    }

    // MARK: Handing over

    private static func make(
        _ lent: Lent, _ resolver: RouteResolver, _ journal: Journal
    ) async -> RoutedEntry? {
        let id = lent.entry.id
        do {
            let arrival = try RouteArrival(payload: lent.entry.payload)
            if lent.entry.attempt > 1,
                try await journal.read({ db in try RouteLog.isPresented(id, db) })
            {
                lent.end(as: .ended(.applied, reason: "presented before"))
                return nil
            }
            return RoutedEntry(arrival: arrival, resolved: try await resolver.resolve(arrival))
        } catch let error as RepriseError where error.code == .malformed {
            lent.end(HandOverFailure.permanent("The entry cannot be read: \(error)"))
        } catch {
            lent.end(error)
        }
        return nil
    }
}

// MARK: The face

extension Reminders {
    /// Records what a person did with a notification; returns once it is durable, and then the
    /// system's completion handler may be called.
    ///
    /// A tap is handed to ``routes``; an action of ``Configuration/actions`` is done without the
    /// app's screen, and as the system suspends an app in the background once the completion
    /// handler was called, this returns when its effect is there and what rings is right, or after
    /// 10 seconds: then it is done at the next chance. So call it beside
    /// ``run(store:notifications:scheduler:)``, not before it. The same tap through two entrances
    /// of the app is one entry. It does not matter what the notification carries: what cannot be
    /// read is recorded and handed over as `malformed`. Where the journal cannot be written it is
    /// left in the spool, just as durable, and merged as soon as it can be.
    ///
    /// - Parameter response: what the system said.
    /// - Returns: the entry's id.
    /// - Throws: what the journal throws, if the spool cannot be written either.
    @discardableResult
    public func received(_ response: NotificationResponse) async throws -> EntryID {
        let arrival = RouteArrival(response)
        let (entity, isRecorded) = try await routing.record(arrival, as: response.tapID)
        driver.tapped(entity: entity)
        if isRecorded, routing.kind(of: arrival) == ReminderKinds.action {
            await routing.waits.over(response.tapID) { [driver] in await driver.settled() }
        }
        return response.tapID
    }

    /// Records that a deep link leads somewhere: `scheme://sort/id/part?owner=…&test=1`, the last
    /// three if there are any, each percent-encoded.
    ///
    /// - Parameters:
    ///   - url: the link; one that cannot be read is handed over as `malformed`.
    ///   - id: its identity; recording the same id again does nothing.
    /// - Returns: the entry's id.
    /// - Throws: what the journal throws.
    @discardableResult
    public func open(url: String, id: EntryID = .random()) async throws -> EntryID {
        _ = try await routing.record(RouteArrival(link: url), as: id)
        return id
    }

    /// Records that the app wants to show something, as from its own list or its widget.
    ///
    /// - Parameters:
    ///   - route: where it leads; one beyond its bounds is handed over as `malformed`.
    ///   - id: its identity; recording the same id again does nothing.
    /// - Returns: the entry's id.
    /// - Throws: what the journal throws.
    @discardableResult
    public func open(_ route: Route, id: EntryID = .random()) async throws -> EntryID {
        _ = try await routing.record(RouteArrival(route), as: id)
        return id
    }

    /// Where what people have tapped leads, once the app's store and its screen are there.
    public var routes: ReminderRoutes { routing.routes }

    /// Handlers of actions are set; called before `.store` opens.
    package func routingStarted(_ store: any ReminderStore) async {
        routing.started(store) { [driver] entity in driver.poke(.action, entity: entity) }
    }

    /// The door runs no more; called after `.store` is closed.
    package func routingStopped() async { routing.stopped() }
}
