import RepriseCore
import RepriseJournal

/// The workload of `case-task-chain` with the shipping dispatch: a task is an entry.
///
/// The tasks of a step are recorded together. The last of them to succeed records those of the next
/// step together with its own end. There is nothing on the medium to go bad: the store is the
/// model.
package struct EntryChainsControl: Workload {
    package let name = "control-003"
    package let summary = "the shipping dispatch, tried as seed-003 is"

    package func schedule(seed: UInt64) -> FaultSchedule {
        SingleValueChainsWorkload(version: .first).schedule(seed: seed)
    }

    package func play(_ simulation: Simulation, on tier: Tier) {
        SingleValueChainsWorkload.play(simulation) { fixture, observer, device in
            App(fixture, observer, device)
        }
    }

    private struct Failed: Error {}

    private final class App: ChainTrialApp {
        private let simulation: Simulation
        private let process: SimulatedProcess
        private let observer: ChainObserver
        private let device: Int
        private let store: ModelStore
        private var random: SeededRandom
        private var failures = 0
        // Of this life.
        private var journal: SimulatedJournal?

        private static let kind = EntryKind(
            "task", attemptLimit: 100, backoff: Backoff(longest: .seconds(10)), parallel: 256)

        init(_ fixture: BaselineFixture, _ observer: ChainObserver, _ device: Int) {
            simulation = fixture.simulation
            process = fixture.processes[device]
            self.observer = observer
            self.device = device
            store = ModelStore(simulation, disk: fixture.disks[device])
            random = simulation.random("chains app \(device)")
            process.started = { [unowned self] in launch() }
            process.ended = { [unowned self] in
                journal = nil
                store.crash(losingPower: false)
                observer.killed(device: device)
            }
        }

        func failNextTask() { failures += 1 }

        func damage(_ bits: UInt64) {}

        private func launch() {
            guard
                let journal = try? SimulatedJournal(
                    simulation, on: process, store: store, kinds: [Self.kind])
            else {
                // The disk is full.
                return simulation.after(.seconds(1), on: process) { [unowned self] in launch() }
            }
            self.journal = journal
            journal.handleBatches(of: Self.kind.name) { [unowned self] batch in
                for delivery in batch { run(delivery) }
            }
        }

        func chainBegins(_ id: Int, steps: [Int]) {
            guard process.state == .running, let journal else { return }
            simulation.trace(process.name, "chain \(id) begins: \(steps) tasks in its steps")
            journal.write(
                { try Self.record(step: 0, of: id, steps, in: $0) },
                then: { [unowned self] result in
                    guard case .success = result, process.survives("start(chain: \(id)) returns")
                    else { return }
                    observer.accepted(id, steps: steps, device: device)
                })
        }

        // MARK: Tasks

        private func run(_ delivery: SimulatedDelivery) {
            guard let (task, steps) = Self.task(of: delivery.entry) else {
                return simulation.violated(.recorded, "\(delivery.entry.id) cannot be read")
            }
            guard process.survives("starts \(task.text)") else { return }
            simulation.trace(process.name, "starts \(task.text)")
            observer.started(task, device: device)
            let time = random.duration(.milliseconds(500), .seconds(8))
            simulation.after(time, on: process) { [unowned self] in finish(delivery, task, steps) }
        }

        private func finish(
            _ delivery: SimulatedDelivery, _ task: SingleValueChains.Task, _ steps: [Int]
        ) {
            guard process.survives("finishes \(task.text)") else { return }
            guard failures == 0 else {
                failures -= 1
                simulation.met(.handlerThrows)
                simulation.trace(process.name, "fails \(task.text)")
                return delivery.end(.failed(Failed()), nil)
            }
            simulation.trace(process.name, "finishes \(task.text)")
            observer.finished(task, device: device)
            delivery.end(.applied) { try Self.goOn(after: task, steps, in: $0) }
        }

        // MARK: Rows

        private static func id(_ task: SingleValueChains.Task) -> EntryID {
            EntryID(unchecked: "task-\(task.chain)-\(task.step)-\(task.number)")
        }

        private static func record(
            step: Int, of chain: Int, _ steps: [Int], in transaction: any DeviceTransaction
        ) throws {
            for number in 0..<steps[step] {
                let task = SingleValueChains.Task(chain: chain, step: step, number: number)
                let words = [chain, step, number] + steps
                let text = words.map(String.init).joined(separator: " ")
                _ = try transaction.record(
                    NewEntry(id: id(task), kind: kind.name, payload: Array(text.utf8)))
            }
        }

        private static func task(of entry: Entry) -> (SingleValueChains.Task, [Int])? {
            let words = String(decoding: entry.payload, as: UTF8.self).split(separator: " ")
            let numbers = words.compactMap { Int($0) }
            guard numbers.count == words.count, numbers.count > 3 else { return nil }
            let task = SingleValueChains.Task(
                chain: numbers[0], step: numbers[1], number: numbers[2])
            return (task, Array(numbers.dropFirst(3)))
        }

        /// In the transaction that ends `task`.
        private static func goOn(
            after task: SingleValueChains.Task, _ steps: [Int],
            in transaction: any DeviceTransaction
        ) throws {
            guard task.step + 1 < steps.count else { return }
            for number in 0..<steps[task.step] where number != task.number {
                var other = task
                other.number = number
                let state = try transaction.entry(id(other))?.state
                guard case .finished(.applied)? = state else { return }
            }
            try record(step: task.step + 1, of: task.chain, steps, in: transaction)
        }
    }
}
