import RepriseChains
import RepriseCore
import RepriseJournal

/// In virtual time what `Chains` does with time in the background: the shipping grants, requests
/// and queries; who waits for what is transcribed.
final class SimulatedTime {
    private struct Grant {
        let life: Int
        /// When it is over; nil: when the system says so.
        let end: Duration?
        let isSlot: Bool
        let isDone: () -> Void
    }

    private let slots = SlotRequests()
    private unowned let chains: SimulatedChains
    /// What is being spent.
    private var grant: Grant?
    /// Workers are told to stop, and waited for until then.
    private var stopping: (end: Duration, then: () -> Void)?

    private static let configuration = Chains.Configuration()

    /// How long before the end of a granted time no task begins any more.
    static func margin(of granted: Duration) -> Duration { min(configuration.margin, granted / 2) }

    private var now: Duration { chains.clock.uptime() }

    init(_ chains: SimulatedChains) { self.chains = chains }

    // MARK: The system

    func foreground() {
        slots.begin()
        setGate()
        ring()
    }

    func background(granted: Duration, isDone: @escaping () -> Void) {
        guard !slots.isInSlot else { return }
        let end = now + granted - Self.margin(of: granted)
        let life = slots.begin(opens: false)
        spend(Grant(life: life, end: end, isSlot: false, isDone: isDone))
    }

    func slot(isDone: @escaping () -> Void) {
        let life = slots.begin(isSlot: true)
        setGate()
        spend(Grant(life: life, end: nil, isSlot: true, isDone: isDone))
    }

    /// The system takes a slot back.
    func expire() {
        if let grant, grant.isSlot { pause(grant) }
    }

    var isInSlot: Bool { slots.isInSlot }

    func end() { (grant, stopping) = (nil, nil) }

    // MARK: Spending

    private func spend(_ grant: Grant) {
        if self.grant?.isSlot == true { slots.endSlot() }
        self.grant = grant
        if let end = grant.end { ring(at: end) }
        ring()
    }

    private func ring(at moment: Duration) {
        chains.simulation.after(max(moment - now, .zero), on: chains.process) { [self] in ring() }
    }

    /// No worker runs, a result was shown, or a time has come.
    func ring() {
        guard !chains.isOver else { return }
        if let stopping, chains.running.isEmpty || now >= stopping.end {
            self.stopping = nil
            stopping.then()
        }
        guard let grant else { return }
        let isOver = grant.end.map { now >= $0 } ?? false
        if !slots.isNow(grant.life) || isOver || isIdle(until: grant.end) { pause(grant) }
    }

    private func isIdle(until end: Duration?) -> Bool {
        guard chains.running.isEmpty, chains.areResultsShown else { return false }
        let rest = end.map { min($0 - now, .seconds(3_600)) }
        let hasWork = try? chains.journal.read { transaction in
            let shipping = try shipping(transaction)
            let now = shipping.journal.now
            return try SlotNeed.hasWork(
                at: now, retriedBefore: rest.map { now.advanced(by: $0) }, shipping.db)
        }
        return hasWork == false
    }

    private func pause(_ grant: Grant) {
        self.grant = nil
        let complete = { [self] in
            if grant.isSlot { slots.endSlot() }
            grant.isDone()
        }
        guard slots.stop(grant.life) else { return complete() }
        setGate()
        interrupt { [self] in
            requestSlot()
            if !chains.isOver { complete() }
        }
    }

    func setGate() {
        if slots.isOpen {
            chains.journal.setReady(Chains.budgetReadiness)
        } else if chains.mutation != .chainEndOfTimeIgnored {
            chains.journal.setNotReady(Chains.budgetReadiness)
        }
    }

    private func interrupt(then: @escaping () -> Void) {
        for key in chains.running.keys.sorted() { chains.stop(key, .budget) }
        let end = now + Self.configuration.stopGrace
        let wait = { [self] in
            chains.journal.write({ _ in }, then: { (_: Result<Void, any Error>) in then() })
        }
        guard !chains.running.isEmpty else { return wait() }
        stopping = (end, wait)
        ring(at: end)
    }

    private func requestSlot() {
        guard chains.mutation != .chainSlotNotRequested else { return }
        let need = try? chains.journal.read { try SlotNeed.read(shipping($0).db) }
        guard let need, chains.process.survives("a request for a slot") else { return }
        chains.app.device.system?.submit(need.request(Self.configuration.slotID))
    }
}
