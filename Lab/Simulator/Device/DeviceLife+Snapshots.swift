import RepriseChannels
import RepriseCore
import RepriseWire

/// The snapshots that an app loads in one life of its process.
struct SnapshotLoads {
    /// Pauses after the app has thrown: those of `Channels.Configuration`.
    static let again = Channels.Configuration().snapshotAgain

    private var newest: [ChannelName: Int] = [:]
    private var count = 0
    /// Loaded, and not told to the machine yet.
    var taken: [(channel: ChannelName, load: Int, snapshot: SubscriptionMachine.Snapshot)] = []

    mutating func start(_ channel: ChannelName) -> Int {
        count += 1
        newest[channel] = count
        return count
    }

    mutating func stop(_ channel: ChannelName) { newest[channel] = nil }

    func isCurrent(_ load: Int, of channel: ChannelName) -> Bool { newest[channel] == load }
}

/// What `ChannelsDriver` does about snapshots.
extension DeviceLife {
    /// Has the app load it, again and again until it has.
    func load(_ snapshot: SubscriptionMachine.Snapshot, of channel: ChannelName) {
        guard let epoch = machine.machine(of: channel)?.epoch else { return }
        let request = SimulatedDevice.SnapshotRequest(
            channel: channel, epoch: epoch, snapshot: snapshot)
        attempt(request, snapshots.start(channel), failures: 0)
    }

    private func attempt(_ request: SimulatedDevice.SnapshotRequest, _ load: Int, failures: Int) {
        let channel = request.channel
        guard process.survives("asking for a snapshot"), snapshots.isCurrent(load, of: channel)
        else { return }
        if simulation.mutation == .snapshotTakenEarly {
            snapshots.taken.append((channel, load, request.snapshot))
            simulation.after(.zero, on: process) { [unowned self] in perform([]) }
        }
        device.snapshot(device, request) { [unowned self] error in
            guard process.state != .dead, snapshots.isCurrent(load, of: channel) else {
                return
            }
            guard let error else {
                snapshots.taken.append((channel, load, request.snapshot))
                return perform([])
            }
            perform(machine.snapshotFailed(error, of: channel))
            let wait = SnapshotLoads.again.delay(failures: failures + 1, jitter: jitter)
            simulation.after(wait, on: process) { [unowned self] in
                attempt(request, load, failures: failures + 1)
            }
        }
    }

    /// The machine is told once it may be: what it writes then has a place on its way to the disk.
    func tellSnapshots() {
        guard !snapshots.taken.isEmpty, machine.mayRead, process.state != .dead else { return }
        let (channel, load, snapshot) = snapshots.taken.removeFirst()
        guard snapshots.isCurrent(load, of: channel) else { return tellSnapshots() }
        snapshots.stop(channel)
        perform(machine.snapshotTaken(snapshot, of: channel, at: now))
    }
}
