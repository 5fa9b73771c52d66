import RepriseChannels
import RepriseCore
import RepriseServer
import RepriseWire

/// An app with a store of its own, which loads a channel's state when messages of it are lost.
///
/// It throws now and then, takes its time, and may die before or after its store has it.
final class SnapshotApp {
    /// What the store has of a channel.
    private struct State {
        /// In which epoch it was asked for.
        var epoch: Epoch
        var through: Int64
        var ids: Set<EntryID>
    }

    private let simulation: Simulation
    private let server: SimulatedServer
    private let checker: ServerChecker
    private var random: SeededRandom
    private var states: [ChannelName: State] = [:]
    /// The next load does not live to its end: after which part of its time, and for how long the
    /// app is dead.
    private var dying: (bits: UInt64, length: Duration)?

    init(
        _ simulation: Simulation, _ server: SimulatedServer, _ checker: ServerChecker,
        _ device: SimulatedDevice
    ) {
        self.simulation = simulation
        self.server = server
        self.checker = checker
        random = simulation.random("snapshots of \(device.name)")
        device.snapshot = { [unowned self] device, request, then in load(request, device, then) }
    }

    private func load(
        _ request: SimulatedDevice.SnapshotRequest, _ device: SimulatedDevice,
        _ then: @escaping ((any Error)?) -> Void
    ) {
        let process = device.process
        simulation.trace(
            device.name, "loads a snapshot of \(request.channel) as of \(request.snapshot.position)"
        )
        if let dying { die(dying, process) }
        let way = random.spread(.milliseconds(1), .seconds(1))
        simulation.after(way, on: process) { [unowned self] in
            guard !random.chance(0.3), let found = read(request) else {
                return then(SimulatedDevice.HandlerFailed())
            }
            simulation.after(random.spread(.milliseconds(1), .seconds(3)), on: process) {
                [unowned self] in
                guard process.survives("the app's own store") else { return }
                states[request.channel] = found
                simulation.had(.snapshots)
                simulation.after(.microseconds(50), on: process) { then(nil) }
            }
        }
    }

    /// The app is killed at the next load, at its beginning mostly.
    func dieNext(after bits: UInt64, for length: Duration) { dying = (bits, length) }

    func heal() { dying = nil }

    private func die(_ fault: (bits: UInt64, length: Duration), _ process: SimulatedProcess) {
        dying = nil
        let life = process.life
        simulation.after(.microseconds(Int64(fault.bits % 1_000_000))) { [simulation] in
            guard process.life == life, process.state != .dead else { return }
            simulation.met(.killLoading)
            process.kill("is killed while it loads")
            simulation.after(fault.length) { process.start() }
        }
    }

    /// The state of the channel as the server has it now; nil if it cannot be had, or is not as new
    /// as it must be.
    private func read(_ request: SimulatedDevice.SnapshotRequest) -> State? {
        guard server.cluster != nil || server.process.state == .running else { return nil }
        let state = server.state(of: request.channel)
        guard state.epoch == request.epoch, state.head >= request.snapshot.position else {
            return nil
        }
        return State(
            epoch: request.epoch, through: state.head,
            ids: checker.ids(in: request.channel, through: state.head, request.epoch))
    }

    /// Up to where the app's own store has the channel.
    func through(_ channel: ChannelName, _ epoch: Epoch) -> Int64 {
        guard let state = states[channel], state.epoch == epoch else { return 0 }
        return state.through
    }

    func epoch(of channel: ChannelName) -> Epoch? { states[channel]?.epoch }

    func has(_ id: EntryID?, in channel: ChannelName) -> Bool {
        id.map { states[channel]?.ids.contains($0) == true } ?? false
    }
}
