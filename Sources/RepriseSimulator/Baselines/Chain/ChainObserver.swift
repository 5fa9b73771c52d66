/// Counts from outside which tasks ran, and which ran again though nothing obliged them to.
///
/// A task that is killed before anybody could write down that it has finished must run again, with us as well. It is only
/// held against a baseline if its process has lived on for ``patience`` since: time to write it down many times over.
final class ChainObserver {
    static let patience: Duration = .seconds(1)

    private struct Chain {
        var steps: [Int] = []
        var isAccepted = false
        var finished: [SingleValueChains.Task: Duration] = [:]
    }

    private let simulation: Simulation
    private let processes: [SimulatedProcess]
    private var chains: [[Int: Chain]]
    /// When the process of a device was last killed.
    private var killed: [Duration]

    init(_ simulation: Simulation, processes: [SimulatedProcess]) {
        self.simulation = simulation
        self.processes = processes
        chains = Array(repeating: [:], count: processes.count)
        killed = Array(repeating: .zero, count: processes.count)
        for (device, process) in processes.enumerated() {
            process.ended = { [unowned self] in killed[device] = simulation.now }
        }
    }

    func accepted(_ chain: Int, steps: [Int], device: Int) {
        chains[device][chain, default: Chain()].steps = steps
        chains[device][chain]?.isAccepted = true
    }

    func started(_ task: SingleValueChains.Task, device: Int) {
        guard let finished = chains[device][task.chain]?.finished[task] else { return }
        let left = killed[device] - finished
        guard left >= Self.patience else { return }
        simulation.violated(
            .once,
            "\(task.text) runs again on \(processes[device].name), though it had finished "
                + "\(Baseline.seconds(left)) before the kill")
    }

    func finished(_ task: SingleValueChains.Task, device: Int) {
        chains[device][task.chain, default: Chain()].finished[task] = simulation.now
    }

    func ended(_ chain: Int, device: Int, failed: Bool) {
        guard failed else { return }
        simulation.violated(
            .acknowledged,
            "chain \(chain) on \(processes[device].name) is removed after one failure: "
                + "not tried again, not a visible dead letter")
    }

    /// Everything has healed and had its time.
    func finish() {
        for device in chains.indices {
            for id in chains[device].keys.sorted() {
                guard let chain = chains[device][id], chain.isAccepted else { continue }
                let count = chain.steps.reduce(0, +)
                guard chain.finished.count < count else { continue }
                simulation.violated(
                    .recorded,
                    "chain \(id) accepted by \(processes[device].name) and lost: "
                        + "\(chain.finished.count) of its \(count) tasks have finished, and "
                        + "nothing is left of it")
            }
        }
    }
}
