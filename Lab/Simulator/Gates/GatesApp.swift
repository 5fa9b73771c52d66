import RepriseCore
import RepriseJournal

/// One life of an app: a journal, readiness that comes and goes, handlers.
final class GatesApp {
    unowned let device: GatesDevice
    let process: SimulatedProcess
    private(set) var journal: SimulatedJournal?
    private(set) var ready: Set<Readiness> = []
    /// A later opening has taken the journal over, or the process has ended.
    var isFormer = false
    /// It has lived at the same time as another.
    var overlapped = false
    /// A handler that will never answer.
    private(set) var hasHung = false
    private var inFlight: [String: Int] = [:]
    private var random: SeededRandom
    private let simulation: Simulation

    init(_ simulation: Simulation, device: GatesDevice, process: SimulatedProcess) {
        self.simulation = simulation
        self.device = device
        self.process = process
        random = simulation.random("app \(process.name) \(process.life)")
    }

    func start() {
        guard process.survives("opening the journal") else { return }
        do {
            let journal = try SimulatedJournal(
                simulation, on: process, store: device.store, kinds: GatesKinds.all)
            self.journal = journal
            ready = [.journal]
            device.opened(self)
            journal.committed = { [unowned self] isDurable in
                if isDurable { device.committed(self) }
            }
            journal.lostOwnership = { [unowned self] in device.lostOwnership(self) }
            register(journal)
            for condition in GatesKinds.conditions { openLater(condition) }
            if random.chance(0.3) {
                let wait = random.spread(.seconds(1), .seconds(60))
                simulation.after(wait, on: process) { [self] in sayTheTime() }
            }
        } catch {
            simulation.after(random.spread(.milliseconds(100), .seconds(2)), on: process) {
                [self] in start()
            }
        }
    }

    // MARK: Readiness

    private func openLater(_ condition: Readiness) {
        let wait = random.spread(.milliseconds(20), .seconds(20))
        simulation.after(wait, on: process) { [self] in setReady(condition) }
    }

    func setReady(_ condition: Readiness) {
        guard !device.isHeldClosed(condition) else { return openLater(condition) }
        ready.insert(condition)
        journal?.setReady(condition)
    }

    func setNotReady(_ condition: Readiness) {
        guard process.state == .running, ready.remove(condition) != nil else { return }
        simulation.met(.gateCloses)
        journal?.setNotReady(condition)
        openLater(condition)
    }

    /// The server says what time it is.
    func sayTheTime() {
        journal?.write(
            { [self] transaction in
                try transaction.serverTimeReceived(process.clock.truth)
                device.observer.serverTimeTold()
            }, then: { _ in })
    }

    // MARK: Handlers

    private func register(_ journal: SimulatedJournal) {
        for name in ["plain", "tap", "banner", "once", "line"] {
            journal.handle(name) { [unowned self] in handle($0, isIdempotent: false, $1) }
        }
        journal.handle("send", isApplied: { [unowned self] in device.applied.contains($0) }) {
            [unowned self] in handle($0, isIdempotent: true, $1)
        }
        journal.handle(
            "count",
            inTransaction: { [unowned self] transaction, entry in
                device.observer.handledInside(entry, by: self)
                try transaction.addEffect(entry.id.text)
                try device.insideFailure(entry)
            })
    }

    private func handle(
        _ entry: Entry, isIdempotent: Bool, _ done: @escaping SimulatedJournal.Completion
    ) {
        device.observer.dispatched(entry, by: self)
        let most = GatesKinds.named[entry.kind]?.parallel ?? 0
        inFlight[entry.kind, default: 0] += 1
        if let count = inFlight[entry.kind], count > most {
            device.observer.violated(
                .bounded, "\(count) of \(entry.kind) are in flight, \(most) at most")
        }
        let trouble = device.trouble
        var wait = random.spread(.milliseconds(5), .seconds(2))
        let failure =
            random.chance(0.05) || trouble == .handlerThrows && random.chance(0.7)
            ? GatesDevice.failure(entry, random.index(8)) : nil
        switch trouble {
        case .handlerThrows where failure != nil: simulation.met(.handlerThrows)
        case .handlerHangs where random.chance(0.5):
            simulation.met(.handlerHangs)
            hasHung = true
            return
        case .handlerLate:
            simulation.met(.handlerLate)
            wait = random.spread(.seconds(20), .seconds(200))
        default: break
        }
        simulation.after(wait, on: process) { [self] in
            end(entry, failure, isIdempotent: isIdempotent, done)
        }
    }

    private func end(
        _ entry: Entry, _ failure: (any Error)?, isIdempotent: Bool,
        _ done: @escaping SimulatedJournal.Completion
    ) {
        if failure == nil {
            guard process.survives("the effect of \(entry.id)") else { return }
            takeEffect(entry, isIdempotent: isIdempotent)
        }
        guard process.survives("the answer for \(entry.id)") else { return }
        inFlight[entry.kind, default: 0] -= 1
        let advice = (failure as? DispatchFailure)?.advice
        device.observer.answered(
            entry.id, by: self,
            failure == nil ? .success : .failure(isFinal: advice == .permanent))
        done(failure)
    }

    private func takeEffect(_ entry: Entry, isIdempotent: Bool) {
        simulation.trace(process.name, "the effect of \(entry.id) takes place")
        if isIdempotent, !device.applied.insert(entry.id).inserted, isFormer || overlapped {
            return  // the app's own store refuses the id a second time
        }
        device.observer.effect(entry.id, isIdempotent: isIdempotent, by: self)
    }
}
