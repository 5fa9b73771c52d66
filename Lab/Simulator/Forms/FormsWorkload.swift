import Foundation
import RepriseCore
import RepriseForms
import RepriseJournal

/// Events that wait for a page, and a page that dies, hangs and forges: what the feature forms
/// promises, whatever goes wrong.
package struct FormsWorkload: Workload {
    /// Nil: as the seed draws it.
    private let size: FaultSchedule.Size?
    private let hasConditions: Bool

    /// - Parameters:
    ///   - size: of all schedules; nil: nineteen of twenty are small.
    ///   - hasConditions: `forms-targeting`: the same schedules, with audiences, conditions on past
    ///     events and quiet times.
    package init(size: FaultSchedule.Size? = nil, hasConditions: Bool = false) {
        (self.size, self.hasConditions) = (size, hasConditions)
        name = hasConditions ? "forms-targeting" : "forms"
        summary =
            hasConditions
            ? "the same for some persons, after past events, and not in quiet times"
            : "events that wait for a page; forms granted, shown and counted"
    }

    package let name: String
    package let summary: String

    /// Within how long everything ends once nothing is wrong any more: delays of triggers, pages
    /// that rest, forms on the screen.
    private static let timeout: Duration = .seconds(1_800)

    package func schedule(seed: UInt64) -> FaultSchedule {
        FaultSchedule.draw(
            seed: seed,
            kinds: [
                (.killDevice, 8), (.powerLossDevice, 4), (.suspend, 3), (.diskFull, 2),
                (.syncFails, 4), (.pageDies, 6), (.pageHangs, 3), (.pageLate, 3),
                (.pageForges, 4), (.newCatalogue, 4), (.logOut, 2), (.newCompany, 2),
            ], size: size(of: seed))
    }

    private func size(of seed: UInt64) -> FaultSchedule.Size { size ?? FormsMix.size(of: seed) }

    package func play(_ simulation: Simulation, on tier: Tier) {
        let schedule = simulation.schedule
        let size = size(of: schedule.seed)
        if size == .large { simulation.had(.large) }
        let mix = FormsMix(schedule, size: size)
        var random = simulation.random("messages")
        let messages = (0..<schedule.messages).map {
            FormsMessage($0, devices: schedule.devices, length: schedule.length, mix, &random)
        }
        let folder = tier.folder(of: schedule)
        defer { if let folder { try? FileManager.default.removeItem(at: folder) } }
        let devices = (0..<schedule.devices).map { index in
            let disk = SimulatedDisk(simulation, name: "device \(index)")
            return FormsDevice(
                simulation, index: index, disk: disk,
                store: tier.store(
                    simulation, disk: disk, schemas: [Forms.schema], settings: StoreSettings(),
                    folder: folder?.appendingPathComponent("\(index)")),
                messages: messages.filter { $0.device == index }, asksApp: mix.asksApp,
                hasConditions: hasConditions)
        }
        if hasConditions { for device in devices { tellPlans(simulation, device) } }
        play(simulation, devices, messages)
    }

    /// The app learns who the person is, several times.
    private func tellPlans(_ simulation: Simulation, _ device: FormsDevice) {
        var random = simulation.random("plans of \(device.name)")
        for _ in 0..<2 + random.index(5) {
            let plan = ["vip", "vip", "free", ""][random.index(4)]
            simulation.after(simulation.schedule.length * random.fraction()) { device.tell(plan) }
        }
    }

    private func play(
        _ simulation: Simulation, _ devices: [FormsDevice], _ messages: [FormsMessage]
    ) {
        let schedule = simulation.schedule
        let injector = FaultInjector(simulation, network: nil, devices: devices.map(\.machine))
        for device in devices { device.process.start() }
        for message in messages {
            for moment in message.arrivals {
                simulation.after(moment) { devices[message.device].arrives(message) }
            }
        }
        injector.schedule { fault in devices[fault.target % devices.count].inflict(fault) }
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
        simulation.run(until: simulation.now + Self.timeout)
        for device in devices { device.look(isEnd: true) }
        for device in devices { device.process.kill("ends") }
    }
}
