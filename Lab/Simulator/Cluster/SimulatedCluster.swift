import Foundation
import RepriseCore
import RepriseServer
import RepriseWire

/// Several gateways of one journal, in virtual time: to devices and producers one server.
final class SimulatedCluster {
    let journal: SimulatedStream
    let truth: JournalTruth
    let servers: [SimulatedServer]
    let gateways: [SimulatedGateway]
    private let simulation: Simulation
    private let network: SimulatedNetwork
    let channels: [ChannelName]
    /// Who says how far they have read; nil in most runs.
    private let receipts: ClusterReceipts?
    /// Who does the housekeeping; nil in most runs.
    private let keepers: Keepers?
    /// Devices that are to go when their gateway has taken something of them.
    private var moving: [Fault] = []
    private(set) lazy var ending = ClusterEnding(simulation, self)

    /// Devices dial any of them by this address.
    static let address = "server"

    init(
        _ simulation: Simulation, _ network: SimulatedNetwork, _ channels: [ChannelName],
        in folder: URL
    ) throws {
        self.simulation = simulation
        self.network = network
        self.channels = channels
        let mix = ClusterMix(simulation.schedule)
        let epoch = try SimulatedServer.firstEpoch()
        let journal = SimulatedStream(simulation)
        self.journal = journal
        truth = try JournalTruth(
            simulation, ViewFiles(in: folder.appendingPathComponent("truth"), epoch: epoch))
        var random = simulation.random("cluster")
        let settings = SimulatedServer.Settings.drawn(for: simulation)
        gateways = try (0..<2 + random.index(2)).map { number in
            let differs = number == 1 && simulation.mutation == .clusterFlagsDiffer
            let seals = number == 1 && simulation.mutation == .clusterSealsApart
            return try SimulatedGateway(
                simulation, journal, number: number,
                files: ViewFiles(
                    in: folder.appendingPathComponent("gateway-\(number)"), epoch: epoch,
                    implicitChannels: !differs, idsPerRun: seals ? 16 : nil))
        }
        servers = gateways.enumerated().map { number, gateway in
            let server = SimulatedServer(
                simulation, name: "gateway-\(number)", address: Self.address, network: network,
                store: gateway, settings: settings, gateway: gateway,
                firstConnection: number * Self.connections)
            gateway.serve(server)
            return server
        }
        receipts =
            try mix.hasReceipts ? ClusterReceipts(simulation, network, truth, gateways) : nil
        keepers = mix.hasKeepers ? Keepers(simulation, gateways, channels) : nil
        truth.isKept = mix.hasKeepers
        journal.stored = { [truth] in truth.stored($0) }
    }

    /// Becomes what is behind a server that is none itself.
    func stand(behind server: SimulatedServer) {
        server.cluster = self
        truth.observer = { [unowned server] in server.observer($0) }
        for (number, gateway) in servers.enumerated() {
            gateway.observer = { [unowned self, unowned server] sight in
                truth.saw(sight)
                if case .took(_, let connection) = sight { tookFrom(connection, at: number) }
                server.observer(sight)
            }
        }
    }

    /// The people's channels are made before anybody comes.
    func begin(
        _ people: SimulatedAccounts?, _ changed: @escaping (SimulatedServer.MemberChange) -> Void
    ) {
        truth.accounts = people
        truth.membersChanged = changed
        for server in servers { server.accounts = people }
        // Directories have something to tell then, which is in every view.
        let rules = RaisedRules(secret: Array(repeating: 7, count: 32))
        let commands: [ClusterCommand] =
            (people == nil ? [] : [.rules(rules)])
            + channels.compactMap { channel in
                people?.channels[channel].map { settings in
                    ClusterCommand.account(
                        SetChannel(channel, settings, by: Principal(user: nil, isAdmin: true)))
                }
            } + (receipts?.messages ?? [])
        if !commands.isEmpty {
            // What is read there is nobody's who watches the devices.
            let observer = truth.observer
            truth.observer = { _ in }
            put(0, [.session(nonce: -1, name: "maker")])
            put(1, commands)
            truth.observer = observer
        }
        for server in servers { server.process.start() }
        receipts?.begin()
    }

    private func put(_ session: Int64, _ commands: [ClusterCommand]) {
        journal.put(
            ClusterEntry(
                session: session, n: 1, clock: SimulatedClock.beginning, base: truth.position,
                commands: commands))
    }

    /// One that a balancer might choose.
    func chosen(_ random: inout SeededRandom) -> SimulatedServer {
        let alive = servers.filter { $0.process.state == .running }
        return alive.isEmpty ? servers[0] : alive[random.index(alive.count)]
    }

    /// When the gateway of a connection had applied all that was stored at a moment; nil before.
    func applied(through moment: Duration, by connection: Int) -> Duration? {
        gateways[Self.gateway(of: connection)].applied(through: moment)
    }

    func process(of connection: Int) -> SimulatedProcess {
        servers[Self.gateway(of: connection)].process
    }

    /// More than a gateway has connections in a run.
    private static let connections = 1_000_000

    static func gateway(of connection: Int) -> Int { connection / connections }

    // MARK: Faults

    func inflict(_ fault: Fault) {
        let number = fault.target % servers.count
        switch fault.kind {
        case .gatewayCutOff: gateways[number].cutOff(for: fault.length)
        case .gatewayStops: stop(servers[number].process, for: fault.length)
        case .viewLost: loseView(of: number, for: fault.length)
        case .deviceMoves: moving.append(fault)
        case .gatewayReturns: returns(number, fault)
        default: journal.inflict(fault)
        }
    }

    private func stop(_ process: SimulatedProcess, for length: Duration) {
        guard process.state == .running else { return }
        simulation.met(.gatewayStops)
        process.suspend()
        let life = process.life
        simulation.after(length) { if process.life == life { process.resume() } }
    }

    private func loseView(of number: Int, for length: Duration) {
        let process = servers[number].process
        guard process.state != .dead else { return }
        simulation.met(.viewLost)
        gateways[number].loseView()
        process.kill("is killed, and its view removed")
        simulation.after(length) { process.start() }
    }

    /// A gateway has taken messages, and does not bring them into the journal at once: their device
    /// loses its connection meanwhile, and may come back through another one.
    private func tookFrom(_ connection: Int, at number: Int) {
        guard let fault = moving.popLast() else { return }
        simulation.after(.milliseconds(Int64(fault.bits % 64))) { [self] in
            simulation.met(.deviceMoves)
            gateways[number].cutOff(for: .seconds(1 + Int64(fault.bits >> 8 % 9)))
            servers[number].life?.cut(connection)
        }
    }

    /// A gateway is killed, starts again and does not reach the journal at first; everybody has to
    /// connect again when it is there, and is sent to it.
    private func returns(_ number: Int, _ fault: Fault) {
        let process = servers[number].process
        guard process.state == .running else { return }
        simulation.met(.gatewayReturns)
        process.kill()
        simulation.after(.milliseconds(20 + Int64(fault.bits % 1_000))) { [self] in
            guard process.state == .dead else { return }
            gateways[number].cutOff(for: .seconds(1 + Int64(fault.bits >> 16 % 6)))
            process.start()
            network.prefer(process, for: .seconds(3))
            for server in servers { server.life?.cutAll() }
        }
    }

    func heal() {
        moving = []
        keepers?.end()
        receipts?.heal()
        journal.heal()
        for gateway in gateways { gateway.heal() }
    }

    // MARK: The end

    /// What is promised to devices, or heard of them, counts no more.
    func forgetDevices() {
        (truth.observer, truth.membersChanged, truth.accounts) = ({ _ in }, { _ in }, nil)
        for server in servers { server.observer = { _ in } }
        receipts?.switchOff()
    }

    var isComplete: Bool { receipts?.isComplete ?? true }

    /// Whether nothing of the journal is on its way to a gateway.
    var isSettled: Bool { gateways.allSatisfy { $0.view.position == truth.position } }

    /// Equal positions, equal rows.
    func check() {
        receipts?.check()
        do {
            let rows = try truth.dump()
            for (number, gateway) in gateways.enumerated() {
                guard gateway.view.position == truth.position else {
                    return simulation.violated(
                        .alive,
                        "gateway \(number) stands at \(gateway.view.position.sequence), and the "
                            + "journal at \(truth.position.sequence)")
                }
                guard try gateway.dump() == rows else {
                    return simulation.violated(
                        .agreement, "gateway \(number) has other rows than the journal says")
                }
            }
        } catch {
            simulation.violated(.agreement, "a view cannot be read: \(error)")
        }
    }
}
