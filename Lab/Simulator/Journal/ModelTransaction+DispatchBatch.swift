import RepriseCore
import RepriseJournal

/// A turn of the hand-over on the model.
extension ModelTransaction {
    /// The most rows of each sort that one look touches, as the journal has it.
    private static let page = 500

    package func perform(_ work: SimulatedBatch) throws -> SimulatedBatch.Outcome {
        var outcome = SimulatedBatch.Outcome()
        for acknowledgement in work.turn.acknowledgements {
            try work.alongside[acknowledgement.seq]?(self)
            settle(acknowledgement)
        }
        for acknowledgement in work.turn.acknowledgements { requeueInPartition(acknowledgement) }
        for partitionKey in Set(work.turn.acknowledgements.compactMap(\.partitionKey)).sorted() {
            advance(partitionKey)
        }
        if work.turn.looksAtDue { lookAtDue(&outcome.result) }
        for take in work.turn.takes {
            guard let kind = rules.kinds[take.kind] else { continue }
            guard take.onlyReleased || work.gate.isOpen(kind: kind.name) else {
                outcome.result.more.insert(kind.name)
                continue
            }
            switch take.work {
            case .effect: self.take(take, kind, work, &outcome)
            case .transaction: handle(take, kind, work, &outcome)
            }
        }
        return outcome
    }

    private func settle(_ acknowledgement: Acknowledgement) {
        guard let index = state.entries.index(of: acknowledgement.seq) else { return }
        switch acknowledgement.disposition {
        case .applied:
            end(index, as: .applied)
        case .appliedBefore:
            state.entries.rows[index].attempt -= 1
            end(index, as: .applied)
        case .notStarted:
            state.entries.rows[index].attempt -= 1
            putBackAtOnce(index)
        case .dead(let reason):
            end(index, as: .dead, reason: reason)
        case .retry(let wait, let counts, let reason):
            putBack(index, after: wait, failed: counts, reason: reason)
        case .ended(let outcome, let reason):
            end(index, as: outcome, reason: reason)
        case .back(let reason, let isInDoubt):
            putBackAtOnce(index, reason: reason)
            guard isInDoubt, state.entries.rows[index].state.waits else { break }
            state.entries.rows[index].interrupted = true
            state.entries.rows[index].interruptions += 1
        case .requeueInOrder: break
        }
    }

    /// Once all is settled that is to be settled: only then it is known which of those before it
    /// are in flight still.
    private func requeueInPartition(_ acknowledgement: Acknowledgement) {
        guard case .requeueInOrder(let wait, let reason) = acknowledgement.disposition,
            let index = state.entries.index(of: acknowledgement.seq)
        else { return }
        if acknowledgement.partitionKey == nil || predecessor(of: index)?.state == .inFlight {
            return putBack(index, after: wait, failed: false, reason: reason)
        }
        putBackAtOnce(index, reason: reason)
    }

    // MARK: What is due

    private func lookAtDue(_ result: inout DispatchBatchResult) {
        if wake() == Self.page { result.isMoreDue = true }
        if mayExpire {
            for name in rules.names where reachBound(name) == Self.page { result.isMoreDue = true }
            if removeFinished() == Self.page { result.isMoreDue = true }
            pruneForms()
            pruneReminders()
        }
        result.soonest = soonest.map {
            rules.clock.uptime() + max(now.duration(to: WallTime(milliseconds: $0)), .zero)
        }
    }

    /// Rows in the order of a moment they have, the first recorded first among equals.
    private func due(
        _ moment: (EntryModel.Row) -> Int64?, where condition: (EntryModel.Row) -> Bool
    ) -> [Int64] {
        var found: [(Int64, Int64)] = []
        for row in state.entries.rows where condition(row) {
            if let at = moment(row), at <= now.milliseconds { found.append((at, row.seq)) }
        }
        found.sort { $0 < $1 }
        return found.prefix(Self.page).map(\.1)
    }

    private func wake() -> Int {
        let seqs = due({ $0.due }, where: { $0.state == .delayed })
        var partitionKeys: Set<String> = []
        for seq in seqs {
            guard let index = state.entries.index(of: seq) else { continue }
            let partitionKey = state.entries.rows[index].partitionKey
            state.entries.rows[index].state = partitionKey == nil ? .ready : .queued
            state.entries.rows[index].due = nil
            if let partitionKey {
                partitionKeys.insert(partitionKey)
            } else {
                writerState.kinds.insert(state.entries.rows[index].kind)
            }
        }
        // One before it may wait for longer.
        for partitionKey in partitionKeys.sorted() { advance(partitionKey) }
        return seqs.count
    }

    private func reachBound(_ name: String) -> Int {
        guard let bound = rules.kinds[name]?.bound else { return 0 }
        let seqs = due({ $0.bound }, where: { $0.kind == name && $0.state.waits })
        for seq in seqs {
            guard let index = state.entries.index(of: seq) else { continue }
            switch bound.then {
            case .expire:
                let isUnknown = state.entries.rows[index].interruptions > 0
                end(
                    index, as: isUnknown ? .unconfirmed : .expired,
                    reason: "Its time was up before its gate opened.")
            case .deliver:
                state.entries.rows[index].released = true
                state.entries.rows[index].bound = nil
                writerState.kinds.insert(name)
            }
        }
        return seqs.count
    }

    private func removeFinished() -> Int {
        let seqs = due({ $0.due }, where: { $0.state.hasEnded })
        for seq in seqs {
            guard let index = state.entries.index(of: seq),
                let outcome = state.entries.rows[index].state.outcome,
                let place = Outcome.allCases.firstIndex(of: outcome)
            else { continue }
            state.entries.retired[place] += 1
            state.entries.rows.remove(at: index)
        }
        return seqs.count
    }

    private var soonest: Int64? {
        var soonest: Int64?
        for row in state.entries.rows {
            if row.state == .delayed, let due = row.due { soonest = min(soonest ?? due, due) }
            if mayExpire, row.state.waits, let bound = row.bound,
                rules.kinds[row.kind]?.bound != nil
            {
                soonest = min(soonest ?? bound, bound)
            }
        }
        return soonest
    }

    // MARK: Taking

    private func ready(_ take: DispatchBatch.Take, limit: Int) -> [Int64] {
        var found: [Int64] = []
        for row in state.entries.rows
        where row.state == .ready && rules.families.leader(of: row.kind) == take.kind {
            guard found.count < limit else { break }
            if !take.onlyReleased || row.released { found.append(row.seq) }
        }
        return found
    }

    private func take(
        _ take: DispatchBatch.Take, _ kind: EntryKind, _ work: SimulatedBatch,
        _ outcome: inout SimulatedBatch.Outcome
    ) {
        let page = ready(take, limit: take.limit)
        if page.count == take.limit { outcome.result.more.insert(take.kind) }
        for seq in page {
            guard let index = admit(seq, kind, work) else { continue }
            state.entries.rows[index].state = .inFlight
            state.entries.rows[index].incarnation = rules.incarnation
            state.entries.rows[index].attempt += 1
            state.entries.rows[index].due = nil
            let row = state.entries.rows[index]
            let before = kind.partitionWindow > 1 ? predecessor(of: index)?.content.new.id : nil
            outcome.taken.append(
                SimulatedBatch.Taken(
                    seq: seq, entry: state.entries.entry(row, after: before),
                    failures: row.failures,
                    isReleased: row.released))
            outcome.result.taken[take.kind, default: 0] += 1
            if rules.mutation == .endBeforeHandler { end(index, as: .applied) }
        }
    }

    private func handle(
        _ take: DispatchBatch.Take, _ kind: EntryKind, _ work: SimulatedBatch,
        _ outcome: inout SimulatedBatch.Outcome
    ) {
        guard let body = work.transactions[kind.name] else { return }
        var handled = 0
        var failed: Set<String> = []
        while handled < take.limit {
            let page = ready(take, limit: min(take.limit - handled, 32))
            if page.isEmpty { return }
            for seq in page {
                handled += 1
                if let partitionKey = state.entries.index(of: seq).flatMap({
                    state.entries.rows[$0].partitionKey
                }),
                    failed.contains(partitionKey)
                {
                    continue
                }
                guard let index = admit(seq, kind, work) else { continue }
                let partitionKey = state.entries.rows[index].partitionKey
                if !handle(index, kind, body), let partitionKey { failed.insert(partitionKey) }
            }
        }
        outcome.result.more.insert(kind.name)
    }

    private func handle(_ index: Int, _ kind: EntryKind, _ body: SimulatedBatch.Transaction)
        -> Bool
    {
        let row = state.entries.rows[index]
        do {
            try inSavepoint {
                var dispatched = row
                dispatched.attempt += 1
                dispatched.state = .inFlight
                dispatched.incarnation = rules.incarnation
                try body(self, state.entries.entry(dispatched))
                state.entries.rows[index].attempt += 1
                end(index, as: .applied)
            }
            return true
        } catch {
            state.entries.rows[index].attempt += 1
            var disposition = Acknowledgement.Disposition.after(
                error, kind: kind, failures: row.failures, jitter: rules.jitter())
            if case .requeueInOrder(let wait, let reason) = disposition {
                disposition = .retry(after: wait, countsAsFailure: false, reason: reason)
            }
            settle(
                Acknowledgement(
                    seq: row.seq, kind: kind.name, partitionKey: row.partitionKey,
                    disposition: disposition))
            advance(row.partitionKey)
            if case .dead = disposition { return true }
            return false
        }
    }

    private func admit(_ seq: Int64, _ kind: EntryKind, _ work: SimulatedBatch) -> Int? {
        guard let index = state.entries.index(of: seq) else { return nil }
        let row = state.entries.rows[index]
        let kind = rules.kinds[row.kind] ?? kind  // another of its family, if it has one
        let disposition = work.gate.disposition(
            kind: kind.name, bound: row.bound.map { WallTime(milliseconds: $0) }, now: now,
            mayExpire: mayExpire)
        if disposition == .expire {
            end(
                index, as: row.interruptions > 0 ? .unconfirmed : .expired,
                reason: "Its time was up before it could be dispatched.")
            return nil
        }
        if row.interrupted, kind.onInterruption == .never, !work.asking.contains(kind.name) {
            end(index, as: .unconfirmed, reason: Self.interruption)
            return nil
        }
        return index
    }
}
