import Foundation
import RepriseCore

/// Devices that read and publish in channels of one server, while everything goes wrong that can.
package struct ChannelsWorkload: Workload {
    package let name = "channels"
    package let summary = "Devices read and publish in a server's channels."

    package init() {}

    /// The faults that it knows, with how often each is drawn.
    static let kinds: [(kind: Fault.Kind, weight: Int)] = [
        (.delay, 3), (.slow, 3), (.reorder, 3), (.drop, 3), (.duplicate, 3), (.cut, 6),
        (.halfOpen, 5), (.partition, 4), (.killDevice, 8), (.killServer, 6),
        (.powerLossDevice, 3), (.powerLossServer, 2), (.suspend, 6), (.diskFull, 3),
        (.syncFails, 4), (.serverDiskFull, 3), (.serverSyncFails, 4), (.clockJump, 3),
        (.clockDrift, 2), (.retention, 3), (.restore, 2), (.newEpoch, 1), (.handlerThrows, 4),
        (.handlerHangs, 2), (.handlerLate, 3), (.refusePublish, 4), (.shutdownServer, 3),
        (.killLoading, 3),
    ]

    package func schedule(seed: UInt64) -> FaultSchedule {
        let schedule =
            ChannelsMix.isLarge(seed)
            ? FaultSchedule.draw(seed: seed, kinds: Self.kinds)
            : FaultSchedule.draw(
                seed: seed, kinds: Self.kinds, length: (.seconds(5), .seconds(60)), size: .small)
        guard People.areKnown(in: schedule) else { return schedule }
        return schedule.adding(
            [.tokensFail, .tokenSkew], most: ChannelsMix.isLarge(seed) ? 3 : 1, for: "tokens")
    }

    /// How long after everything has healed all must be complete: the longest backoff of a reader
    /// and of the outbox (5 min), several times over.
    static let timeout: Duration = .seconds(3_600)

    package func play(_ simulation: Simulation, on tier: Tier) {
        do {
            Self.play(try ChannelsWorld(simulation, tier), simulation)
        } catch {
            simulation.violated(.agreement, "the stores cannot be used: \(error)")
        }
    }

    static func play(_ world: ChannelsWorld, _ simulation: Simulation) {
        world.begin()
        simulation.run(until: simulation.schedule.length)
        world.heal()
        let end = simulation.now + Self.timeout
        while simulation.violation == nil, simulation.now < end, !world.isComplete {
            simulation.run(until: simulation.now + .seconds(10))
        }
        // What is late or comes twice has its chance to do harm.
        // A connection that is half open is given up after 50 s, and dialled anew within 30.
        simulation.run(until: simulation.now + .seconds(120))
        // Gateways write into the journal every few seconds: an entry may just be on its way.
        let settled = simulation.now + .seconds(5)
        while simulation.violation == nil, simulation.now < settled, !world.isSettled {
            simulation.run(until: simulation.now + .milliseconds(10))
        }
        guard simulation.violation == nil else { return }
        world.check()
    }
}

extension Tier {
    /// A new folder for one store of this run; nil on the model.
    func folder(_ name: String, _ simulation: Simulation) throws -> URL? {
        let parent: URL
        switch self {
        case .model: return nil
        case .real(let folder), .compared(let folder): parent = folder
        }
        let folder = parent.appendingPathComponent(name)
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }
}
