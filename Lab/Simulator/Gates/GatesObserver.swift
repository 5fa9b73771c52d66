import RepriseCore
import RepriseJournal

/// Sees what goes in and what comes out of one device's journal, and believes neither the journal
/// nor its counters.
final class GatesObserver {
    enum Answer: Equatable { case none, success, failure(isFinal: Bool) }

    /// What is known of one message.
    private struct Record {
        let message: GatesMessage
        var firstAsked: Duration?
        var acknowledged: Duration?
        var startedBy: GatesApp?
        var answer = Answer.none
        var answered: Duration = .zero
        var attempt = 0
        var failures = 0
        var effects = 0
        /// It had ended when the journal was looked at.
        var hasEnded = false
        /// Its sender never heard that it is recorded, and sends it again when the journal may have
        /// forgotten its id: then it is another.
        var isLate = false

        /// As far as one can see from outside.
        var mayBeOver: Bool {
            effects > 0 || hasEnded || failures >= message.kind.attemptLimit
                || answer == .failure(isFinal: true)
        }
    }

    private let simulation: Simulation
    private let name: String
    private let pendingLimit: Int
    private let retention: Duration
    private var records: [EntryID: Record] = [:]
    /// In the order of the schedule.
    private let ids: [EntryID]
    private var partitionKeys: [String: [EntryID]] = [:]
    private var expired: Int64 = 0
    /// Since when the calendar is known to be doubted.
    private var doubtedSince: Duration?
    private let clock: SimulatedClock
    private var lastError: Duration = .zero
    private var hasRestarted = false
    private var wasTold = false
    /// The calendar was moved: nothing is said about moments.
    private(set) var calendarMoved = false

    init(
        _ simulation: Simulation, name: String, clock: SimulatedClock, messages: [GatesMessage],
        settings: StoreSettings
    ) {
        self.simulation = simulation
        self.clock = clock
        self.name = name
        (pendingLimit, retention) = (settings.pendingLimit, settings.retention)
        ids = messages.map(\.id)
        for message in messages {
            records[message.id] = Record(message: message)
            if let partitionKey = message.partitionKey {
                partitionKeys[partitionKey, default: []].append(message.id)
            }
        }
    }

    var isAllAcknowledged: Bool { ids.allSatisfy { records[$0]?.acknowledged != nil } }

    func isAcknowledged(_ id: EntryID) -> Bool { records[id]?.acknowledged != nil }

    func asked(_ id: EntryID) {
        guard let record = records[id], let first = record.firstAsked else {
            records[id]?.firstAsked = simulation.now
            return
        }
        if record.acknowledged == nil, simulation.now - first > retention {
            records[id]?.isLate = true
        }
    }

    func acknowledged(_ id: EntryID) {
        if records[id]?.acknowledged == nil { records[id]?.acknowledged = simulation.now }
    }

    // MARK: Hand-over

    /// A handler is called.
    func dispatched(_ entry: Entry, by app: GatesApp) {
        guard var record = records[entry.id] else {
            return violated(.recorded, "\(entry.id) was dispatched and never recorded")
        }
        checkGate(record, app)
        // What it took before it lost the journal it may still dispatch: the new owner counts that
        // as interrupted.
        guard !app.isFormer, !record.isLate else { return }
        checkPartition(record, entry, app)
        if record.hasEnded { violated(.once, "\(entry.id) had ended and is dispatched again") }
        if let before = record.startedBy, before === app || !before.isFormer {
            switch record.answer {
            case .none: violated(.once, "\(entry.id) is dispatched while it is in flight")
            case .success: violated(.once, "\(entry.id) is dispatched after it succeeded")
            case .failure(true):
                violated(.acknowledged, "\(entry.id) comes again after its last try")
            case .failure(false): break
            }
        } else if record.startedBy != nil, record.message.kind.onInterruption == .never,
            record.answer == .none || record.answer == .success
        {
            violated(.once, "\(entry.id) may have taken effect and is dispatched again")
        }
        if entry.attempt <= record.attempt {
            violated(.accounted, "\(entry.id) is dispatched twice as attempt \(entry.attempt)")
        }
        record.attempt = entry.attempt
        record.startedBy = app
        record.answer = .none
        records[entry.id] = record
    }

    private func checkGate(_ record: Record, _ app: GatesApp) {
        guard !record.message.kind.requires.isSubset(of: app.ready) else { return }
        if let bound = record.message.kind.bound, bound.then == .deliver {
            let since = simulation.now - (record.firstAsked ?? .zero)
            // The calendar has milliseconds: a bound may come a part of one early.
            guard !calendarMoved, since < bound.after - .milliseconds(1) else { return }
        }
        violated(.released, "\(record.message.id) is dispatched while its gate is closed")
    }

    /// What was acknowledged before this one was recorded at all is before it in its partition key.
    ///
    /// Where several of a partition key may be in flight it is in flight, too, and the entry names
    /// the one before it.
    private func checkPartition(_ record: Record, _ entry: Entry, _ app: GatesApp) {
        guard let partitionKey = record.message.partitionKey, let asked = record.firstAsked else {
            return
        }
        let window = record.message.kind.partitionWindow
        var inFlight = 1
        for id in partitionKeys[partitionKey] ?? [] where id != record.message.id {
            guard let other = records[id], let first = other.acknowledged, first < asked,
                !other.mayBeOver
            else { continue }
            if window > 1, other.startedBy === app, entry.predecessor != nil {
                if other.answer == .none { inFlight += 1 }
                // Its answer may be on its way to the disk.
                if other.answer == .none || simulation.now - other.answered < .seconds(1) {
                    continue
                }
            }
            violated(
                .acknowledged,
                "\(record.message.id) overtakes \(id) in the partition key \(partitionKey)")
        }
        if inFlight > window {
            violated(
                .bounded,
                "\(inFlight) of the partition key \(partitionKey) are in flight, \(window) at most")
        }
    }

    func answered(_ id: EntryID, by app: GatesApp, _ answer: Answer) {
        guard records[id]?.startedBy === app else { return }
        records[id]?.answer = answer
        records[id]?.answered = simulation.now
        if case .failure = answer { records[id]?.failures += 1 }
    }

    /// An effect outside of the journal took place.
    func effect(_ id: EntryID, isIdempotent: Bool, by app: GatesApp) {
        guard let record = records[id] else { return }
        records[id]?.effects += 1
        guard record.effects > 0, !record.isLate else { return }
        if record.message.kind.onInterruption == .never {
            violated(.once, "\(id) took effect twice, and is declared never to")
        }
        // Two owners at the same time are the one case in which an app must refuse the second by
        // the id.
        if isIdempotent, !app.isFormer, !app.overlapped {
            violated(.once, "\(id) took effect twice although the app knew")
        }
    }

    /// A handler in the transaction is called: perhaps in vain.
    func handledInside(_ entry: Entry, by app: GatesApp) {
        guard let record = records[entry.id] else { return }
        checkGate(record, app)
    }

    // MARK: The calendar

    /// The device starts anew: a calendar that moved meanwhile is believed.
    func lostPower() {
        hasRestarted = true
    }

    /// The server's time is written down in the transaction that is being made.
    func serverTimeTold() { wasTold = true }

    /// What the journal must think of the calendar after a commit, as far as one can know from
    /// outside.
    private func watchCalendar() {
        let error = clock.error
        let step = error - lastError
        lastError = error
        if step != .zero { calendarMoved = true }
        if wasTold {
            doubtedSince = nil
        } else if !hasRestarted, step > .seconds(86_500) || step < .seconds(-86_500) {
            doubtedSince = simulation.now
        } else if let since = doubtedSince, simulation.now - since > .seconds(86_000) {
            doubtedSince = nil
        }
        (wasTold, hasRestarted) = (false, false)
    }

    // MARK: The ledger

    /// After every commit.
    func committed(_ ledger: LedgerSum) {
        if !ledger.isBalanced { violated(.accounted, "the ledger is not balanced: \(ledger)") }
        if ledger.pending > pendingLimit {
            violated(.bounded, "\(ledger.pending) entries are pending, \(pendingLimit) the most")
        }
        let now = ledger.outcomes[.expired] ?? 0
        if doubtedSince != nil, !wasTold, now > expired {
            violated(.released, "an entry expired while the calendar is doubted")
        }
        expired = now
        watchCalendar()
    }

    /// Inside of the transaction that refused.
    func refusedAsFull(_ transaction: any DeviceTransaction) {
        guard let pending = try? transaction.ledger().pending, pending < pendingLimit else {
            return
        }
        violated(.bounded, "\(pending) are pending, and the journal says that it is full")
    }

    /// At every opening, and at the end.
    func look(_ transaction: any DeviceTransaction, isEnd: Bool) throws {
        let effects = try transaction.effects()
        let ledger = try transaction.ledger()
        committed(ledger)
        for id in ids {
            guard let record = records[id] else { continue }
            let entry = try transaction.entry(id)
            if entry == nil, record.acknowledged != nil, !record.hasEnded {
                violated(.recorded, "\(id) was acknowledged and is not there")
            }
            guard let entry else { continue }
            if !record.isLate { check(entry, record, inside: effects.count { $0 == id.text }) }
            if case .finished = entry.state { records[id]?.hasEnded = true }
            if isEnd, case .finished = entry.state {
            } else if isEnd {
                violated(.alive, "\(id) has not ended: \(entry.state), \(entry.reason ?? "")")
            }
        }
        guard isEnd else { return }
        let late = records.values.count(where: \.isLate)
        if !(ids.count...ids.count + late).contains(Int(ledger.accepted)) {
            violated(
                .accounted, "\(ids.count) were recorded, the ledger says \(ledger.accepted)")
        }
    }

    private func check(_ entry: Entry, _ record: Record, inside: Int) {
        let effects = inside + record.effects
        switch entry.state {
        case .finished(.applied):
            if effects == 0 { violated(.acknowledged, "\(entry.id) is applied without an effect") }
        case .finished(.expired), .finished(.superseded):
            if effects > 0 { violated(.accounted, "\(entry.id) took effect and counts as expired") }
        case .finished(.dead), .finished(.unconfirmed), .pending, .dispatched:
            if inside > 0 { violated(.once, "\(entry.id) has its effect and has not ended") }
        }
        if inside > 1 { violated(.once, "\(entry.id) took effect \(inside) times inside") }
        if record.hasEnded {
            if case .finished = entry.state { return }
            violated(.recorded, "\(entry.id) had ended and is pending again")
        }
    }

    func violated(_ invariant: Invariant, _ what: @autoclosure () -> String) {
        simulation.violated(invariant, "\(name): \(what())")
    }
}
