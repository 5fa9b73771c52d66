/// Counts from outside which tasks ran, and which ran again though nothing obliged them to.
///
/// A task that is killed before anybody could write down that it has finished must run again, with
/// us as well. It is only held against an algorithm if its process has run on for ``timeout``
/// since, with a disk that takes what is written: time to write it down many times over.
final class ChainObserver {
    static let timeout: Duration = .seconds(1)
    /// Whoever met a full disk may rest for so long before trying again.
    static let rest: Duration = .seconds(30)

    private struct Finish {
        let at: Duration
        let life: Int
    }

    /// How a life of a process ended.
    private struct End {
        let at: Duration
        /// Since when it could have written.
        let ableSince: Duration
    }

    private struct Chain {
        var steps: [Int] = []
        var isAccepted = false
        var finished: [SingleValueChains.Task: Finish] = [:]
    }

    private let simulation: Simulation
    private let processes: [SimulatedProcess]
    private let disks: [SimulatedDisk]
    private var chains: [[Int: Chain]]
    /// The lives of each device that have ended, by their numbers.
    private var ends: [[Int: End]]

    init(_ fixture: BaselineFixture) {
        simulation = fixture.simulation
        processes = fixture.processes
        disks = fixture.disks
        chains = Array(repeating: [:], count: processes.count)
        ends = Array(repeating: [:], count: processes.count)
    }

    /// The process has just been killed.
    func killed(device: Int) {
        let full = disks[device].fullUntil
        let able = full > .zero ? full + Self.rest : .zero
        ends[device][processes[device].life] = End(
            at: simulation.now, ableSince: max(processes[device].awakeSince, able))
    }

    func accepted(_ chain: Int, steps: [Int], device: Int) {
        chains[device][chain, default: Chain()].steps = steps
        chains[device][chain]?.isAccepted = true
    }

    func started(_ task: SingleValueChains.Task, device: Int) {
        guard let finished = chains[device][task.chain]?.finished[task] else { return }
        guard let end = ends[device][finished.life] else {
            return simulation.violated(
                .once, "\(task.text) runs again on \(processes[device].name), which lives on")
        }
        let left = end.at - max(finished.at, end.ableSince)
        guard left >= Self.timeout else { return }
        simulation.violated(
            .once,
            "\(task.text) runs again on \(processes[device].name), though it had finished "
                + "\(Baseline.seconds(left)) before the kill")
    }

    func finished(_ task: SingleValueChains.Task, device: Int) {
        chains[device][task.chain, default: Chain()].finished[task] = Finish(
            at: simulation.now, life: processes[device].life)
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
