package import Foundation
package import RepriseCore

/// Decides when the plan is compared with the system's notifications, and the changes that follow.
///
/// `stopped → loading → ready`, and in `ready` one reconciliation at a time: read everything,
/// remove requests, add requests, one after the other, write the record. Input meanwhile leads to
/// one more. The system is asked each time, so a kill between two changes needs no repair.
package struct ReconciliationMachine: Sendable {
    package struct Settings: Hashable, Sendable {
        /// As in `Route.sort`.
        package var sort: String
        /// Whether it requests background time.
        package var asksForRefresh: Bool
        /// The waits after the store could not be loaded.
        package var loading: Backoff
        /// The waits after a failed reconciliation.
        package var reconciling: Backoff
        /// How often the clocks are looked at while the app is in the foreground.
        package var tick: Duration

        package init(
            sort: String = "goal", asksForRefresh: Bool = true,
            loading: Backoff = Backoff(base: .milliseconds(100), longest: .seconds(30)),
            reconciling: Backoff = Backoff(base: .seconds(1), longest: .seconds(300)),
            tick: Duration = .seconds(60)
        ) {
            self.sort = sort
            self.asksForRefresh = asksForRefresh
            self.loading = loading
            self.reconciling = reconciling
            self.tick = tick
        }
    }

    /// The clocks' readings and a random number.
    package struct Moment: Sendable {
        package var uptime: Duration
        package var wall: WallTime
        package var zone: TimeZone
        /// 0..<1.
        package var jitter: Double

        package init(uptime: Duration, wall: WallTime, zone: TimeZone, jitter: Double = 0.5) {
            self.uptime = uptime
            self.wall = wall
            self.zone = zone
            self.jitter = jitter
        }
    }

    package enum Event: Sendable {
        case started
        case stopped
        case storeLoaded
        case loadFailed(String)
        case changed(ReminderChange)
        /// A request to compare; if an entity is named, it is read again.
        case asked(ReconciliationCause, entity: String? = nil)
        /// Why no time in the background could be asked for; nil: it could.
        case refreshAsked(fault: String?)
        case timerFired
        case slept
        case woke
        /// Answers a question of the reconciliation of this number.
        case answered(Int, Answer)
    }

    package enum Question: Hashable, Sendable {
        /// nil: all of them.
        case entities(Set<String>?)
        case settings
        case pending
        case delivered
        case marks
        /// Which of these are in use? By their ids.
        case look([String: Route])
        case removeDelivered([String])
        case removePending([String])
        case add(NotificationRequest)
        case write(ReconciliationRecord)
    }

    package enum Answer: Sendable {
        case entities([RemindedEntity])
        case settings(NotificationSettings)
        case pending([NotificationRequest])
        case delivered([DeliveredNotification])
        case marks([ReminderOverride])
        case looked(inUse: Set<String>)
        case done
        /// Temporary failure: a timeout, or another fault that may pass.
        case failed(String)
        /// The system will not have it, today or tomorrow.
        case refused(String)
    }

    package enum Action: Hashable, Sendable {
        case load
        case setReady(Bool)
        /// Answered by ``Event/answered(_:_:)`` with this number.
        case ask(Int, Question)
        /// Not before this moment.
        case requestRefresh(WallTime)
        /// The reconciliation of this number is over.
        case reconciled(Int, isComplete: Bool)
    }

    enum Phase: Hashable {
        case stopped
        case loading(failures: Int, since: Duration)
        case resting(failures: Int, until: Duration)
        case ready
    }

    /// The scope of the next reconciliation.
    struct Wanted {
        var cause: ReconciliationCause
        var reading: Reading
        /// A caller waits for it: it does not wait out the delay of a former failure.
        var isUrgent = false
    }

    /// The part of the app's store to read.
    enum Reading: Hashable {
        case nothing
        case entities(Set<String>)
        case everything

        mutating func add(_ other: Reading) {
            switch (self, other) {
            case (.everything, _), (_, .nothing): break
            case (_, .everything): self = .everything
            case (.nothing, .entities): self = other
            case (.entities(let ids), .entities(let more)):
                let all = ids.union(more)
                self = all.count > ReminderEngineLimits.changed ? .everything : .entities(all)
            }
        }
    }

    private let settings: Settings
    private var phase: Phase = .stopped
    private var reconciler: Reconciler
    private var wanted: Wanted?
    /// The number of reconciliations begun.
    package private(set) var number = 0
    /// How many have failed since one succeeded.
    private var failures = 0
    /// When the next is tried after one that failed.
    private var againAt: Duration?
    private(set) var isAsleep = false
    private var clock = ReminderClock()
    /// For when time in the background was asked for.
    private var refreshAt: WallTime?
    package private(set) var diagnostics = ReminderDiagnostics()

    package init(settings: Settings = Settings()) {
        self.settings = settings
        reconciler = Reconciler(sort: settings.sort)
    }

    /// The number of the reconciliation that will cover everything up to now.
    package var covering: Int {
        wanted == nil ? number : number + 1
    }

    /// Whether no reconciliation is needed.
    package var isSettled: Bool { phase == .ready && !reconciler.isRunning && wanted == nil }

    /// Whether nothing is under way: what failed waits for its retry.
    package var isIdle: Bool {
        switch phase {
        case .resting: true
        case .stopped, .loading: false
        case .ready: !reconciler.isRunning && (wanted == nil || againAt != nil)
        }
    }

    /// When the machine needs ``Event/timerFired``; nil: never.
    package var due: Duration? {
        switch phase {
        case .stopped, .loading: return nil
        case .resting(_, let until): return until
        case .ready:
            let reading = isAsleep ? nil : clock.due(tick: settings.tick)
            return [reading, reconciler.isRunning ? nil : againAt].compactMap { $0 }.min()
        }
    }

    // MARK: Events

    package mutating func take(_ event: Event, at now: Moment) -> [Action] {
        defer { tellState() }
        switch event {
        case .started: return started(at: now)
        case .stopped: return stopped()
        case .storeLoaded: return storeLoaded(at: now)
        case .loadFailed(let why): return loadFailed(why, at: now)
        case .changed(.everything): return want(.change, .everything, at: now)
        case .changed(.entities(let ids)):
            let isTooMany = ids.count > ReminderEngineLimits.changed
            return want(.change, isTooMany ? .everything : .entities(ids), at: now)
        case .asked(let cause, let entity):
            if cause == .refresh { refreshAt = nil }
            return want(cause, Self.reading(cause, entity), at: now)
        case .refreshAsked(let fault):
            diagnostics.refreshFault = fault
            return []
        case .timerFired: return timerFired(at: now)
        case .slept:
            isAsleep = true
            return []
        case .woke:
            isAsleep = false
            return want(.foreground, .everything, at: now)
        case .answered(let reconciliation, let answer):
            guard reconciler.isRunning, reconciliation == number else { return [] }
            return answered(answer, at: now)
        }
    }

    /// What may have changed unnoticed while no observer ran.
    private static func reading(_ cause: ReconciliationCause, _ entity: String?) -> Reading {
        switch cause {
        case .start, .foreground, .refresh, .asked: .everything
        case .tap, .action, .change, .mark, .clock, .zone, .rang, .again:
            entity.map { .entities([$0]) } ?? .nothing
        }
    }

    private mutating func started(at now: Moment) -> [Action] {
        guard phase == .stopped else { return [] }
        phase = .loading(failures: 0, since: now.uptime)
        reconciler.forget()
        wanted = Wanted(cause: .start, reading: .everything)
        clock = ReminderClock()
        (againAt, refreshAt) = (nil, nil)
        failures = 0
        isAsleep = false
        (diagnostics.reconciledAt, diagnostics.permission) = (nil, nil)
        return [.load]
    }

    private mutating func stopped() -> [Action] {
        guard phase != .stopped else { return [] }
        let wasReady = phase == .ready
        phase = .stopped
        reconciler.cancel()
        wanted = nil
        return wasReady ? [.setReady(false)] : []
    }

    private mutating func storeLoaded(at now: Moment) -> [Action] {
        guard case .loading = phase else { return [] }
        phase = .ready
        clock.read(now)
        return [.setReady(true)] + begin(at: now)
    }

    private mutating func loadFailed(_ why: String, at now: Moment) -> [Action] {
        guard case .loading(let before, _) = phase else { return [] }
        let wait = settings.loading.delay(failures: before + 1, jitter: now.jitter)
        phase = .resting(failures: before + 1, until: now.uptime + wait)
        diagnostics.tally.loadFailures += 1
        diagnostics.fault = "The store could not be loaded: \(why)"
        return []
    }

    private mutating func timerFired(at now: Moment) -> [Action] {
        guard let due, due <= now.uptime else { return [] }
        if case .resting(let failures, _) = phase {
            phase = .loading(failures: failures, since: now.uptime)
            return [.load]
        }
        var actions: [Action] = []
        if let againAt, !reconciler.isRunning, againAt <= now.uptime {
            self.againAt = nil
            actions += want(.again, .nothing, at: now)
        }
        if let cause = clock.cause(now) { actions += want(cause, .nothing, at: now) }
        clock.read(now)
        return actions
    }

    /// Requests a reconciliation, now or after the current one.
    private mutating func want(
        _ cause: ReconciliationCause, _ reading: Reading, at now: Moment
    ) -> [Action] {
        guard phase != .stopped else { return [] }
        if wanted == nil { wanted = Wanted(cause: cause, reading: reading) }
        wanted?.reading.add(reading)
        if Self.isUrgent(cause) { wanted?.isUrgent = true }
        guard phase == .ready, !reconciler.isRunning else { return [] }
        // A wait that a fault has set is not shortened by each change.
        if let againAt, againAt > now.uptime, !Self.isUrgent(cause) { return [] }
        return begin(at: now)
    }

    /// Comes from a person or from the system, so it cannot come a hundred times a second.
    private static func isUrgent(_ cause: ReconciliationCause) -> Bool {
        switch cause {
        case .start, .foreground, .refresh, .tap, .action, .mark, .asked, .again: true
        case .change, .clock, .zone, .rang: false
        }
    }

    // MARK: One reconciliation

    private mutating func begin(at now: Moment) -> [Action] {
        guard phase == .ready, !reconciler.isRunning, let wanted else { return [] }
        self.wanted = nil
        againAt = nil
        number += 1
        return reconciler.begin(wanted.cause, wanted.reading).map { .ask(number, $0) }
    }

    private mutating func answered(_ answer: Answer, at now: Moment) -> [Action] {
        switch reconciler.answered(answer, at: now, &clock, &diagnostics) {
        case .ask(let question): return question.map { [.ask(number, $0)] } ?? []
        case .finished(let guaranteedUntil, let mayHaveRung):
            failures = 0
            let over = Action.reconciled(number, isComplete: true)
            let actions = refresh(by: guaranteedUntil, at: now) + [over]
            guard mayHaveRung, wanted == nil else { return actions + begin(at: now) }
            // The system may have shown it after it was asked what stands there.
            wanted = Wanted(cause: .rang, reading: .nothing)
            againAt = now.uptime + settings.reconciling.base
            return actions
        case .failed(let why, let unread): return failed(why, unread, at: now)
        }
    }

    /// Another one follows after a wait, or at once if it was requested meanwhile.
    private mutating func failed(_ why: String, _ unread: Reading, at now: Moment) -> [Action] {
        failures += 1
        diagnostics.tally.failures += 1
        diagnostics.fault = why
        againAt = now.uptime + settings.reconciling.delay(failures: failures, jitter: now.jitter)
        let isAskedFor = wanted?.isUrgent ?? false
        if wanted == nil { wanted = Wanted(cause: .again, reading: .nothing) }
        wanted?.reading.add(unread)
        clock.read(now)
        let over = Action.reconciled(number, isComplete: false)
        return (refreshAt == nil ? refresh(by: now.wall, at: now) : []) + [over]
            + (isAskedFor ? begin(at: now) : [])
    }

    /// Halfway to the end of the guarantee, unless an earlier slot is already requested.
    private mutating func refresh(by end: WallTime?, at now: Moment) -> [Action] {
        guard settings.asksForRefresh, let end else { return [] }
        let half = now.wall.duration(to: end) / 2
        let at = now.wall.advanced(
            by: max(half, .seconds(ReminderEngineLimits.refreshSeconds)))
        if let refreshAt, refreshAt > now.wall, refreshAt <= at { return [] }
        refreshAt = at
        diagnostics.refreshAt = at
        return [.requestRefresh(at)]
    }

    private mutating func tellState() {
        switch phase {
        case .stopped: diagnostics.state = .idle
        case .loading, .resting: diagnostics.state = .loading
        case .ready:
            switch diagnostics.reconciledAt == nil ? nil : diagnostics.permission {
            case nil: diagnostics.state = .reconciling
            case .notDetermined, .denied: diagnostics.state = .notPermitted
            case .provisional: diagnostics.state = .quiet
            case .authorized: diagnostics.state = .ready
            }
        }
    }
}
