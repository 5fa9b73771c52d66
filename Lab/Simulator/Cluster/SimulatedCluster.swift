import Foundation
import RepriseCore
import RepriseServer
import RepriseWire

/// Several gateways of one journal, in virtual time: to devices and producers one server.
final class SimulatedCluster {
    let journal: SimulatedStream
    let truth: JournalTruth
    let servers: [SimulatedServer]
    private let gateways: [SimulatedGateway]
    private let simulation: Simulation
    let channels: [ChannelName]

    /// Devices dial any of them by this address.
    static let address = "server"

    init(
        _ simulation: Simulation, _ network: SimulatedNetwork, _ channels: [ChannelName],
        in folder: URL
    ) throws {
        self.simulation = simulation
        self.channels = channels
        let epoch = try SimulatedServer.firstEpoch()
        let journal = SimulatedStream(simulation)
        self.journal = journal
        truth = try JournalTruth(
            simulation, ViewFiles(in: folder.appendingPathComponent("truth"), epoch: epoch))
        var random = simulation.random("cluster")
        let settings = SimulatedServer.Settings.drawn(for: simulation)
        gateways = try (0..<2 + random.index(2)).map { number in
            let differs = number == 1 && simulation.mutation == .clusterFlagsDiffer
            return try SimulatedGateway(
                simulation, journal, number: number,
                files: ViewFiles(
                    in: folder.appendingPathComponent("gateway-\(number)"), epoch: epoch,
                    implicitChannels: !differs))
        }
        servers = gateways.enumerated().map { number, gateway in
            let server = SimulatedServer(
                simulation, name: "gateway-\(number)", address: Self.address, network: network,
                store: gateway, settings: settings, gateway: gateway,
                firstConnection: number * 1_000_000)
            gateway.serve(server)
            return server
        }
        journal.stored = { [truth] in truth.stored($0) }
    }

    /// Becomes what is behind a server that is none itself.
    func stand(behind server: SimulatedServer) {
        server.cluster = self
        truth.observer = { [unowned server] in server.observer($0) }
        for gateway in servers { gateway.observer = { [unowned server] in server.observer($0) } }
    }

    /// The people's channels are made before anybody comes.
    func begin(
        _ people: SimulatedAccounts?, _ changed: @escaping (SimulatedServer.MemberChange) -> Void
    ) {
        truth.accounts = people
        truth.membersChanged = changed
        for server in servers { server.accounts = people }
        let commands = channels.compactMap { channel in
            people?.channels[channel].map { settings in
                ClusterCommand.account(
                    SetChannel(channel, settings, by: Principal(user: nil, isAdmin: true)))
            }
        }
        if !commands.isEmpty {
            put(0, [.session(nonce: -1, name: "maker")])
            put(1, commands)
        }
        for server in servers { server.process.start() }
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
        gateways[connection / 1_000_000].applied(through: moment)
    }

    // MARK: Faults

    func inflict(_ fault: Fault) {
        let number = fault.target % servers.count
        switch fault.kind {
        case .gatewayCutOff: gateways[number].cutOff(for: fault.length)
        case .gatewayStops: stop(servers[number].process, for: fault.length)
        case .viewLost: loseView(of: number, for: fault.length)
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

    func heal() {
        journal.heal()
        for gateway in gateways { gateway.heal() }
    }

    // MARK: The end

    /// Equal positions, equal rows.
    func check() {
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
