import Foundation
import RepriseCore
import RepriseJournal

/// Producers that record, gates that open and close, handlers that fail: what the journal promises,
/// whatever goes wrong.
package struct GatesWorkload: Workload {
    package init() {}

    package let name = "gates"
    package let summary = "entries recorded by producers, held by gates, dispatched to handlers"

    /// Within how long everything ends once nothing is wrong any more: the longest of waits,
    /// answers and partition keys.
    private static let timeout: Duration = .seconds(1_200)
    /// A calendar that went back while the device had no power: no clock can tell, and waits are
    /// that much longer.
    private static let undetectable: Duration = .seconds(90_000)

    package func schedule(seed: UInt64) -> FaultSchedule {
        FaultSchedule.draw(
            seed: seed,
            kinds: [
                (.killDevice, 6), (.powerLossDevice, 4), (.suspend, 3), (.secondOwner, 3),
                (.diskFull, 2), (.syncFails, 4), (.clockJump, 3), (.clockDrift, 1),
                (.gateCloses, 4), (.handlerThrows, 2), (.handlerHangs, 2), (.handlerLate, 2),
            ])
    }

    package func play(_ simulation: Simulation, on tier: Tier) {
        let schedule = simulation.schedule
        var random = simulation.random("messages")
        let messages = (0..<schedule.messages).map {
            GatesMessage($0, devices: schedule.devices, length: schedule.length, &random)
        }
        var settings = StoreSettings()
        if random.chance(0.5) { settings.pendingLimit = 6 + random.index(10) }
        let folder = tier.folder(of: schedule)
        defer { if let folder { try? FileManager.default.removeItem(at: folder) } }
        let devices = (0..<schedule.devices).map { index in
            let disk = SimulatedDisk(simulation, name: "device \(index)")
            return GatesDevice(
                simulation, index: index, disk: disk,
                store: tier.store(
                    simulation, disk: disk, settings: settings,
                    folder: folder?.appendingPathComponent("\(index)")),
                messages: messages.filter { $0.device == index },
                settings: settings)
        }
        play(simulation, devices, messages)
    }

    private func play(
        _ simulation: Simulation, _ devices: [GatesDevice], _ messages: [GatesMessage]
    ) {
        let schedule = simulation.schedule
        let injector = FaultInjector(
            simulation, network: nil, devices: devices.map(\.machine))
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
        if devices.contains(where: { $0.observer.calendarMoved }) {
            simulation.run(until: simulation.now + Self.undetectable)
        }
        for device in devices { device.look(isEnd: true) }
        for device in devices { device.end() }
    }
}

extension Tier {
    /// A folder of its own for each run.
    func folder(of schedule: FaultSchedule) -> URL? {
        switch self {
        case .model: nil
        case .real(let url), .compared(let url):
            url.appendingPathComponent("gates-\(schedule.seed)-\(EntryID.random())")
        }
    }

    func store(
        _ simulation: Simulation, disk: SimulatedDisk, schemas: [JournalSchema] = [],
        settings: StoreSettings, folder: URL?
    ) -> any DeviceStore {
        switch (self, folder) {
        case (.real, let folder?):
            GRDBStore(
                simulation, at: folder, disk: disk, schemas: schemas, settings: settings)
        case (.compared, let folder?):
            ComparedStore(
                simulation, at: folder, disk: disk, schemas: schemas, settings: settings)
        case (.model, _), (.real, nil), (.compared, nil):
            ModelStore(simulation, disk: disk, settings: settings)
        }
    }
}
