package import RepriseCore
package import RepriseJournal

/// The journal's rules on the model.
extension ModelTransaction: EntryTransaction {
    package var now: WallTime { writerState.now }

    // MARK: Begin and end

    /// The first thing in every transaction: refuses a former owner, and reads the clocks.
    func begin() throws {
        guard state.entries.incarnation == rules.incarnation || rules.mutation == .ignoreIncarnation
        else {
            throw RepriseError(.ownershipLost, "Another process has taken this journal over.")
        }
        writerState.beginTransaction()
        observeClocks()
    }

    /// The last thing in every transaction.
    func finish() {
        guard rules.mutation != .acceptedApart else { return }
        addCounters(accepted: writerState.accepted, duplicates: writerState.duplicates)
    }

    func addCounters(accepted: Int64, duplicates: Int64) {
        // Nothing to add: the table is not copied for it.
        guard accepted != 0 || duplicates != 0 else { return }
        state.entries.accepted += accepted
        state.entries.duplicates += duplicates
    }

    func becomeOwner() throws {
        state.entries.incarnation += 1
        rules.incarnation = state.entries.incarnation
        try begin()
        writeClockReading()
        if rules.mutation != .forgetInterrupted { backToPending() }
        forgiveForms()
        finish()
    }

    // MARK: Clocks

    private func observeClocks() {
        let clockReading = rules.clock.clockReading()
        let step = writerState.clock.correction(to: clockReading)
        let hidden = writerState.clock.hiddenStep(to: clockReading).milliseconds
        let before = writerState.clock.mayExpire
        writerState.clock.observe(clockReading)
        writerState.now = clockReading.wall
        let jumped = step > .seconds(60) || step < .seconds(-60)
        if jumped {
            let moved = step.milliseconds
            for index in state.entries.rows.indices {
                if let due = state.entries.rows[index].due {
                    state.entries.rows[index].due = due + moved
                }
                if let bound = state.entries.rows[index].bound {
                    state.entries.rows[index].bound = bound + moved
                }
                if state.entries.rows[index].state.outcome == nil {
                    state.entries.rows[index].moved += moved
                }
            }
            state.channels.calendarMoved(by: moved)
            state.forms.calendarMoved(by: moved)
            state.reminders.calendarMoved(by: moved)
            writerState.due(writerState.now)
            writerState.moved += step
        }
        let isOld = clockReading.uptime - writerState.sighted > .seconds(3_600)
        if hidden > 0 {
            for index in state.entries.rows.indices where state.entries.rows[index].state.hasEnded {
                state.entries.rows[index].due = state.entries.rows[index].due.map { $0 + hidden }
            }
        }
        if jumped || hidden > 0 || isOld || writerState.clock.mayExpire != before {
            writeClockReading()
        }
    }

    private func writeClockReading() {
        writerState.sighted = writerState.clock.last.uptime
        state.entries.clockReading = ClockReading(
            wall: writerState.clock.last.wall,
            uptime: .milliseconds(writerState.clock.last.uptime.milliseconds),
            boot: writerState.clock.last.boot)
        state.entries.doubt = writerState.clock.doubt.map { .milliseconds($0.milliseconds) }
    }

    package func serverTimeReceived(_ time: WallTime) {
        writerState.clock.serverTimeReceived(time, now: rules.clock.clockReading())
        writerState.due(writerState.now)
        writeClockReading()
    }

    var mayExpire: Bool { writerState.clock.mayExpire || rules.mutation == .expireInDoubt }

    // MARK: Recording

    package func record(_ new: NewEntry) throws -> Recorded {
        guard let kind = rules.families.kind(new.kind) else {
            throw RepriseError(.unknownKind, "No kind named \(new.kind) was declared.")
        }
        var new = new
        new.kind = kind.name
        if state.entries.index(of: new.id) != nil {
            writerState.duplicates += 1
            return .duplicate
        }
        guard writerState.pending < rules.pendingLimit else {
            throw RepriseError(.full, "The journal holds too many entries that have not ended.")
        }
        let due = new.delay.flatMap { $0 > .zero ? later($0) : nil }
        let bound = kind.bound.map { later($0.after) }
        let isBehind = new.partitionKey != nil && !unended(of: new.partitionKey).isEmpty
        let first: EntryModel.State = isBehind ? .queued : due == nil ? .ready : .delayed
        state.entries.rows.append(
            EntryModel.Row(
                seq: (state.entries.rows.last?.seq ?? 0) + 1,
                content: EntryModel.Content(new, recordedAt: now), state: first, due: due,
                bound: bound))
        writerState.accepted += 1
        writerState.pending += 1
        writerState.recorded[new.kind] = state.entries.rows.last?.seq
        if first == .ready { writerState.kinds.insert(new.kind) }
        if let due { writerState.due(WallTime(milliseconds: due)) }
        if let bound { writerState.due(WallTime(milliseconds: bound)) }
        advance(new.partitionKey)
        countEvent(new)
        return .accepted
    }

    /// Milliseconds, with the wait cut to what the journal keeps.
    func later(_ wait: Duration) -> Int64 {
        now.advanced(by: min(wait, .seconds(JournalLimits.longestWaitDays * 86_400))).milliseconds
    }

    // MARK: Ending

    func end(_ index: Int, as outcome: Outcome, reason: String? = nil) {
        guard !state.entries.rows[index].state.hasEnded else { return }
        let due = later(rules.retention)
        state.entries.rows[index].state = EntryModel.State(outcome)
        state.entries.rows[index].due = due
        state.entries.rows[index].reason = reason
        state.entries.rows[index].bound = nil
        state.entries.rows[index].incarnation = nil
        state.entries.rows[index].interrupted = false
        state.entries.rows[index].released = false
        writerState.pending -= 1
        advance(state.entries.rows[index].partitionKey)
    }

    private func unended(of partitionKey: String?) -> [Int] {
        let rows = state.entries.rows
        return rows.indices.filter {
            !rows[$0].state.hasEnded && rows[$0].partitionKey == partitionKey
        }
    }

    /// Makes the first of a partition key that have not ended ready, as many as may be in flight
    /// together.
    func advance(_ partitionKey: String?) {
        guard let partitionKey else { return }
        let lined = unended(of: partitionKey)
        guard let first = lined.first else { return }
        let kind = state.entries.rows[first].kind
        for index in lined.prefix(rules.kinds[kind]?.partitionWindow ?? 1) {
            guard state.entries.rows[index].kind == kind else { return }
            if state.entries.rows[index].state == .queued {
                if let due = state.entries.rows[index].due {
                    state.entries.rows[index].state = .delayed
                    writerState.due(WallTime(milliseconds: due))
                } else {
                    state.entries.rows[index].state = .ready
                    writerState.kinds.insert(kind)
                }
            }
            // One that waits for its time holds up those behind it.
            if state.entries.rows[index].state == .delayed { return }
        }
    }

    /// The one before an entry in its partition key that has not ended.
    func predecessor(of index: Int) -> EntryModel.Row? {
        let rows = state.entries.rows
        guard let partitionKey = rows[index].partitionKey else { return nil }
        return rows[..<index].last { !$0.state.hasEnded && $0.partitionKey == partitionKey }
    }

    func putBack(_ index: Int, after wait: Duration, failed: Bool, reason: String?) {
        let due = later(wait)
        writerState.due(WallTime(milliseconds: due))
        guard [.ready, .inFlight].contains(state.entries.rows[index].state) else { return }
        state.entries.rows[index].state = .delayed
        state.entries.rows[index].due = due
        state.entries.rows[index].failures += failed ? 1 : 0
        state.entries.rows[index].reason = reason
        state.entries.rows[index].incarnation = nil
        state.entries.rows[index].interrupted = false
        for behind in unended(of: state.entries.rows[index].partitionKey)
        where behind > index && state.entries.rows[index].partitionKey != nil
            && state.entries.rows[behind].state == .ready
        {
            state.entries.rows[behind].state = .queued
        }
    }

    /// Puts an entry back that can be taken again as soon as it is its turn.
    func putBackAtOnce(_ index: Int, reason: String? = nil) {
        guard state.entries.rows[index].state == .inFlight else { return }
        state.entries.rows[index].state =
            state.entries.rows[index].partitionKey == nil ? .ready : .queued
        state.entries.rows[index].incarnation = nil
        if let reason { state.entries.rows[index].reason = reason }
    }

    static let interruption = "The process ended while it was being handled."

    package func endInterrupted(kind: String) {
        for index in state.entries.rows.indices {
            let row = state.entries.rows[index]
            guard row.interrupted, row.kind == kind, row.state.waits else { continue }
            end(index, as: .unconfirmed, reason: Self.interruption)
        }
    }

    package func putBackInterrupted() {
        backToPending()
        writeClockReading()
    }

    private func backToPending() {
        for index in state.entries.rows.indices
        where state.entries.rows[index].state == .inFlight
            && state.entries.rows[index].interruptions >= JournalLimits.interruptions - 1
        {
            end(
                index, as: .dead,
                reason: "The process ended \(JournalLimits.interruptions) times while handling it.")
        }
        for index in state.entries.rows.indices where state.entries.rows[index].state == .inFlight {
            putBackAtOnce(index)
            state.entries.rows[index].interrupted = true
            state.entries.rows[index].interruptions += 1
        }
        for partitionKey in Set(state.entries.rows.compactMap(\.partitionKey)).sorted() {
            advance(partitionKey)
        }
    }

    package func end(_ id: EntryID, as outcome: Outcome, reason: String?) -> Bool {
        guard let index = state.entries.index(of: id), state.entries.rows[index].state.waits
        else { return false }
        end(index, as: outcome, reason: reason)
        return true
    }

    package func endAll(of kinds: [String], as outcome: Outcome, reason: String) {
        for index in state.entries.rows.indices
        where kinds.contains(rules.families.leader(of: state.entries.rows[index].kind)) {
            end(index, as: outcome, reason: reason)
        }
    }

    package func retry(_ id: EntryID) throws {
        guard let index = state.entries.index(of: id), state.entries.rows[index].state == .dead
        else { throw RepriseError(.noSuchEntry, "No dead letter has the id \(id).") }
        let partitionKey = state.entries.rows[index].partitionKey
        state.entries.rows[index].state = partitionKey == nil ? .ready : .queued
        state.entries.rows[index].due = nil
        state.entries.rows[index].failures = 0
        state.entries.rows[index].interruptions = 0
        state.entries.rows[index].interrupted = false
        state.entries.rows[index].reason = nil
        writerState.pending += 1
        writerState.kinds.insert(state.entries.rows[index].kind)
        advance(partitionKey)
    }

    package func entry(_ id: EntryID) -> Entry? {
        state.entries.index(of: id).map { state.entries.entry(state.entries.rows[$0]) }
    }

    package func ledger() -> LedgerSum {
        var sum = state.entries.ledger
        sum.add(state.channels.ledger())
        return sum
    }
}
