import RepriseCore
import RepriseForms
import RepriseJournal
import RepriseWire

/// Sees what is recorded and what appears on one device's screen, and believes neither the journal
/// nor its counters.
final class FormsChecker {
    /// The app has asked that all that belonged to a user or a company ends.
    final class Clearing {
        fileprivate let outcome: Outcome
        fileprivate let covers: Set<EntryID>
        /// What was recorded when it was done: the app may have had to ask again and again.
        fileprivate var ended: Set<EntryID> = []
        fileprivate(set) var isDone = false
        var isWaiting = false

        fileprivate init(_ outcome: Outcome, _ covers: Set<EntryID>) {
            self.outcome = outcome
            self.covers = covers
        }
    }

    private struct Appearance {
        let form: String
        let page: SimulatedPage
    }

    private struct Record {
        let name: String
        var firstAsked: Duration?
        var acknowledged: Duration?
        /// The pages that it was given to; the last one is the newest.
        var pages: [SimulatedPage] = []
        var grants: Set<String> = []
        /// Leave was given in a transaction; whether that was committed a process that dies then
        /// never hears.
        var mayBeGranted = false
        var appearances: [Appearance] = []
        var isDeliveredLate = false
        /// Until when the last page that it was given to has given it back.
        var postponed: Duration?
        var wasPostponed = false
        /// The app's word: these may be shown.
        var allowed: Set<String> = []
        /// The app's word: never.
        var isVetoed = false
        /// It was put off until then, and that is durable.
        var putOff: Duration?
        var isInJournal = false
        /// What the journal said when it was looked at.
        var outcome: Outcome?

        var isNever: Bool { FormsWorld.rules[name]?.onInterruption == .never }
    }

    private struct Grant {
        let showing: String
        let form: String
        let at: Duration
    }

    private let simulation: Simulation
    private let name: String
    private var records: [EntryID: Record] = [:]
    /// In the order in which they became known.
    private var ids: [EntryID] = []
    /// Since the last clearing.
    private var grants: [Grant] = []
    private var clearings: [Clearing] = []
    /// When a log-out was done last.
    private var clearedAt: Duration?
    /// What the person's plan may be (empty: none), and how many changes are under way.
    private var plans: Set<String> = [""]
    private var plansAsked = 0
    /// Actions of forms by their ids: whether the page was told that they are recorded.
    private var actions: [String: Bool] = [:]
    private var effects: [EntryID: Int] = [:]
    /// Reads the journal as it is committed.
    var journal: () -> SimulatedJournal? = { nil }

    init(_ simulation: Simulation, name: String, messages: [FormsMessage]) {
        self.simulation = simulation
        self.name = name
        ids = messages.map(\.id)
        for message in messages { records[message.id] = Record(name: message.name) }
    }

    var truth: Duration { simulation.now }

    func isAcknowledged(_ id: EntryID) -> Bool { records[id]?.acknowledged != nil }

    func asked(_ id: EntryID) {
        if records[id]?.firstAsked == nil { records[id]?.firstAsked = truth }
    }

    func acknowledged(_ id: EntryID) {
        if records[id]?.acknowledged == nil { records[id]?.acknowledged = truth }
    }

    // MARK: Hand-over

    /// The journal lets go of events: all that they require must be there.
    func dispatched(_ entries: [Entry], page: SimulatedPage?, at wall: WallTime) {
        guard page?.hasSaidHello != true || page?.hasCatalogue != true else { return }
        for entry in entries {
            let rules = records[entry.id].flatMap { FormsWorld.rules[$0.name] }
            if let rules, rules.then == .deliver, let life = rules.timeToLive,
                entry.recordedAt.advanced(by: life) <= wall
            {
                continue
            }
            violated(.released, "\(entry.id) leaves the journal, and no page has a catalogue")
        }
    }

    /// The page hears of an event.
    func given(_ id: EntryID, to page: SimulatedPage, isReady: Bool) {
        if records[id] == nil { learn(id, name: "checkout") }
        guard var record = records[id] else { return }
        if !isReady { violated(.released, "\(id) is given to a page that has no catalogue") }
        if record.pages.last === page {
            guard let until = record.postponed else {
                return violated(.once, "\(id) is given to one page twice")
            }
            // The page's clock is behind the host's by as long as messages are on their way.
            if truth < until - .seconds(1) {
                violated(.released, "\(id) is given to the page again before its time")
            }
        } else if !record.wasPostponed {
            checkOrder(id, record, page)
        }
        record.postponed = nil
        if record.isNever, let before = record.pages.last, before !== page,
            !record.grants.isEmpty, !record.appearances.isEmpty
        {
            violated(.once, "\(id) has appeared, and is given to another page")
        }
        record.pages.append(page)
        records[id] = record
    }

    /// The page has no use for an event yet; who comes after it need not wait.
    func postponed(_ id: EntryID, by wait: Duration, on page: SimulatedPage) {
        guard records[id]?.pages.last === page else { return }
        records[id]?.postponed = truth + wait
        records[id]?.wasPostponed = true
    }

    /// What was acknowledged before another was recorded at all comes before it.
    private func checkOrder(_ id: EntryID, _ record: Record, _ page: SimulatedPage) {
        guard let acknowledged = record.acknowledged else { return }
        for other in ids where other != id {
            guard let later = records[other], later.pages.last === page,
                let asked = later.firstAsked, acknowledged < asked
            else { continue }
            violated(.order, "\(other) is given to the page before \(id), which was there first")
        }
    }

    // MARK: The app's word

    /// The app has answered in time.
    func decided(_ event: EntryID, _ form: String, _ decision: FormsDecision) {
        switch decision {
        case .show: records[event]?.allowed.insert(form)
        case .later: records[event]?.allowed.remove(form)
        case .no: records[event]?.isVetoed = true
        }
    }

    /// It comes again at this moment, whatever happens meanwhile.
    func putOff(_ event: EntryID, until moment: Duration) { records[event]?.putOff = moment }

    /// A form is granted: the app has said so, for this event.
    func checkWord(_ event: EntryID, _ form: String) {
        guard let record = records[event], !record.allowed.contains(form) else { return }
        violated(.released, "the form \(form) is granted for \(event) without the app's word")
    }

    // MARK: Showings

    /// Leave to show is being written.
    func isGranting(_ event: EntryID) { records[event]?.mayBeGranted = true }

    /// Leave to show is durable.
    func granted(
        _ showing: String, _ event: EntryID, _ form: String, _ catalogue: FormsCatalogue,
        at moment: Duration
    ) {
        records[event]?.grants.insert(showing)
        grants.removeAll { $0.showing == showing }
        func check(_ cap: FormsCatalogue.Frequency, _ what: String, _ found: [Grant]) {
            // The calendar of the journal has milliseconds.
            let since = moment - .seconds(cap.seconds) + .milliseconds(2)
            let count = found.count { $0.at > since }
            guard count >= cap.most else { return }
            violated(.bounded, "\(what) is granted for the \(count + 1). time, \(cap.most) at most")
        }
        if let cap = catalogue.form(form)?.frequency {
            check(cap, form, grants.filter { $0.form == form })
        }
        if let overall = catalogue.frequency { check(overall, "a form", grants) }
        grants.append(Grant(showing: showing, form: form, at: moment))
    }

    /// A person sees it.
    func appeared(_ id: EntryID, _ form: String, _ showing: String, on page: SimulatedPage) {
        simulation.trace(name, "the form \(form) of \(id) appears")
        guard let record = records[id] else {
            return violated(.recorded, "\(id) appears and was never recorded")
        }
        if record.appearances.contains(where: { $0.page === page }) {
            violated(.once, "\(id) appears twice on one page")
        }
        if record.isNever, !record.appearances.isEmpty {
            violated(.once, "\(id) appears again, and is declared never to")
        }
        for clearing in clearings where clearing.isDone && clearing.covers.contains(id) {
            violated(.access, "\(id) of the former user or company appears")
        }
        if let until = record.putOff, truth < until - .seconds(1) {
            violated(.released, "\(id) appears before the time that it was put off to")
        }
        checkDurable(id, showing)
        records[id]?.appearances.append(Appearance(form: form, page: page))
    }

    private func checkDurable(_ id: EntryID, _ showing: String) {
        // What is being cleared at this moment may be gone from the journal and not yet from the
        // screen.
        let isCleared = clearings.contains { !$0.isDone || $0.ended.contains(id) }
        guard let journal = journal(), !isCleared else { return }
        do {
            try journal.read { transaction in
                if try !transaction.showings().contains(where: { $0.id == showing }) {
                    violated(.durable, "\(id) appears, and its showing is not written down")
                }
                if let state = try transaction.entry(id)?.state, case .finished(let outcome) = state
                {
                    violated(.acknowledged, "\(id) had ended as \(outcome), and appears")
                }
            }
        } catch {
            violated(.recorded, "the journal cannot be read: \(error)")
        }
    }

    func deliveredLate(_ id: EntryID) { records[id]?.isDeliveredLate = true }

    // MARK: Clearings

    /// The app asks for it; what is told to be recorded before belongs to the former one.
    func clearing(as outcome: Outcome) -> Clearing {
        let clearing = Clearing(outcome, Set(ids.filter { isAcknowledged($0) }))
        clearings.append(clearing)
        if outcome == .dead { planAsked("") }
        return clearing
    }

    func cleared(_ clearing: Clearing) {
        if clearing.outcome == .dead, !clearing.isDone {
            planSet("")
            clearedAt = truth
        }
        clearing.isDone = true
        clearing.ended = Set(ids.filter { isAcknowledged($0) })
        grants = []
    }

    private func mayBeCleared(_ outcome: Outcome) -> Bool {
        clearings.contains { $0.outcome == outcome }
    }

    // MARK: Conditions

    func planAsked(_ plan: String) {
        plans.insert(plan)
        plansAsked += 1
    }

    /// It is durable.
    func planSet(_ plan: String) {
        plansAsked -= 1
        if plansAsked == 0 { plans = [plan] }
    }

    /// How often an event was recorded, at least and at most.
    private func recorded(_ event: String) -> (least: Int64, most: Int64) {
        let isClearing = clearings.contains { $0.outcome == .dead && !$0.isDone }
        var (least, most): (Int64, Int64) = (0, 0)
        for id in ids {
            guard let record = records[id], record.name == event, let asked = record.firstAsked
            else { continue }
            most += 1
            // What was asked for before a log-out belongs to the former user, perhaps.
            let isOld = clearedAt.map { asked <= $0 } ?? false
            if record.acknowledged != nil, !isOld, !isClearing { least += 1 }
        }
        return (least, most)
    }

    /// A form is granted in this transaction.
    func checkConditions(_ event: EntryID, _ form: String, _ version: String, at wall: WallTime) {
        guard let conditions = SimulatedCatalogue.all[version]?.form(form)?.conditions else {
            return
        }
        if let plan = conditions.plan, !plans.contains(plan) {
            violated(
                .access, "\(form) is for \(plan), and granted for \(event) to \(plans.sorted())")
        }
        if let past = conditions.past {
            let found = recorded(past.event)
            if found.most < past.atLeast || found.least > past.atMost {
                violated(.released, "\(form) is granted after \(found) of \(past.event)")
            }
        }
        if conditions.quietEnd(at: wall) != nil {
            violated(.released, "\(form) is granted for \(event) in its quiet time")
        }
    }

    // MARK: Actions

    func actionAsked(_ id: String) {
        actions[id] = actions[id] ?? false
        learn(EntryID(unchecked: "forms-" + id), name: "checkout")
    }

    func actionRecorded(_ id: String) {
        actions[id] = true
        acknowledged(EntryID(unchecked: "forms-" + id))
    }

    func actionTookEffect(_ id: EntryID) { effects[id, default: 0] += 1 }

    private func learn(_ id: EntryID, name: String) {
        guard records[id] == nil else { return }
        records[id] = Record(name: name)
        ids.append(id)
        asked(id)
    }

    // MARK: The journal

    /// At every opening, now and then, and at the end.
    func look(_ transaction: any DeviceTransaction, isEnd: Bool) throws {
        let ledger = try transaction.ledger()
        if !ledger.isBalanced { violated(.accounted, "the ledger is not balanced: \(ledger)") }
        for id in ids {
            guard let record = records[id] else { continue }
            guard let entry = try transaction.entry(id) else {
                // What has ended is removed after its retention.
                if record.acknowledged != nil, record.outcome == nil {
                    violated(.recorded, "\(id) was acknowledged and is not there")
                }
                continue
            }
            records[id]?.isInJournal = true
            switch entry.state {
            case .finished(let outcome):
                if let before = record.outcome, before != outcome {
                    violated(.accounted, "\(id) had ended as \(before), and now as \(outcome)")
                }
                records[id]?.outcome = outcome
                check(entry, outcome, record)
            case .pending, .dispatched:
                if record.outcome != nil { violated(.recorded, "\(id) had ended and is pending") }
                if isEnd {
                    violated(
                        .alive,
                        "\(id) (\(record.name)) has not ended: \(entry.state), "
                            + "\(entry.reason ?? "")")
                }
            }
        }
        guard isEnd else { return }
        let known = ids.count { records[$0]?.isInJournal == true }
        if ledger.accepted != Int64(known) {
            violated(.accounted, "\(known) were recorded, the ledger says \(ledger.accepted)")
        }
    }

    /// Whether what the journal says of an event is what was seen.
    private func check(_ entry: Entry, _ outcome: Outcome, _ record: Record) {
        guard entry.kind.hasPrefix(FormsEvent.family + ".") || entry.kind == FormsEvent.family
        else {
            if outcome == .applied, effects[entry.id] == nil {
                violated(.acknowledged, "\(entry.id) is applied without an effect")
            }
            return
        }
        let reason = entry.reason ?? ""
        switch outcome {
        case .applied: checkApplied(entry.id, reason, record)
        case .expired:
            if FormsWorld.rules[record.name]?.timeToLive == nil {
                violated(.accounted, "\(entry.id) has expired, and may wait for ever")
            }
            if !record.appearances.isEmpty {
                violated(.accounted, "\(entry.id) has expired, and its form was seen")
            }
        case .unconfirmed:
            if !record.mayBeGranted {
                violated(.accounted, "\(entry.id) is unconfirmed, and no form was granted")
            }
        case .dead:
            if !mayBeCleared(.dead), !reason.hasPrefix("The page ended") {
                violated(.accounted, "\(entry.id) is dead: \(reason)")
            }
        case .superseded:
            if !mayBeCleared(.superseded) {
                violated(.accounted, "\(entry.id) is superseded, and the company is the same")
            }
        }
    }

    private func checkApplied(_ id: EntryID, _ reason: String, _ record: Record) {
        if reason.hasPrefix("shown ") {
            if !record.appearances.map(\.form).contains(String(reason.dropFirst(6))) {
                violated(.acknowledged, "\(id) is \(reason), and nobody saw it")
            }
            return
        }
        if reason == "delivered late" {
            if !record.isDeliveredLate {
                violated(.acknowledged, "\(id) is delivered late, and nobody got it")
            }
            return
        }
        if reason.hasPrefix("vetoed") {
            if !record.isVetoed {
                violated(.accounted, "\(id) is \(reason), and the app did not say so")
            }
        } else if !reason.hasPrefix("noMatch"), !reason.hasPrefix("suppressed") {
            violated(.accounted, "\(id) is applied for no reason: \(reason)")
        }
        // Seen on a page that died before it could say so, and on the next nothing matched any
        // more.
        if let last = record.appearances.last, last.page === record.pages.last {
            violated(.accounted, "\(id) is \(reason), and its form was seen")
        }
    }

    func violated(_ invariant: Invariant, _ what: @autoclosure () -> String) {
        simulation.violated(invariant, "\(name): \(what())")
    }
}
