public import RepriseCore
public import RepriseJournal

/// The way of taps, actions and links, from the record to the app.
final class ReminderRouting: Sendable {
    /// Between attempts, where the store has thrown or has not answered.
    static let backoff = Backoff(base: .milliseconds(100), longest: .seconds(30))

    let resolver: RouteResolver
    private let journal: Journal
    private let configuration: Reminders.Configuration
    let waits: ActionWaits
    private let reading: RouteReading
    private let first: FirstTap
    private let queue: DeliveryQueue<RoutedEntry>

    private var clock: any Timekeeper { configuration.timekeeper }

    init(journal: Journal, configuration: Reminders.Configuration, actionTimeout: Duration) {
        self.journal = journal
        self.configuration = configuration
        let resolver = RouteResolver(configuration)
        self.resolver = resolver
        waits = ActionWaits(
            journal: journal, clock: configuration.timekeeper, limit: actionTimeout)
        let first = FirstTap(journal: journal, clock: configuration.timekeeper)
        self.first = first
        reading = RouteReading(sort: configuration.sort, readers: configuration.readers)
        queue = DeliveryQueue(
            journal: journal, kind: ReminderKinds.route, timekeeper: configuration.timekeeper,
            timeout: .milliseconds(RouteLimits.slowLookUpMilliseconds)
        ) { delivery in
            defer { first.looked() }
            return await Self.make(delivery, resolver, journal)
        }
    }

    var routes: ReminderRoutes { RoutedTap.stream(queue, journal, clock) }

    /// - Parameters:
    ///   - store: the app's.
    ///   - done: called with the entity, if it is known, when an action has taken effect.
    func started(_ store: any ReminderStore, done: @escaping @Sendable (String?) -> Void) {
        resolver.use(store)
        let actions = ReminderActions(configuration, resolver, journal, waits, done)
        journal.handleBatches(of: ReminderKinds.action) { batch in
            for delivery in batch { Task { await actions.perform(delivery) } }
        }
    }

    /// The app's store is ready; a waiting tap goes first.
    func open() async { await first.open(queue.hasTakers) }

    func stopped() { resolver.use(nil) }

    // MARK: Recording

    /// - Returns: the target entity, if known, and whether it is in the journal; else it is in the
    ///   spool.
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

    /// An action without a rule is a tap: the app sees its name.
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

    // MARK: Dispatch

    private static func make(
        _ delivery: EntryDelivery, _ resolver: RouteResolver, _ journal: Journal
    ) async -> RoutedEntry? {
        let id = delivery.entry.id
        do {
            let arrival = try RouteArrival(payload: delivery.entry.payload)
            if delivery.entry.attempt > 1,
                try await journal.read({ db in try RouteLog.isPresented(id, db) })
            {
                delivery.end(as: .ended(.applied, reason: "presented before"))
                return nil
            }
            return RoutedEntry(arrival: arrival, resolved: try await resolver.resolve(arrival))
        } catch let error as RepriseError where error.code == .malformed {
            delivery.end(DispatchFailure.permanent("The entry cannot be read: \(error)"))
        } catch {
            delivery.end(error)
        }
        return nil
    }
}

// MARK: The face

extension Reminders {
    /// Records a response to a notification; when it returns, the record is durable and the
    /// system's completion handler may be called.
    ///
    /// A tap is dispatched to ``routes``; an action of ``Configuration/actions`` is performed
    /// without the app's screen. The system suspends a background app once the completion handler
    /// was called, so this returns when the action's effect and the new plan are done, or after 10
    /// seconds: then they follow at the next chance. So call it beside
    /// `run`, not before it. The same tap through two entry
    /// points of the app is one entry. An unreadable payload is recorded and dispatched as
    /// `malformed`. If the journal cannot be written, the response goes to the spool, equally
    /// durable, and is merged as soon as possible.
    ///
    /// - Parameter response: the system's notification response.
    /// - Returns: the entry's id.
    /// - Throws: what the journal throws, if the spool cannot be written either.
    @discardableResult
    public func received(_ response: NotificationResponse) async throws -> EntryID {
        if try await record(response) { await done(response) }
        return response.tapID
    }

    /// Records a response, and waits for nothing else.
    ///
    /// - Returns: whether it is a button that is in the journal: ``done(_:)`` waits for its effect.
    /// - Throws: as ``received(_:)``.
    package func record(_ response: NotificationResponse) async throws -> Bool {
        let arrival = RouteArrival(response)
        let (entity, isRecorded) = try await routing.record(arrival, as: response.tapID)
        driver.tapped(entity: entity)
        return isRecorded && isAction(response)
    }

    /// Whether a response is a button whose effect needs no screen.
    package func isAction(_ response: NotificationResponse) -> Bool {
        routing.kind(of: RouteArrival(response)) == ReminderKinds.action
    }

    /// Returns when the effect of a recorded button and the new plan are done, or after 10 seconds.
    package func done(_ response: NotificationResponse) async {
        await routing.waits.over(response.tapID) { [driver] in await driver.settled() }
    }

    /// Records a deep link: `scheme://sort/id/part?owner=…&test=1`, the last three optional, each
    /// percent-encoded.
    ///
    /// - Parameters:
    ///   - url: the link; an unreadable one is dispatched as `malformed`.
    ///   - id: its identity; recording the same id again does nothing.
    /// - Returns: the entry's id.
    /// - Throws: what the journal throws.
    @discardableResult
    public func open(url: String, id: EntryID = .random()) async throws -> EntryID {
        _ = try await routing.record(RouteArrival(link: url), as: id)
        return id
    }

    /// Records a route of the app's own, for example from its list or widget.
    ///
    /// - Parameters:
    ///   - route: the target; one beyond the limits is dispatched as `malformed`.
    ///   - id: its identity; recording the same id again does nothing.
    /// - Returns: the entry's id.
    /// - Throws: what the journal throws.
    @discardableResult
    public func open(_ route: Route, id: EntryID = .random()) async throws -> EntryID {
        _ = try await routing.record(RouteArrival(route), as: id)
        return id
    }

    /// The targets of taps, dispatched once the app's store and screen are ready.
    public var routes: ReminderRoutes { routing.routes }

    /// Handlers of actions are set; called before `.store` opens.
    package func routingStarted(_ store: any ReminderStore) async {
        routing.started(store) { [driver] entity in driver.poke(.action, entity: entity) }
    }

    /// The feature has stopped; called after `.store` is closed.
    package func routingStopped() async { routing.stopped() }
}
