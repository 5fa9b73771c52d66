/// The disk under one store: says what becomes of each commit.
///
/// What a commit is worth: a process that is killed loses nothing that was committed; a machine
/// that loses power loses what was not synced; after a sync that failed nobody knows, until the
/// next commit writes over it.
package final class SimulatedDisk {
    package enum Fate: Hashable {
        case done
        /// Nothing was written.
        case full
        /// An error is reported; whether it is there after a crash nobody knows.
        case syncFailed
    }

    private let simulation: Simulation
    private let kinds: (full: Fault.Kind, sync: Fault.Kind)
    /// Until when nothing can be written.
    private(set) var fullUntil: Duration = .zero
    private var failingSyncs = 0
    private var coin: SeededRandom

    package init(_ simulation: Simulation, name: String, isServer: Bool = false) {
        self.simulation = simulation
        kinds = isServer ? (.serverDiskFull, .serverSyncFails) : (.diskFull, .syncFails)
        coin = simulation.random("disk of \(name)")
    }

    /// Asked once for each commit that is being made now.
    package func commit() -> Fate {
        if simulation.now < fullUntil {
            simulation.met(kinds.full)
            return .full
        }
        guard failingSyncs > 0 else { return .done }
        failingSyncs -= 1
        simulation.met(kinds.sync)
        return .syncFailed
    }

    /// Whether a commit whose sync failed is found after a crash.
    package func keepsUnsynced() -> Bool { coin.chance(0.5) }

    package func fill(for duration: Duration) { fullUntil = simulation.now + duration }

    package func failSyncs(_ count: Int) { failingSyncs += count }

    package func heal() {
        fullUntil = .zero
        failingSyncs = 0
    }
}
