import Foundation
import RepriseCore

/// An app with chains that the workload of `case-task-chain` can try.
protocol ChainTrialApp: AnyObject {
    /// The app starts a chain; one that does not run starts none.
    func chainBegins(_ id: Int, steps: [Int])
    /// The next task that finishes has failed.
    func failNextTask()
    /// The medium goes bad.
    func damage(_ bits: UInt64)
}

/// An app with `case-task-chain`'s chains, in virtual time.
final class SingleValueChainsApp: ChainTrialApp {
    private let simulation: Simulation
    private let process: SimulatedProcess
    private let observer: ChainObserver
    private let version: SingleValueChains.Version
    private let device: Int
    private let defaults: DefaultsStore
    private var random: SeededRandom
    /// What the app wants done; for the first version, which has nothing else to begin again from.
    private var wanted: [(id: Int, steps: [Int])] = []
    private var failures = 0

    // The memory of one life.
    private var machine: SingleValueChains

    init(
        _ simulation: Simulation, on process: SimulatedProcess, disk: SimulatedDisk, device: Int,
        version: SingleValueChains.Version, observer: ChainObserver
    ) {
        self.simulation = simulation
        self.process = process
        self.device = device
        self.version = version
        self.observer = observer
        defaults = DefaultsStore(on: disk)
        random = simulation.random("chains app \(device)")
        machine = SingleValueChains(version)
        process.started = { [unowned self] in launch() }
        process.ended = { [observer] in observer.killed(device: device) }
    }

    private var wall: Int64 { process.clock.wall().milliseconds }

    private func launch() {
        machine = SingleValueChains(version)
        perform(machine.launched(with: load(), at: wall))
        guard version == .first else { return }
        for chain in wanted {
            perform(machine.chainCreated(chain.id, steps: chain.steps, at: wall))
        }
    }

    /// nil: "state load fails (corrupted data)".
    private func load() -> [SingleValueChains.ChainState]? {
        guard let bytes = defaults.value else { return [] }
        let states = try? JSONDecoder().decode(
            [SingleValueChains.ChainState].self, from: Data(bytes))
        if states == nil {
            simulation.trace(process.name, "can't read its chains, and clears them")
        }
        return states
    }

    func chainBegins(_ id: Int, steps: [Int]) {
        guard process.state == .running else { return }
        simulation.trace(process.name, "chain \(id) begins: \(steps) tasks in its steps")
        wanted.append((id, steps))
        perform(machine.chainCreated(id, steps: steps, at: wall))
        if version == .first { accept(id, steps) }
    }

    func failNextTask() { failures += 1 }

    func damage(_ bits: UInt64) {
        simulation.met(.damage)
        defaults.damage(bits)
    }

    // MARK: Effects

    private func perform(_ actions: [SingleValueChains.Action]) {
        for action in actions {
            guard process.state == .running else { return }
            switch action {
            case .save(let states): _ = save(states)
            case .saveNew(let states): saveNew(states)
            case .run(let task): run(task)
            case .ended(let chain, let failed):
                simulation.trace(
                    process.name,
                    "chain \(chain) \(failed ? "failed, and is removed" : "is complete")")
                wanted.removeAll { $0.id == chain }
                observer.ended(chain, device: device, failed: failed)
            }
        }
    }

    /// - Returns: whether it was saved; nil: the process was killed before.
    private func save(_ states: [SingleValueChains.ChainState]) -> Bool? {
        guard process.survives("saves its chains") else { return nil }
        let bytes = (try? JSONEncoder().encode(states)).map { Array($0) } ?? []
        let isSaved = defaults.set(bytes)
        if !isSaved { simulation.trace(process.name, "can't save its chains, and logs it") }
        return isSaved
    }

    private func saveNew(_ states: [SingleValueChains.ChainState]) {
        guard let newest = states.last, let isSaved = save(states) else { return }
        if isSaved {
            accept(newest.chainId, newest.steps)
        } else {
            wanted.removeAll { $0.id == newest.chainId }
        }
        perform(machine.newChainSaved(isSaved))
    }

    private func accept(_ chain: Int, _ steps: [Int]) {
        guard process.survives("start(chain: \(chain)) returns") else { return }
        observer.accepted(chain, steps: steps, device: device)
    }

    private func run(_ task: SingleValueChains.Task) {
        guard process.survives("starts \(task.text)") else { return }
        simulation.trace(process.name, "starts \(task.text)")
        observer.started(task, device: device)
        // "3-step file copy chain (each step ~5 seconds)".
        simulation.after(random.duration(.milliseconds(500), .seconds(8)), on: process) { [self] in
            finish(task)
        }
    }

    private func finish(_ task: SingleValueChains.Task) {
        guard process.survives("finishes \(task.text)") else { return }
        let failed = failures > 0
        if failed {
            failures -= 1
            simulation.met(.handlerThrows)
        }
        simulation.trace(process.name, "\(failed ? "fails" : "finishes") \(task.text)")
        if !failed { observer.finished(task, device: device) }
        perform(machine.taskFinished(task, succeeded: !failed, at: wall))
    }
}

extension SingleValueChains.Task {
    var text: String { "task \(number) of step \(step) of chain \(chain)" }
}
