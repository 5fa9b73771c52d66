import Foundation
import RepriseCore

/// Chains that run again and again, for days, on devices whose clocks are set and that travel: one
/// run of each time, none before it and none missing.
///
/// As in `chains`, every tier plays the shipping journal.
package struct ChainSchedulesWorkload: Workload {
    package let name = "chains-schedules"
    package let summary = "chains run by intervals and times of day; clocks are set, zones change"

    package init() {}

    /// For so long all times are looked for once nothing is wrong any more: a day, and more.
    private static let healthy: Duration = .seconds(100_000)

    package func schedule(seed: UInt64) -> FaultSchedule {
        FaultSchedule.draw(
            seed: seed, kinds: Self.kinds, length: (.seconds(43_200), .seconds(259_200)),
            size: ChainsMix.isLarge(seed) ? .large : .small)
    }

    private static let kinds: [(kind: Fault.Kind, weight: Int)] = [
        (.killDevice, 8), (.powerLossDevice, 5), (.suspend, 4), (.secondOwner, 3), (.diskFull, 2),
        (.syncFails, 3), (.gateCloses, 2), (.handlerThrows, 2), (.handlerHangs, 2),
        (.handlerLate, 1),
    ]

    package func play(_ simulation: Simulation, on tier: Tier) {
        let schedule = simulation.schedule
        if ChainsMix.isLarge(schedule.seed) { simulation.had(.large) }
        var random = simulation.random("messages")
        let messages = (0..<schedule.messages).map { ScheduleMessage($0, schedule, &random) }
        let folder = ChainsWorkload.folder(tier, name, schedule)
        defer { try? FileManager.default.removeItem(at: folder) }
        let devices = ChainsWorkload.devices(simulation, in: folder, on: tier, .schedules)
        play(simulation, devices, messages)
        for device in devices { device.end() }
    }

    private func play(
        _ simulation: Simulation, _ devices: [ChainsDevice], _ messages: [ScheduleMessage]
    ) {
        let injector = FaultInjector(simulation, network: nil, devices: devices.map(\.machine))
        for device in devices { device.process.start() }
        for message in messages {
            simulation.after(message.at) { devices[message.device].schedules?.happens(message) }
        }
        injector.schedule { fault in devices[fault.target % devices.count].inflict(fault) }
        simulation.run(until: ChainsWorkload.end(of: simulation.schedule))
        injector.heal()
        for device in devices { device.heal() }
        ChainsWorkload.reply(simulation, devices, 0..<20)
        simulation.run(until: simulation.now + Self.healthy)
        // Then what has begun comes to its end.
        for device in devices { device.schedules?.end() }
        ChainsWorkload.reply(simulation, devices, 21..<41)
        simulation.run(until: simulation.now + ChainsWorkload.undetectable)
        for device in devices { device.replies(50) }
        simulation.run(until: simulation.now + ChainsWorkload.timeout)
        for device in devices { device.look(isEnd: true) }
    }
}
