import GRDB
import RepriseCore
import Synchronization

/// Performs the decisions of `DispatchMachine`: batches, handlers, one timer.
final class DispatchDriver: Sendable {
    /// The handler of a kind.
    enum Handler: Sendable {
        case effect(
            isApplied: (@Sendable (EntryID) async throws -> Bool)?,
            body: @Sendable (Entry) async throws -> Void)
        case transaction(DispatchBatchWork.Transaction)
        /// Gets a batch, in order, and must not wait; it acknowledges each entry later.
        case batch(@Sendable ([EntryDelivery]) -> Void)

        var work: DispatchBatch.Work {
            switch self {
            case .effect, .batch: .effect
            case .transaction: .transaction
            }
        }
    }

    /// The entries that a batch has taken for batch handlers, called outside of the lock.
    private typealias Batches = [(
        kind: String, handler: @Sendable ([EntryDelivery]) -> Void, entries: [EntryDelivery]
    )]

    private struct State {
        var machine: DispatchMachine
        var handlers: [String: Handler] = [:]
        /// Running handlers, by row.
        var running: [Int64: Task<Void, Never>] = [:]
        /// Entries in flight at batch handlers, by row.
        var delivery: [Int64: EntryRow] = [:]
        /// Writes to commit with the end of an entry, by row.
        var alongside: [Int64: DispatchBatchWork.Alongside] = [:]
        /// Called when the end of an entry is durable, by row.
        var written: [Int64: @Sendable () -> Void] = [:]
        var observers: [@Sendable (JournalEvent) -> Void] = []
        /// Resumed when nothing is in flight and nothing is on its way to the disk.
        var drained: CheckedContinuation<Void, Never>?
        /// Ends the wait for `drained`.
        var grace: Task<Void, Never>?
    }

    private enum Effect {
        case perform(DispatchBatchWork)
        case none
    }

    private let store: EntryStore
    private let state: Mutex<State>
    private let alarm: Alarm
    /// Set once, before the first event: the writer reports its commits, and the driver writes
    /// through it.
    private let writer = Mutex<GroupWriter?>(nil)

    private var clock: any Timekeeper { store.configuration.timekeeper }

    init(store: EntryStore) {
        self.store = store
        alarm = Alarm(store.configuration.timekeeper)
        state = Mutex(State(machine: DispatchMachine(kinds: Array(store.kinds.values))))
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

    func setReady(_ condition: Readiness) {
        happened { $0.machine.readinessOpened(condition) }
        tell(.opened(condition))
    }

    func setNotReady(_ condition: Readiness) {
        happened { $0.machine.readinessClosed(condition) }
        tell(.closed(condition))
    }

    func isOpen(_ condition: Readiness) -> Bool {
        state.withLock { $0.machine.gate.readiness.contains(condition) }
    }

    func observe(_ observer: @escaping @Sendable (JournalEvent) -> Void) {
        state.withLock { $0.observers.append(observer) }
    }

    /// Outside of the lock: an observer may call back.
    private func tell(_ news: JournalEvent) {
        for observer in state.withLock({ $0.observers }) { observer(news) }
    }

    /// A transaction was committed.
    func committed(_ news: CommitEvents) {
        guard !news.isEmpty else { return }
        let soonest = news.soonest(by: clock)
        happened { $0.machine.workArrived(kinds: news.kinds, soonest: soonest) }
        if news.moved != .zero { tell(.calendarMoved(news.moved)) }
        if !news.recorded.isEmpty { tell(.recorded(news.recorded)) }
    }

    /// Decides under the lock, acts outside of it.
    private func happened(_ event: (inout State) -> Void) {
        let now = clock.uptime()
        let work: DispatchBatchWork? = state.withLock { state in
            event(&state)
            switch state.machine.next(now: now) {
            case .perform(let turn):
                return self.work(for: turn, state)
            case .wait(let until):
                arm(until)
                return nil
            case .none:
                return nil
            }
        }
        if let work { perform(work) }
    }

    private func arm(_ until: Duration) {
        alarm.set(until) { [weak self] in
            guard let self else { return }
            happened { _ in alarm.cancel() }
        }
    }

    // MARK: Batches

    private func work(for turn: DispatchBatch, _ state: State) -> DispatchBatchWork {
        var transactions: [String: DispatchBatchWork.Transaction] = [:]
        var asking: Set<String> = []
        for take in turn.takes {
            switch state.handlers[take.kind] {
            case .transaction(let body): transactions[take.kind] = body
            case .effect(.some, _): asking.insert(take.kind)
            case .effect(nil, _), .batch, nil: break
            }
        }
        return DispatchBatchWork(
            turn: turn, gate: { [self] in self.state.withLock { $0.machine.gate } },
            transactions: transactions, asking: asking,
            alongside: Self.alongside(turn.acknowledgements, state), store: store)
    }

    private static func alongside(_ acknowledgements: [Acknowledgement], _ state: State)
        -> [Int64: DispatchBatchWork.Alongside]
    {
        guard !state.alongside.isEmpty else { return [:] }
        let found = acknowledgements.map { ($0.seq, state.alongside[$0.seq]) }
        return Dictionary(found) { first, _ in first }.compactMapValues { $0 }
    }

    private func perform(_ work: DispatchBatchWork) {
        guard let writer = writer.withLock({ $0 }) else { return }
        let settled = work.turn.acknowledgements.map(\.seq)
        writer.enqueue({ db in try work.perform(in: db) }) { [self] in batchEnded($0, settled) }
    }

    private func batchEnded(
        _ result: Result<DispatchBatchWork.Outcome, any Error>, _ settled: [Int64]
    ) {
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
                state.machine.batchCommitted(outcome.result, now: now)
                for row in outcome.taken { start(row, &state, &batches) }
                resumeIfDrained(&state)
            }
            for told in written { told() }
            for batch in batches { batch.handler(batch.entries) }
        case .failure(let error):
            let isFinal = DispatchMachine.isFinal(error)
            let jitter = store.configuration.jitter()
            happened { state in
                state.machine.batchFailed(isFinal: isFinal, now: now, jitter: jitter)
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
            return state.machine.handlerEnded(acknowledgement(row, .notStarted))
        }
        switch handler {
        case .effect(let isApplied, let body):
            state.running[row.seq] = Task { [self] in
                let disposition = await run(row, isApplied: isApplied, body: body)
                happened { state in
                    state.running[row.seq] = nil
                    state.machine.handlerEnded(acknowledgement(row, disposition))
                }
            }
        case .batch(let body):
            state.delivery[row.seq] = row
            let opening = state.machine.opening(of: row.entry.kind)
            let delivery = EntryDelivery(entry: row.entry) { [weak self] in
                self?.mayOvertake(row.entry.kind, dispatchedIn: opening) ?? true
            } returned: { [weak self] ending, alongside, written in
                self?.returned(row, ending, alongside, written)
            }
            if let index = batches.firstIndex(where: { $0.kind == leader }) {
                batches[index].entries.append(delivery)
            } else {
                batches.append((leader, body, [delivery]))
            }
        case .transaction, nil:
            state.machine.handlerEnded(acknowledgement(row, .notStarted))
        }
    }

    private func mayOvertake(_ kind: String, dispatchedIn opening: Int?) -> Bool {
        state.withLock { $0.machine.mayOvertake(kind: kind, dispatchedIn: opening) }
    }

    /// A batch handler acknowledges an entry; only the first acknowledgement counts.
    private func returned(
        _ row: EntryRow, _ ending: EntryDelivery.Ending, _ alongside: DispatchBatchWork.Alongside?,
        _ written: (@Sendable () -> Void)? = nil
    ) {
        let disposition: Acknowledgement.Disposition =
            switch ending {
            case .applied: .applied
            case .failed(let error): self.disposition(row, error)
            case .ended(let outcome, let reason): .ended(outcome, reason: reason)
            case .back(let reason, let isInDoubt):
                .back(reason: reason, isInDoubt: isInDoubt)
            case .again(let wait, let reason):
                .retry(after: wait, countsAsFailure: true, reason: reason)
            case .postponed(let wait, let reason):
                .retry(after: wait, countsAsFailure: false, reason: reason)
            }
        let isAgain =
            switch ending {
            case .again, .postponed: true
            case .applied, .failed, .ended, .back: false
            }
        happened { state in
            guard state.delivery[row.seq]?.entry.attempt == row.entry.attempt else { return }
            state.delivery[row.seq] = nil
            state.alongside[row.seq] = disposition.isEnd || isAgain ? alongside : nil
            state.written[row.seq] = written
            state.machine.handlerEnded(acknowledgement(row, disposition))
            // Its write may make entries ready in the same batch, as the next task of a chain.
            if alongside != nil {
                state.machine.workArrived(kinds: [row.entry.kind], soonest: nil)
            }
        }
    }

    private func disposition(_ row: EntryRow, _ error: any Error) -> Acknowledgement.Disposition {
        guard let kind = store.kinds[row.entry.kind] else { return .notStarted }
        return .after(
            error, kind: kind, failures: row.failures, jitter: store.configuration.jitter())
    }

    private func run(
        _ row: EntryRow, isApplied: (@Sendable (EntryID) async throws -> Bool)?,
        body: @Sendable (Entry) async throws -> Void
    ) async -> Acknowledgement.Disposition {
        do {
            if row.entry.mayHaveTakenEffect, let isApplied, try await isApplied(row.entry.id) {
                return .appliedBefore
            }
            let signpost = Signpost.begin("dispatch")
            defer { signpost.end() }
            try await body(row.entry)
            return .applied
        } catch {
            return disposition(row, error)
        }
    }

    private func acknowledgement(_ row: EntryRow, _ disposition: Acknowledgement.Disposition)
        -> Acknowledgement
    {
        Acknowledgement(
            seq: row.seq, kind: row.entry.kind, partitionKey: row.entry.partitionKey,
            disposition: disposition)
    }

    // MARK: Closing

    /// Takes nothing more, waits for entries in flight, cancels them, waits again.
    ///
    /// - Returns: acknowledgements that are not written yet.
    func close(grace: Duration) async -> (
        acknowledgements: [Acknowledgement], alongside: [Int64: DispatchBatchWork.Alongside]
    ) {
        happened { $0.machine.closing() }
        await drained(within: grace)
        let (running, delivery) = state.withLock { ($0.running.values.map(\.self), $0.delivery) }
        for task in running { task.cancel() }
        for row in delivery.values { returned(row, .failed(CancellationError()), nil) }
        await drained(within: grace)
        let (result, handlers) = state.withLock { state in
            alarm.cancel()
            let acknowledgements = state.machine.stop()
            // They may capture the journal. Released outside of the lock.
            let handlers = state.handlers
            state.handlers = [:]
            return ((acknowledgements, Self.alongside(acknowledgements, state)), handlers)
        }
        withExtendedLifetime(handlers) {}
        return result
    }

    /// Ends without waiting: the journal was released without being closed.
    func abandon() {
        state.withLock { state in
            alarm.cancel()
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
