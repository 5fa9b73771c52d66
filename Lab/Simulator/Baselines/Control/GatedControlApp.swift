import RepriseCore
import RepriseJournal

/// What is tried beside the baselines of `case-push-form` and `case-reminder-routing`: the shipping
/// dispatch, under the same workload.
///
/// What happens is recorded, waits for its gate, and is acknowledged after its effect; the app
/// keeps the ids of what it has done with its effects, so that nothing takes effect twice.
final class GatedControlApp {
    let process: SimulatedProcess
    private(set) var journal: SimulatedJournal?
    /// A new life: opens gates as they become ready.
    var launched: () -> Void = {}
    /// Why something may take no effect yet; it is dispatched again.
    var obstacle: (Int) -> (any Error)? = { _ in nil }
    /// What is seen of the effect.
    var effect: (Int) -> Void = { _ in }

    private let simulation: Simulation
    private var random: SeededRandom
    private var extraLoading: Duration = .zero
    private let store: ModelStore
    private let kind: EntryKind
    private let accepted: (Int) -> Void
    /// In the app's own store.
    private var applied: Set<EntryID> = []

    /// - Parameters:
    ///   - simulation: the run.
    ///   - name: of its random numbers.
    ///   - process: the app's.
    ///   - disk: under its journal.
    ///   - kind: what is recorded, and what it waits for.
    ///   - accepted: whoever brought it is told that it is recorded.
    init(
        _ simulation: Simulation, _ name: String, on process: SimulatedProcess,
        disk: SimulatedDisk, kind: EntryKind, accepted: @escaping (Int) -> Void
    ) {
        self.simulation = simulation
        random = simulation.random(name)
        self.process = process
        self.kind = kind
        self.accepted = accepted
        store = ModelStore(simulation, disk: disk)
        process.started = { [unowned self] in launch() }
        process.ended = { [unowned self] in
            journal = nil
            store.crash(losingPower: false)
        }
    }

    func slowNextLoad(by delay: Duration) { extraLoading = delay }

    /// How long something takes to load now.
    func loading(_ shortest: Duration, _ longest: Duration) -> Duration {
        let time = random.duration(shortest, longest)
        guard extraLoading > .zero else { return time }
        defer { extraLoading = .zero }
        simulation.met(.handlerLate)
        return time + extraLoading
    }

    /// One on an app that is not running launches it, and comes a moment after that.
    func happens(_ number: Int, onLaunchAfter delay: Duration) {
        process.resume()
        guard process.state == .dead else { return record(number) }
        process.start()
        simulation.after(delay, on: process) { [self] in record(number) }
    }

    private func record(_ number: Int) {
        let entry = NewEntry(
            id: EntryID(unchecked: "\(kind.name)-\(number)"), kind: kind.name,
            payload: Array("\(number)".utf8))
        simulation.trace(process.name, "\(entry.id) comes")
        journal?.record(entry) { [self] result in
            if case .success = result { accepted(number) }
        }
    }

    private func launch() {
        guard
            let journal = try? SimulatedJournal(
                simulation, on: process, store: store, kinds: [kind])
        else { return simulation.violated(.recorded, "the journal of \(process.name) is shut") }
        self.journal = journal
        journal.handle(kind.name, isApplied: { [self] in applied.contains($0) }) {
            [self] entry, done in
            simulation.after(.milliseconds(5), on: process) { [self] in handle(entry, done) }
        }
        launched()
    }

    private func handle(_ entry: Entry, _ done: @escaping SimulatedJournal.Completion) {
        guard let number = Int(String(decoding: entry.payload, as: UTF8.self)) else { return }
        if let error = obstacle(number) { return done(error) }
        guard process.survives("the effect of \(entry.id)") else { return }
        applied.insert(entry.id)
        effect(number)
        simulation.after(.microseconds(50), on: process) { done(nil) }
    }
}
