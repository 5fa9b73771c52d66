import Foundation

/// Devices that read and publish in channels of a cluster: several gateways of one journal.
///
/// The devices, the producers, the people and the checkers of ``ChannelsWorkload``; the gateways
/// apply the journal to real views, on files.
package struct ClusterWorkload: Workload {
    package let name = "cluster"
    package let summary = "Devices read and publish in the channels of several gateways."

    package init() {}

    /// The faults that it knows, with how often each is drawn.
    static let kinds: [(kind: Fault.Kind, weight: Int)] = [
        (.delay, 2), (.slow, 1), (.reorder, 1), (.drop, 1), (.duplicate, 1), (.cut, 6),
        (.halfOpen, 4), (.partition, 2), (.killDevice, 3), (.killServer, 6),
        (.powerLossServer, 4), (.suspend, 2), (.serverDiskFull, 2), (.retention, 3),
        (.handlerThrows, 1), (.refusePublish, 2), (.shutdownServer, 3), (.journalLoses, 6),
        (.journalRepeats, 5), (.journalDelays, 6), (.journalLeaderless, 4), (.gatewayCutOff, 6),
        (.gatewayStops, 5), (.viewLost, 3),
    ]

    package func schedule(seed: UInt64) -> FaultSchedule {
        FaultSchedule.draw(
            seed: seed, kinds: Self.kinds, length: (.seconds(5), .seconds(60)), size: .small
        ).adding(
            [.deviceMoves, .deviceMoves, .gatewayReturns, .gatewayReturns, .journalStrangers],
            most: 2, for: "more of a cluster")
    }

    package func play(_ simulation: Simulation, on tier: Tier) {
        do {
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("reprise-cluster-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let world = try ChannelsWorld(simulation, tier, cluster: folder)
            ChannelsWorkload.play(world, simulation)
            guard simulation.violation == nil else { return }
            let mix = ClusterMix(simulation.schedule)
            if mix.goesBack { world.goBack() }
            if mix.hasBases { world.keepBases() }
            if mix.hasPushes { world.push() }
        } catch {
            simulation.violated(.agreement, "the stores cannot be used: \(error)")
        }
    }
}
