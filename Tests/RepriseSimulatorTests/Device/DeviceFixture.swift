import Foundation
import RepriseChannels
import RepriseCore
import RepriseSimulator
import RepriseWire

/// Devices with a reader of each kind, a peer, and one who counts outside of the stores.
final class DeviceFixture {
    static let kinds: [SimulatedDevice.ReaderPlan] = [
        .init("inside", .inside, options: .init(attemptLimit: 1_000)),
        .init("again", .outside, options: .init(attemptLimit: 1_000)),
        .init("asking", .outsideAsking, options: .init(attemptLimit: 1_000)),
        .init("never", .outside, options: .init(attemptLimit: 1_000, onInterruption: .never)),
    ]

    let simulation: Simulation
    let network: SimulatedNetwork
    let peer: ScriptedPeer
    private(set) var devices: [SimulatedDevice] = []
    private(set) var disks: [SimulatedDisk] = []
    /// Effects outside of the stores: by device, reader and message.
    private(set) var effects: [String: Int] = [:]
    private(set) var recorded: [EntryID] = []
    private var attempted: Set<EntryID> = []
    private(set) var acknowledged: Set<EntryID> = []
    private(set) var kills = 0
    private(set) var restores = 0

    init(
        seed: UInt64 = 1, devices count: Int = 1, faults: [Fault] = [],
        length: Duration = .seconds(60), mutation: Mutation? = nil, isTracing: Bool = false,
        readers: [SimulatedDevice.ReaderPlan] = DeviceFixture.kinds, comparedIn folder: URL? = nil
    ) throws {
        simulation = Simulation(
            FaultSchedule(seed: seed, devices: count, messages: 50, faults: faults, length: length),
            mutation: mutation, isTracing: isTracing)
        network = SimulatedNetwork(simulation)
        peer = try ScriptedPeer(simulation, network)
        for index in 0..<count { add(index, readers, folder) }
    }

    private func add(_ index: Int, _ readers: [SimulatedDevice.ReaderPlan], _ folder: URL?) {
        let name = "device-\(index)"
        let disk = SimulatedDisk(simulation, name: name)
        let store: any DeviceStore =
            if let folder {
                ComparedStore(
                    simulation, at: folder.appendingPathComponent(name), disk: disk,
                    schemas: [Channels.schema])
            } else {
                ModelStore(simulation, disk: disk)
            }
        let device = SimulatedDevice(
            simulation, name: name, network: network, store: store,
            plan: .init(
                server: ScriptedPeer.name, channels: [.init(peer.channel, readers: readers)]))
        device.effect = { [unowned self] device, reader, _, id, _ in
            effects["\(device.name)/\(reader.name)/\(id)", default: 0] += 1
        }
        device.acknowledged = { [unowned self] _, id in acknowledged.insert(id) }
        device.stateChanged = { [unowned self] device, channel, state in
            if state == .live { checkLive(device, channel) }
        }
        disks.append(disk)
        devices.append(device)
        device.process.start()
    }

    func publish(_ count: Int, prefix: String = "m") throws {
        for index in 0..<count { peer.store(try EntryID("\(prefix)\(index)")) }
    }

    func send(_ id: String, from device: SimulatedDevice) throws {
        let id = try EntryID(id)
        attempted.insert(id)
        device.publish(id, .init(body: Array("2".utf8)), to: peer.channel) {
            [unowned self] result in
            if case .success = result { recorded.append(id) }
        }
    }

    func kill(_ device: SimulatedDevice, losingPower: Bool = false, for length: Duration) {
        kills += 1
        device.process.kill()
        device.store.crash(losingPower: losingPower)
        simulation.after(length) { device.process.start() }
    }

    /// Draws producers' moments and lets the faults loose, heals, and waits until all should be
    /// complete.
    func play(messages: Int = 40) throws {
        var random = simulation.random("stage")
        let length = simulation.schedule.length
        for index in 0..<messages {
            let id = try EntryID("m\(index)")
            simulation.after(length * random.fraction()) { [unowned self] in peer.store(id) }
        }
        for index in 0..<messages / 4 {
            let device = devices[random.index(devices.count)]
            simulation.after(length * random.fraction()) { [unowned self] in
                try? send("p\(index)", from: device)
            }
        }
        handle(with: random)
        let injector = FaultInjector(
            simulation, network: network,
            devices: zip(devices, disks).map { device, disk in
                .init(process: device.process, disk: disk) { [unowned self] losingPower in
                    kills += 1
                    device.store.crash(losingPower: losingPower)
                }
            })
        injector.schedule { [unowned self] fault in
            simulation.met(fault.kind)
            switch fault.kind {
            case .retention: peer.trim(1 + Int(fault.bits % 9))
            case .newEpoch:
                restores += 1
                peer.restore()
            default: break
            }
        }
        simulation.run(until: length)
        for device in devices { device.handling = { _, _, _ in .succeed(after: .zero) } }
        injector.heal()
        simulation.run(until: length + .seconds(1_500))
        // A handler that hangs does so until its process ends.
        for device in devices { kill(device, for: .milliseconds(10)) }
        simulation.run(until: length + .seconds(3_000))
    }

    private func handle(with random: SeededRandom) {
        var random = random
        for device in devices {
            device.handling = { _, _, _ in
                let rank = random.fraction()
                if rank < 0.05 { return .fail(after: .milliseconds(2)) }
                if rank < 0.06 { return .hang }
                if rank < 0.2 {
                    return .succeed(after: random.duration(.milliseconds(1), .seconds(2)))
                }
                return .succeed(after: .zero)
            }
        }
    }

    // MARK: What must hold

    private func checkLive(_ device: SimulatedDevice, _ channel: ChannelName) {
        guard let stored = try? device.stored(channel) else {
            return simulation.violated(.coverage, "\(device.name) is live with nothing stored")
        }
        guard stored.coverage.isComplete(through: stored.head) else {
            return simulation.violated(
                .coverage, "\(device.name) is live with \(stored.coverage) of \(stored.head)")
        }
    }

    /// - Returns: what does not hold at the end of a run that has healed; empty if all does.
    func findings() throws -> [String] {
        if let violation = simulation.violation { return ["\(violation)"] }
        var findings: [String] = []
        for device in devices {
            guard let contents = try device.contents(of: peer.channel),
                let stored = try device.stored(peer.channel)
            else {
                findings.append("\(device.name) has nothing")
                continue
            }
            findings += complete(device, stored, contents)
            findings += try handled(device, contents)
            if try device.channelsLedger()?.isBalanced != true {
                findings.append("\(device.name)'s ledger does not balance")
            }
        }
        for id in recorded where restores == 0 {
            if peer.published[id] == nil { findings.append("\(id) was not published") }
            if !acknowledged.contains(id), kills == 0 {
                findings.append("\(id) was not acknowledged")
            }
        }
        for message in peer.messages where message.id.text.hasPrefix("p") {
            if !attempted.contains(message.id) {
                findings.append("\(message.id) was stored, but nobody published it")
            }
        }
        return findings
    }

    private func complete(
        _ device: SimulatedDevice, _ stored: ChannelStore.Stored, _ contents: ChannelContents
    ) -> [String] {
        var findings: [String] = []
        if device.state(of: peer.channel) != .live {
            findings.append("\(device.name) is \(device.state(of: peer.channel))")
        }
        if stored.epoch != peer.epoch || !stored.coverage.isComplete(through: peer.head) {
            findings.append("\(device.name) has \(stored.coverage) of \(peer.head)")
        }
        var times: [EntryID: Int] = [:]
        for message in contents.messages { times[message.id, default: 0] += 1 }
        for (id, count) in times where count > 1 {
            findings.append("\(device.name) stored \(id) \(count) times")
        }
        for message in peer.messages where times[message.id] == nil {
            findings.append("\(device.name) has not got \(message.id)")
        }
        let current = contents.messages.filter { $0.epoch == peer.epoch }.map(\.seq)
        let lost = contents.losses.filter { $0.epoch == peer.epoch }
        for seq in 1...max(peer.floor, 1) where seq <= peer.floor && !current.contains(seq) {
            let isKnown = lost.contains { $0.after < seq && seq <= $0.through ?? .max }
            if !isKnown, restores == 0 {
                findings.append("\(device.name) lost \(seq) and does not know")
            }
        }
        return findings
    }

    private func handled(_ device: SimulatedDevice, _ contents: ChannelContents) throws -> [String]
    {
        var findings: [String] = []
        var inside: [String: Int] = [:]
        for effect in try device.effects() ?? [] { inside[effect, default: 0] += 1 }
        for message in contents.messages {
            for reader in Self.kinds {
                let key = "\(device.name)/\(reader.name)/\(message.id)"
                let count =
                    reader.kind == .inside
                    ? inside[reader.effectText(peer.channel, message.id)] ?? 0
                    : effects[key] ?? 0
                let isInDoubt = contents.exceptions.contains {
                    $0.id == message.id && $0.reader == reader.name && $0.state == .unconfirmed
                }
                let mayRepeat = reader.name == "again" && kills > 0
                let isRight =
                    isInDoubt ? count <= 1 : mayRepeat ? count >= 1 : count == 1
                if !isRight { findings.append("\(key) took effect \(count) times") }
            }
        }
        return findings
    }
}
