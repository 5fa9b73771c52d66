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

    let settings: Settings
    var phase: Phase = .stopped
    var plan: ReconciliationPlan
    var wanted: Wanted?
    var work: Work?
    /// The number of reconciliations begun.
    package internal(set) var number = 0
    /// How many have failed since one succeeded.
    var failures = 0
    /// When the next is tried after one that failed.
    var againAt: Duration?
    var isAsleep = false
    /// The last clock readings.
    var clockReading: (uptime: Duration, wall: WallTime, zone: String)?
    /// When the next reminder rings, by both clocks.
    var rings: (wall: WallTime, due: Duration)?
    /// For when time in the background was asked for.
    var refreshAt: WallTime?
    /// The record written last.
    var written: ReconciliationRecord?
    /// Requests that the system refused, with the reason, so that each refusal is recorded once.
    var refusals: [String: String] = [:]
    /// Invalid reminders already reported, with the reason.
    var told: [String: String] = [:]
    package internal(set) var diagnostics = ReminderDiagnostics()

    package init(settings: Settings = Settings()) {
        self.settings = settings
        plan = ReconciliationPlan(sort: settings.sort)
    }

    /// The number of the reconciliation that will cover everything up to now.
    package var covering: Int {
        wanted == nil ? number : number + 1
    }

    /// Whether no reconciliation is needed.
    package var isSettled: Bool { phase == .ready && work == nil && wanted == nil }

    /// Whether nothing is under way: what failed waits for its retry.
    package var isIdle: Bool {
        switch phase {
        case .resting: true
        case .stopped, .loading: false
        case .ready: work == nil && (wanted == nil || againAt != nil)
        }
    }

    /// When the machine needs ``Event/timerFired``; nil: never.
    package var due: Duration? {
        switch phase {
        case .stopped, .loading: return nil
        case .resting(_, let until): return until
        case .ready:
            let tick = isAsleep ? nil : clockReading.map { $0.uptime + settings.tick }
            let ring = isAsleep ? nil : rings?.due
            return [tick, ring, work == nil ? againAt : nil].compactMap { $0 }.min()
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
            guard let work, work.number == reconciliation else { return [] }
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
        plan = ReconciliationPlan(sort: settings.sort)
        wanted = Wanted(cause: .start, reading: .everything)
        clockReading = nil
        (againAt, rings, refreshAt, written) = (nil, nil, nil, nil)
        failures = 0
        isAsleep = false
        (diagnostics.reconciledAt, diagnostics.permission) = (nil, nil)
        return [.load]
    }

    private mutating func stopped() -> [Action] {
        guard phase != .stopped else { return [] }
        let wasReady = phase == .ready
        phase = .stopped
        (work, wanted) = (nil, nil)
        return wasReady ? [.setReady(false)] : []
    }

    private mutating func storeLoaded(at now: Moment) -> [Action] {
        guard case .loading = phase else { return [] }
        phase = .ready
        see(now)
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
        if let againAt, work == nil, againAt <= now.uptime {
            self.againAt = nil
            actions += want(.again, .nothing, at: now)
        }
        if let cause = clockCause(now) { actions += want(cause, .nothing, at: now) }
        see(now)
        return actions
    }

    /// The relevant change of the clocks since the last reading.
    private func clockCause(_ now: Moment) -> ReconciliationCause? {
        guard let clockReading else { return nil }
        if clockReading.zone != now.zone.identifier { return .zone }
        let expected = clockReading.wall.advanced(by: now.uptime - clockReading.uptime)
        let step = expected.duration(to: now.wall)
        if step > .seconds(2) || step < .seconds(-2) { return .clock }
        if let rings, rings.wall <= now.wall { return .rang }
        return nil
    }

    mutating func see(_ now: Moment) {
        clockReading = (now.uptime, now.wall, now.zone.identifier)
        if let ring = rings?.wall, ring <= now.wall { rings = nil }
    }

    /// Requests a reconciliation, now or after the current one.
    mutating func want(_ cause: ReconciliationCause, _ reading: Reading, at now: Moment) -> [Action]
    {
        guard phase != .stopped else { return [] }
        if wanted == nil { wanted = Wanted(cause: cause, reading: reading) }
        wanted?.reading.add(reading)
        if Self.isUrgent(cause) { wanted?.isUrgent = true }
        guard phase == .ready, work == nil else { return [] }
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
