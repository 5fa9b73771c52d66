import Foundation
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseServer
import RepriseWire

/// The server, the devices, the producers and those who watch them: all of one run.
final class ChannelsWorld {
    private let simulation: Simulation
    private let network: SimulatedNetwork
    /// In a cluster, what stands for it.
    private let server: SimulatedServer
    private let cluster: SimulatedCluster?
    private let serverChecker: ServerChecker
    private let order: OrderChecker
    private let producers: Producers
    private let devices: [SimulatedDevice]
    private let checkers: [DeviceChecker]
    private let apps: [SnapshotApp]
    private let channels: [ChannelName]
    private let mix: ChannelsMix
    private let injector: FaultInjector
    private let handlers: HandlerFaults
    /// nil: the server asks nobody who he is.
    private let people: People?

    /// With a folder for the views of a cluster, the server is one.
    init(_ simulation: Simulation, _ tier: Tier, cluster folder: URL? = nil) throws {
        self.simulation = simulation
        network = SimulatedNetwork(simulation)
        mix = ChannelsMix(simulation.schedule)
        channels = try (0..<mix.channels).map { try ChannelName("room-\($0)") }
        let (network, channels) = (network, channels)
        cluster = try folder.map {
            try SimulatedCluster(simulation, network, channels, in: $0)
        }
        server = SimulatedServer(
            simulation, network: network,
            store: try cluster?.truth ?? Self.log(simulation, tier),
            settings: .drawn(for: simulation))
        cluster?.stand(behind: server)
        serverChecker = ServerChecker(simulation, server)
        order = OrderChecker(simulation, serverChecker)
        people =
            People.areKnown(in: simulation.schedule)
            ? try People(simulation, server, channels: channels) : nil
        if mix.isLarge { simulation.had(.large) }
        if people != nil { simulation.had(.users) }
        serverChecker.access = people?.checker
        serverChecker.watch()
        producers = Producers(simulation, server: server, order: order)
        handlers = HandlerFaults(simulation)
        let made = try Self.devices(simulation, tier, network, mix, channels, people)
        let devices = made.map { $0.device }
        self.devices = devices
        let (server, serverChecker) = (server, serverChecker)
        let people = people
        apps = devices.map { SnapshotApp(simulation, server, serverChecker, $0) }
        checkers = zip(devices, apps).map {
            DeviceChecker(simulation, $0, serverChecker, people, $1)
        }
        people?.watch(devices)
        producers.mayBeForbidden = { people?.mayBeForbidden($0, $1) ?? false }
        injector = FaultInjector(
            simulation, network: network, devices: made.map { $0.machine },
            servers: cluster?.servers.map(\.machine) ?? [server.machine])
        for (index, device) in devices.enumerated() {
            handlers.watch(device, index: index)
            device.acknowledged = { [unowned producers] _, id in producers.heard(id) }
            device.refused = { [unowned producers] _, id, code in producers.refused(id, code) }
        }
    }

    private static func devices(
        _ simulation: Simulation, _ tier: Tier, _ network: SimulatedNetwork, _ mix: ChannelsMix,
        _ channels: [ChannelName], _ people: People?
    ) throws -> [(device: SimulatedDevice, machine: FaultInjector.Machine)] {
        try (0..<simulation.schedule.devices).map { index in
            let name = "device-\(index)"
            let disk = SimulatedDisk(simulation, name: name)
            let store = try Self.store(simulation, tier, name, disk)
            var settings = ChannelsMachine.Settings()
            settings.tokens.user = people?.user(ofDevice: index)
            let device = SimulatedDevice(
                simulation, name: name, network: network, store: store,
                plan: .init(
                    server: "server", channels: mix.plan(channels, simulation, on: name),
                    settings: settings))
            let machine = FaultInjector.Machine(process: device.process, disk: disk) {
                store.crash(losingPower: $0)
            }
            return (device, machine)
        }
    }

    private static func log(_ simulation: Simulation, _ tier: Tier) throws -> any LogStore {
        let epoch = try SimulatedServer.firstEpoch()
        let model = ModelLogStore(LogModel(epoch: epoch), mutation: simulation.mutation)
        guard let folder = try tier.folder("server", simulation) else { return model }
        let real = try SQLiteLogStore(in: folder, epoch: epoch)
        guard case .compared = tier else { return real }
        return ComparedLogStore(model: model, real: real) { difference in
            simulation.violated(.agreement, difference)
        }
    }

    private static func store(
        _ simulation: Simulation, _ tier: Tier, _ name: String, _ disk: SimulatedDisk
    ) throws -> any DeviceStore {
        guard let folder = try tier.folder(name, simulation) else {
            return ModelStore(simulation, disk: disk)
        }
        guard case .compared = tier else {
            return GRDBStore(simulation, at: folder, disk: disk, schemas: [Channels.schema])
        }
        return ComparedStore(simulation, at: folder, disk: disk, schemas: [Channels.schema])
    }

    var isLarge: Bool { mix.isLarge }

    // MARK: A run

    func begin() {
        if let cluster {
            cluster.begin(people?.accounts) { [server] in server.membersChanged($0) }
        } else {
            server.process.start()
        }
        for device in devices { device.process.start() }
        people?.begin()
        scheduleMessages()
        scheduleBackups()
        injector.schedule { [self] fault in special(fault) }
    }

    /// Some in bursts, some alone; most from producers, some through the devices' outboxes; some
    /// twice.
    private func scheduleMessages() {
        var random = simulation.random("messages")
        var changes = simulation.random("changes")
        var places: [ChannelName] = []
        let length = simulation.schedule.length
        var index = 0
        while index < simulation.schedule.messages {
            let burst = min(
                random.chance(mix.bursts) ? 2 + random.index(20) : 1,
                simulation.schedule.messages - index)
            let at = random.chance(0.1) ? .zero : length * random.fraction()
            let author = random.chance(mix.fromDevices) ? devices[random.index(devices.count)] : nil
            let messages = (index..<index + burst).map { number in
                places.append(channels[random.index(channels.count)])
                let message = message(number, places[number])
                guard author != nil, changes.chance(mix.changes) else { return message }
                return change(message, places, &changes)
            }
            let isTwice = random.chance(0.1)
            simulation.after(at) { [self] in
                guard let author else {
                    producers.publish(messages)
                    if isTwice { producers.publish(messages) }
                    return
                }
                for message in messages { producers.publish(message, through: author) }
            }
            index += burst
        }
    }

    private func message(_ number: Int, _ channel: ChannelName) -> Producers.Message {
        Producers.Message(
            id: EntryID(unchecked: "m\(number)"), channel: channel,
            body: Array(#"{"n":\#(number)}"#.utf8))
    }

    /// Makes of a message an edit or a deletion: of one of its channel, whoever published that and
    /// whether it is there yet or not.
    private func change(
        _ message: Producers.Message, _ places: [ChannelName], _ random: inout SeededRandom
    ) -> Producers.Message {
        let others = places.indices.dropLast().filter { places[$0] == message.channel }
        guard !others.isEmpty else { return message }
        // Mostly what is new, so that some are changed several times.
        let recent = Array(others.suffix(8))
        let target = EntryID(unchecked: "m\(recent[random.index(recent.count)])")
        var message = message
        message.change = random.chance(0.6) ? .edits(target) : .deletes(target)
        if case .deletes = message.change { message.body = Array("null".utf8) }
        return message
    }

    private func scheduleBackups() {
        guard simulation.schedule.faults.contains(where: { $0.kind == .restore }) else { return }
        var random = simulation.random("backups")
        for _ in 0..<3 {
            simulation.after(simulation.schedule.length * random.fraction()) { [self] in
                if server.process.state == .running { server.backUp() }
            }
        }
    }

    private func special(_ fault: Fault) {
        switch fault.kind {
        case .retention:
            simulation.met(.retention)
            server.trim(RetentionPolicy(count: Int64(fault.bits % 12)))
        case .restore where server.process.state == .running:
            simulation.met(.restore)
            server.restore(outage: fault.length)
        case .newEpoch where server.process.state == .running:
            simulation.met(.newEpoch)
            server.beginNewLog(outage: fault.length)
        case .shutdownServer:
            let servers = cluster?.servers ?? [server]
            let server = servers[fault.target % servers.count]
            guard server.process.state == .running else { return }
            simulation.met(.shutdownServer)
            server.shutDown(outage: fault.length)
        case .journalLoses, .journalRepeats, .journalDelays, .journalLeaderless, .gatewayCutOff,
            .gatewayStops, .viewLost, .deviceMoves, .gatewayReturns, .journalStrangers:
            cluster?.inflict(fault)
        case .killLoading: apps[fault.target].dieNext(after: fault.bits, for: fault.length)
        case .refusePublish:
            server.refusePublishes(for: fault.length, share: 0.2 + Double(fault.bits % 7) / 10)
        case .tokensFail, .tokenSkew: people?.backend.inflict(fault)
        case .handlerThrows, .handlerHangs, .handlerLate: handlers.inflict(fault)
        default: break
        }
    }

    // MARK: The end

    func heal() {
        handlers.heal()
        for app in apps { app.heal() }
        server.stopRefusing()
        cluster?.heal()
        // Somebody ends an app that hangs, and opens it again.
        for device in handlers.hung { device.process.kill("is ended by its user") }
        injector.heal()
        people?.heal()
    }

    /// Whether nothing of a cluster's journal is on its way.
    var isSettled: Bool { cluster?.isSettled ?? true }

    /// Whether nobody has anything to do any more.
    var isComplete: Bool {
        producers.isDone && people?.isDone != false && cluster?.isComplete != false
            && checkers.allSatisfy { $0.isComplete(channels, server) }
    }

    /// After all else, of a cluster whose journal goes back.
    func goBack() {
        switchOff()
        cluster?.ending.goBack()
    }

    /// After all else, of a cluster that makes bases.
    func keepBases() {
        switchOff()
        cluster?.ending.keepBases()
    }

    /// After all else, of a cluster that pushes.
    func push() {
        switchOff()
        cluster?.ending.push()
    }

    private func switchOff() {
        server.observer = { _ in }
        for device in devices { device.process.kill("is switched off") }
    }

    func check() {
        serverChecker.check()
        if simulation.violation == nil { cluster?.check() }
        for id in producers.acknowledged.sorted(by: { $0.text < $1.text })
        where !serverChecker.accountsFor(id) {
            return simulation.violated(.recorded, "\(id) was acknowledged and is nowhere")
        }
        for checker in checkers where simulation.violation == nil {
            checker.check(channels, server)
        }
        if simulation.violation == nil, !producers.isDone {
            simulation.violated(.alive, "\(producers.unanswered) messages were never acknowledged")
        }
    }
}
