import GRDB
import RepriseCore
import Synchronization

/// Performs the decisions of `HandOverMachine`: batches, handlers, one timer.
final class HandOverDriver: Sendable {
    /// The handler of a kind.
    enum Handler: Sendable {
        case effect(
            isApplied: (@Sendable (EntryID) async throws -> Bool)?,
            body: @Sendable (Entry) async throws -> Void)
        case transaction(TurnWork.Transaction)
        /// Gets a batch, in order, and must not wait; it acknowledges each entry later.
        case batch(@Sendable ([Lent]) -> Void)

        var work: Turn.Work {
            switch self {
            case .effect, .batch: .effect
            case .transaction: .transaction
            }
        }
    }

    /// The entries that a batch has taken for batch handlers, called outside of the lock.
    private typealias Batches = [(
        kind: String, handler: @Sendable ([Lent]) -> Void, entries: [Lent]
    )]

    private struct State {
        var machine: HandOverMachine
        var handlers: [String: Handler] = [:]
        /// Running handlers, by row.
        var running: [Int64: Task<Void, Never>] = [:]
        /// Entries in flight at batch handlers, by row.
        var lent: [Int64: EntryRow] = [:]
        /// Writes to commit with the end of an entry, by row.
        var alongside: [Int64: TurnWork.Alongside] = [:]
        /// Called when the end of an entry is durable, by row.
        var written: [Int64: @Sendable () -> Void] = [:]
        var observers: [@Sendable (JournalNews) -> Void] = []
        var timer: (until: Duration, task: Task<Void, Never>)?
        /// Resumed when nothing is in flight and nothing is on its way to the disk.
        var drained: CheckedContinuation<Void, Never>?
        /// Ends the wait for `drained`.
        var grace: Task<Void, Never>?
    }

    private enum Effect {
        case perform(TurnWork)
        case none
    }

    private let store: EntryStore
    private let state: Mutex<State>
    /// Set once, before the first event: the writer reports its commits, and the driver writes
    /// through it.
    private let writer = Mutex<GroupWriter?>(nil)

    private var clock: any Timekeeper { store.configuration.timekeeper }

    init(store: EntryStore) {
        self.store = store
        state = Mutex(State(machine: HandOverMachine(kinds: Array(store.kinds.values))))
    }

    func start(writer: GroupWriter) {
        self.writer.withLock { $0 = writer }
        happened { $0.machine.readinessOpened(.journal) }
    }

    // MARK: Events

    func handle(_ kind: String, by handler: Handler) {
        happened { state in
            state.handlers[kind] = handler
            state.machine.handlerRegistered(kind: kind, work: handler.work)
        }
    }

    func open(_ condition: Readiness) {
        happened { $0.machine.readinessOpened(condition) }
        tell(.opened(condition))
    }

    func close(_ condition: Readiness) {
        happened { $0.machine.readinessClosed(condition) }
        tell(.closed(condition))
    }

    func isOpen(_ condition: Readiness) -> Bool {
        state.withLock { $0.machine.gate.readiness.contains(condition) }
    }

    func observe(_ observer: @escaping @Sendable (JournalNews) -> Void) {
        state.withLock { $0.observers.append(observer) }
    }

    /// Outside of the lock: an observer may call back.
    private func tell(_ news: JournalNews) {
        for observer in state.withLock({ $0.observers }) { observer(news) }
    }

    /// A transaction was committed.
    func committed(_ news: CommitNews) {
        guard !news.isEmpty else { return }
        let soonest = news.soonest(by: clock)
        happened { $0.machine.workArrived(kinds: news.kinds, soonest: soonest) }
        if news.moved != .zero { tell(.calendarMoved(news.moved)) }
        if !news.recorded.isEmpty { tell(.recorded(news.recorded)) }
    }

    /// Decides under the lock, acts outside of it.
    private func happened(_ event: (inout State) -> Void) {
        let now = clock.uptime()
        let work: TurnWork? = state.withLock { state in
            event(&state)
            switch state.machine.next(now: now) {
            case .perform(let turn):
                return self.work(for: turn, state)
            case .wait(let until):
                arm(until, &state)
                return nil
            case .none:
                return nil
            }
        }
        if let work { perform(work) }
    }

    private func arm(_ until: Duration, _ state: inout State) {
        if let timer = state.timer, timer.until == until { return }
        state.timer?.task.cancel()
        let task = Task { [weak self, clock] in
            do { try await clock.sleep(until: until) } catch { return }
            self?.happened { state in
                if state.timer?.until == until { state.timer = nil }
            }
        }
        state.timer = (until, task)
    }

    // MARK: Batches

    private func work(for turn: Turn, _ state: State) -> TurnWork {
        var transactions: [String: TurnWork.Transaction] = [:]
        var asking: Set<String> = []
        for take in turn.takes {
            switch state.handlers[take.kind] {
            case .transaction(let body): transactions[take.kind] = body
            case .effect(.some, _): asking.insert(take.kind)
            case .effect(nil, _), .batch, nil: break
            }
        }
        return TurnWork(
            turn: turn, gate: { [self] in self.state.withLock { $0.machine.gate } },
            transactions: transactions, asking: asking,
            alongside: Self.alongside(turn.settlements, state), store: store)
    }

    private static func alongside(_ settlements: [Settlement], _ state: State)
        -> [Int64: TurnWork.Alongside]
    {
        guard !state.alongside.isEmpty else { return [:] }
        let found = settlements.map { ($0.seq, state.alongside[$0.seq]) }
        return Dictionary(found) { first, _ in first }.compactMapValues { $0 }
    }

    private func perform(_ work: TurnWork) {
        guard let writer = writer.withLock({ $0 }) else { return }
        let settled = work.turn.settlements.map(\.seq)
        writer.enqueue({ db in try work.perform(in: db) }) { [self] in turnEnded($0, settled) }
    }

    private func turnEnded(_ result: Result<TurnWork.Outcome, any Error>, _ settled: [Int64]) {
        let now = clock.uptime()
        switch result {
        case .success(let outcome):
            var batches: Batches = []
            var written: [@Sendable () -> Void] = []
            happened { state in
                for seq in settled {
                    state.alongside[seq] = nil
                    if let told = state.written.removeValue(forKey: seq) { written.append(told) }
                }
                state.machine.turnCommitted(outcome.result, now: now)
                for row in outcome.taken { start(row, &state, &batches) }
                resumeIfDrained(&state)
            }
            for told in written { told() }
            for batch in batches { batch.handler(batch.entries) }
        case .failure(let error):
            let isFinal = HandOverMachine.isFinal(error)
            let jitter = store.configuration.jitter()
            happened { state in
                state.machine.turnFailed(isFinal: isFinal, now: now, jitter: jitter)
                if isFinal { for task in state.running.values { task.cancel() } }
                resumeIfDrained(&state)
            }
            if isFinal { tell(.lost) }
        }
    }

    // MARK: Handlers

    private func start(_ row: EntryRow, _ state: inout State, _ batches: inout Batches) {
        let leader = store.families.leader(of: row.entry.kind)
        let handler = state.handlers[leader]
        guard state.machine.mayStart(kind: row.entry.kind, isReleased: row.released) else {
            return state.machine.handlerEnded(settlement(row, .notStarted))
        }
        switch handler {
        case .effect(let isApplied, let body):
            state.running[row.seq] = Task { [self] in
                let verdict = await run(row, isApplied: isApplied, body: body)
                happened { state in
                    state.running[row.seq] = nil
                    state.machine.handlerEnded(settlement(row, verdict))
                }
            }
        case .batch(let body):
            state.lent[row.seq] = row
            let isOpen = state.machine.gate.isOpen(kind: row.entry.kind)
            let lent = Lent(entry: row.entry, isReleased: !isOpen) {
                [weak self] ending, alongside, written in
                self?.returned(row, ending, alongside, written)
            }
            if let index = batches.firstIndex(where: { $0.kind == leader }) {
                batches[index].entries.append(lent)
            } else {
                batches.append((leader, body, [lent]))
            }
        case .transaction, nil:
            state.machine.handlerEnded(settlement(row, .notStarted))
        }
    }

    /// A batch handler acknowledges an entry; only the first acknowledgement counts.
    private func returned(
        _ row: EntryRow, _ ending: Lent.Ending, _ alongside: TurnWork.Alongside?,
        _ written: (@Sendable () -> Void)? = nil
    ) {
        let verdict: Settlement.Verdict =
            switch ending {
            case .applied: .applied
            case .failed(let error): self.verdict(row, error)
            case .ended(let outcome, let reason): .ended(outcome, reason: reason)
            case .back(let reason, let isInDoubt):
                .back(reason: reason, isInDoubt: isInDoubt)
            case .again(let wait, let reason):
                .retry(after: wait, countsAsFailure: true, reason: reason)
            case .postponed(let wait, let reason):
                .retry(after: wait, countsAsFailure: false, reason: reason)
            }
        let isAgain = if case .again = ending { true } else { false }
        happened { state in
            guard state.lent[row.seq]?.entry.attempt == row.entry.attempt else { return }
            state.lent[row.seq] = nil
            state.alongside[row.seq] = verdict.isEnd || isAgain ? alongside : nil
            state.written[row.seq] = written
            state.machine.handlerEnded(settlement(row, verdict))
            // Its write may make entries ready in the same batch, as the next task of a chain.
            if alongside != nil {
                state.machine.workArrived(kinds: [row.entry.kind], soonest: nil)
            }
        }
    }

    private func verdict(_ row: EntryRow, _ error: any Error) -> Settlement.Verdict {
        guard let kind = store.kinds[row.entry.kind] else { return .notStarted }
        return .after(
            error, kind: kind, failures: row.failures, jitter: store.configuration.jitter())
    }

    private func run(
        _ row: EntryRow, isApplied: (@Sendable (EntryID) async throws -> Bool)?,
        body: @Sendable (Entry) async throws -> Void
    ) async -> Settlement.Verdict {
        do {
            if row.entry.mayHaveTakenEffect, let isApplied, try await isApplied(row.entry.id) {
                return .appliedBefore
            }
            try await body(row.entry)
            return .applied
        } catch {
            return verdict(row, error)
        }
    }

    private func settlement(_ row: EntryRow, _ verdict: Settlement.Verdict) -> Settlement {
        Settlement(seq: row.seq, kind: row.entry.kind, lane: row.entry.lane, verdict: verdict)
    }

    // MARK: Closing

    /// Takes nothing more, waits for entries in flight, cancels them, waits again.
    ///
    /// - Returns: acknowledgements that are not written yet.
    func close(grace: Duration) async -> (
        settlements: [Settlement], alongside: [Int64: TurnWork.Alongside]
    ) {
        happened { $0.machine.closing() }
        await drained(within: grace)
        let (running, lent) = state.withLock { ($0.running.values.map(\.self), $0.lent) }
        for task in running { task.cancel() }
        for row in lent.values { returned(row, .failed(CancellationError()), nil) }
        await drained(within: grace)
        return state.withLock { state in
            state.timer?.task.cancel()
            state.timer = nil
            let settlements = state.machine.stop()
            return (settlements, Self.alongside(settlements, state))
        }
    }

    /// Ends without waiting: the journal was released without being closed.
    func abandon() {
        state.withLock { state in
            state.timer?.task.cancel()
            state.machine.stop()
            for task in state.running.values { task.cancel() }
        }
    }

    private func drained(within grace: Duration) async {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                state.drained = continuation
                resumeIfDrained(&state)
                guard state.drained != nil else { return }
                // Started only now: a grace that ended before the wait would leave it suspended for
                // ever.
                state.grace = Task { [self] in
                    do { try await clock.sleep(for: grace) } catch { return }
                    guard !Task.isCancelled else { return }  // that wait is over
                    self.state.withLock { $0.drained.take() }?.resume()
                }
            }
        }
        state.withLock { $0.grace.take() }?.cancel()
    }

    private func resumeIfDrained(_ state: inout State) {
        guard state.machine.isQuiet else { return }
        state.drained.take()?.resume()
    }
}
