import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal

/// Chains on the shipping tables, whose tasks have effects that somebody counts: the invariants of
/// the feature, whatever goes wrong.
///
/// The rows of chains have no model, so whatever tier is asked for, the shipping journal is played;
/// in tier `model` small runs share open ones.
package struct ChainsWorkload: Workload {
    package let name: String
    package let summary: String
    private let hasSystem: Bool

    /// - Parameter hasSystem: `chains-system`: the same schedules, under a system that grants time.
    package init(hasSystem: Bool = false) {
        self.hasSystem = hasSystem
        name = hasSystem ? "chains-system" : "chains"
        summary =
            hasSystem
            ? "the same chains in the background: granted time, slots; long outputs, damage"
            : "chains of tasks: parallel, waiting, retried, undone, of several versions"
    }

    /// Within how long everything ends once nothing is wrong any more.
    static let timeout: Duration = .seconds(3_000)
    /// A calendar that went back while the device had no power: no clock can tell, and waits are
    /// that much longer.
    static let undetectable: Duration = .seconds(90_000)

    package func schedule(seed: UInt64) -> FaultSchedule {
        ChainsMix.isLarge(seed)
            ? FaultSchedule.draw(seed: seed, kinds: Self.kinds)
            : FaultSchedule.draw(
                seed: seed, kinds: Self.kinds, length: (.seconds(20), .seconds(120)), size: .small)
    }

    private static let kinds: [(kind: Fault.Kind, weight: Int)] = [
        (.killDevice, 8), (.powerLossDevice, 4), (.suspend, 3), (.secondOwner, 3),
        (.diskFull, 2), (.syncFails, 4), (.clockJump, 3), (.clockDrift, 1),
        (.gateCloses, 6), (.handlerThrows, 3), (.handlerHangs, 2), (.handlerLate, 3),
    ]

    /// For small runs; in the large ones, and in the other tiers, each launch opens its files.
    private static let stock = JournalStock(kinds: ChainsKinds.all, schemas: [Chains.schema])

    package func play(_ simulation: Simulation, on tier: Tier) {
        let schedule = simulation.schedule
        let mix = ChainsMix(schedule.seed)
        let surroundings = hasSystem ? ChainsSurroundings(schedule.seed) : .none
        if mix.isLarge { simulation.had(.large) }
        var random = simulation.random("messages")
        let messages = (0..<schedule.messages).map { ChainsMessage($0, schedule, mix, &random) }
        let folder = Self.folder(tier, name, schedule)
        defer { try? FileManager.default.removeItem(at: folder) }
        let devices = Self.devices(simulation, in: folder, on: tier, surroundings)
        play(simulation, devices, messages)
        for device in devices { device.end() }
    }

    static func devices(
        _ simulation: Simulation, in folder: URL, on tier: Tier, _ surroundings: ChainsSurroundings
    ) -> [ChainsDevice] {
        let isLarge = ChainsMix.isLarge(simulation.schedule.seed)
        return (0..<simulation.schedule.devices).map { index in
            let disk = SimulatedDisk(simulation, name: "device \(index)")
            let folder = folder.appendingPathComponent("\(index)")
            return ChainsDevice(
                simulation, index: index, disk: disk,
                store: GRDBStore(
                    simulation, at: folder, disk: disk,
                    schemas: [Chains.schema],
                    stock: tier == .model && !isLarge ? Self.stock : nil),
                folder: folder, surroundings: surroundings)
        }
    }

    /// For a run of a workload.
    static func folder(_ tier: Tier, _ name: String, _ schedule: FaultSchedule) -> URL {
        folder(tier).appendingPathComponent("reprise-\(name)-\(schedule.seed)-\(EntryID.random())")
    }

    /// In memory, where the machine has a place for that.
    private static func folder(_ tier: Tier) -> URL {
        switch tier {
        case .real(let url), .compared(let url): return url
        case .model:
            let memory = "/dev/shm"
            return FileManager.default.isWritableFile(atPath: memory)
                ? URL(fileURLWithPath: memory) : FileManager.default.temporaryDirectory
        }
    }

    private func play(
        _ simulation: Simulation, _ devices: [ChainsDevice], _ messages: [ChainsMessage]
    ) {
        let schedule = simulation.schedule
        let injector = FaultInjector(simulation, network: nil, devices: devices.map(\.machine))
        for device in devices { device.process.start() }
        for message in messages {
            simulation.after(message.at) { devices[message.device].arrives(message) }
        }
        injector.schedule { fault in devices[fault.target % devices.count].inflict(fault) }
        simulation.run(until: Self.end(of: schedule))
        injector.heal()
        for device in devices { device.heal() }
        Self.reply(simulation, devices, 0..<20)
        simulation.run(until: simulation.now + Self.timeout)
        if hasSystem {
            for device in devices { device.endsWithSlots() }
            // Where time was short, some wait later.
            Self.reply(simulation, devices, 21..<41)
            simulation.run(until: simulation.now + Self.timeout)
        }
        if schedule.faults.contains(where: { $0.kind == .clockJump || $0.kind == .clockDrift }) {
            simulation.run(until: simulation.now + Self.undetectable)
            for device in devices { device.replies(20) }
            simulation.run(until: simulation.now + Self.timeout)
        }
        for device in devices { device.look(isEnd: true) }
    }

    /// Those who sleep for weeks are waited for.
    static func end(of schedule: FaultSchedule) -> Duration {
        schedule.faults.reduce(schedule.length) {
            $1.kind == .suspend ? max($0, $1.at + $1.length) : $0
        }
    }

    /// What chains wait for comes, once a minute.
    static func reply(
        _ simulation: Simulation, _ devices: [ChainsDevice], _ numbers: Range<Int>
    ) {
        for number in numbers {
            simulation.after(.seconds(60) * (number - numbers.lowerBound + 1)) {
                for device in devices where device.checker.someWaitForReply {
                    device.replies(number)
                }
            }
        }
    }
}
