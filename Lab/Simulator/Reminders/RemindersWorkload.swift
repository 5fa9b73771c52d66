import Foundation
import RepriseCore
import RepriseJournal
import RepriseReminders

/// Goals that come and go, a notification centre that rings, people who tap: the invariants of
/// the feature, whatever goes wrong.
package struct RemindersWorkload: Workload {
    package let name: String
    package let summary: String
    private let hasRules: Bool

    /// - Parameter hasRules: `reminders-rules`: the same schedules, with goals that are reminded of
    ///   by the month and the year, quiet hours, and clocks that are set.
    package init(hasRules: Bool = false) {
        self.hasRules = hasRules
        name = hasRules ? "reminders-rules" : "reminders"
        summary =
            hasRules
            ? "the same by month and year, with ends, quiet hours and clocks that are set"
            : "reminders that should ring and those pending; taps and actions resolved"
    }

    /// Within how long taps end once nothing is wrong any more: waits of a store that has failed,
    /// screens.
    private static let timeout: Duration = .seconds(1_800)
    /// A calendar that went back while the phone had no power: no clock can tell, and waits are
    /// that much longer.
    private static let undetectable: Duration = .seconds(90_000)
    /// Within how long what is pending is right after a change or a launch.
    private static let launch: Duration = .seconds(120)

    package func schedule(seed: UInt64) -> FaultSchedule {
        FaultSchedule.draw(
            seed: seed, kinds: Self.kinds, length: (.seconds(60), .seconds(7_200)),
            size: RemindersMix.isLarge(seed) ? .large : .small)
    }

    private static let kinds: [(kind: Fault.Kind, weight: Int)] = [
        (.killDevice, 8), (.powerLossDevice, 4), (.suspend, 3), (.diskFull, 2),
        (.syncFails, 4), (.clockJump, 2), (.clockDrift, 1), (.gateCloses, 3),
        (.storeFails, 4), (.storeSlow, 4), (.centreGone, 4), (.centreRefuses, 2),
        (.permissionRevoked, 3), (.travels, 3),
    ]

    package func play(_ simulation: Simulation, on tier: Tier) {
        let schedule = simulation.schedule
        var mix = RemindersMix(schedule.seed)
        if hasRules { mix.addRules(schedule.seed, length: schedule.length) }
        if mix.isLarge { simulation.had(.large) }
        var random = simulation.random("messages")
        let messages = (0..<schedule.messages).map {
            RemindersMessage($0, devices: schedule.devices, length: schedule.length, &random)
        }
        let folder = tier.folder(of: schedule)
        defer { if let folder { try? FileManager.default.removeItem(at: folder) } }
        let devices = (0..<schedule.devices).map { index in
            let disk = SimulatedDisk(simulation, name: "device \(index)")
            return RemindersDevice(
                simulation, index: index, mix, disk: disk,
                store: tier.store(
                    simulation, disk: disk, schemas: [Reminders.schema], settings: StoreSettings(),
                    folder: folder?.appendingPathComponent("\(index)")))
        }
        play(simulation, devices, messages)
        for device in devices { device.process.kill("ends") }
    }

    private func play(
        _ simulation: Simulation, _ devices: [RemindersDevice], _ messages: [RemindersMessage]
    ) {
        let schedule = simulation.schedule
        let injector = FaultInjector(simulation, network: nil, devices: devices.map(\.machine))
        for device in devices { device.process.start() }
        for message in messages {
            simulation.after(message.at) { devices[message.device].happens(message) }
        }
        for message in RemindersMessage.beside(schedule.faults, devices: devices.count) {
            simulation.after(message.at) { devices[message.device].happens(message) }
        }
        injector.schedule { fault in devices[fault.target % devices.count].inflict(fault) }
        for fault in schedule.faults {
            simulation.after(fault.at) { devices[fault.target % devices.count].waylay(fault) }
        }
        // Those who sleep for weeks are waited for.
        let end = schedule.faults.reduce(schedule.length) {
            $1.kind == .suspend ? max($0, $1.at + $1.length) : $0
        }
        // A moment of the simulation is a whole nanosecond.
        while simulation.now + .nanoseconds(1) < end, simulation.violation == nil {
            simulation.run(until: min(end, simulation.now + .seconds(43_200)))
            for device in devices { device.look(isEnd: false) }
        }
        injector.heal()
        for device in devices { device.heal() }
        wait(simulation, devices)
        var random = simulation.random("the end")
        for device in devices { device.change(&random) }
        agree(simulation, devices, "after a change")
        for device in devices { device.launchAnew(&random) }
        agree(simulation, devices, "within one launch")
        for device in devices { device.look(isEnd: true) }
    }

    /// Until every tap is over.
    private func wait(_ simulation: Simulation, _ devices: [RemindersDevice]) {
        let isMoved = simulation.schedule.faults.contains {
            $0.kind == .clockJump || $0.kind == .clockDrift
        }
        let end = simulation.now + (isMoved ? Self.undetectable : Self.timeout)
        while simulation.violation == nil, simulation.now < end {
            simulation.run(until: simulation.now + .seconds(120))
            if devices.allSatisfy(\.isAllOver) { return }
        }
    }

    /// What is pending becomes what should be, and stays it.
    private func agree(_ simulation: Simulation, _ devices: [RemindersDevice], _ when: String) {
        simulation.run(until: simulation.now + Self.launch)
        for device in devices {
            var tries = 30
            while simulation.violation == nil, let difference = device.difference {
                guard tries > 0 else {
                    return device.checker.violated(.accounted, "\(when): \(difference)")
                }
                tries -= 1
                device.comesToFrontIfOneRang()
                simulation.run(until: simulation.now + .seconds(1))
            }
            guard simulation.violation == nil else { return }
            if let title = device.leftover {
                device.checker.violated(
                    .accounted, "\(when): \(title) is not in use, and stands there still")
            }
        }
    }
}
