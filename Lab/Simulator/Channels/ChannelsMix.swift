import RepriseChannels
import RepriseCore
import RepriseServer
import RepriseWire

/// What takes part in a run of `channels`, and how often what is done.
///
/// Nineteen of twenty runs are small and leave most things out, each others; one has everything at
/// once. Many runs that differ find more than few that are all alike (Groce and others, *Swarm
/// testing*, ISSTA 2012), and take a tenth of the time.
struct ChannelsMix {
    let isLarge: Bool
    let channels: Int
    /// Who reads; each channel has one of them at least.
    let readers: [SimulatedDevice.ReaderPlan]
    /// Some messages are published together.
    let bursts: Double
    /// Through the devices' outboxes, the others over HTTP.
    let fromDevices: Double
    /// Of what devices publish, edits and deletions.
    let changes: Double
    /// Channels of a device whose app loads snapshots.
    let snapshots: Double

    init(_ schedule: FaultSchedule) {
        isLarge = Self.isLarge(schedule.seed)
        if isLarge {
            var random = SeededRandom(seed: schedule.seed, purpose: "world")
            channels = 1 + random.index(4)
            readers = Self.unordered
            (bursts, fromDevices, changes, snapshots) = (0.3, 0.3, 0.4, 0.25)
        } else {
            var random = SeededRandom(seed: schedule.seed, purpose: "mix")
            channels = 1 + (random.chance(0.3) ? 1 + random.index(3) : 0)
            readers = Self.few(&random)
            bursts = [0.2, 0.5, 0.9, 0.9][random.index(4)]
            fromDevices = [0, 0.1, 0.3, 0.8][random.index(4)]
            changes = [0, 0.4, 0.4, 0.8][random.index(4)]
            snapshots = [0, 0.25, 0.6][random.index(3)]
        }
    }

    static func isLarge(_ seed: UInt64) -> Bool {
        var random = SeededRandom(seed: seed, purpose: "size")
        return random.chance(0.05)
    }

    // MARK: Readers

    private static let unordered: [SimulatedDevice.ReaderPlan] = [
        .init("inside", .inside),
        .init("asking", .outsideAsking, options: .init(window: 8)),
        .init("again", .outside, options: .init(window: 8)),
        .init("never", .outside, options: .init(onInterruption: .never)),
    ]

    private static let ordered: [SimulatedDevice.ReaderPlan] = {
        let backoff = Backoff(base: .milliseconds(100), longest: .seconds(5))
        return [
            .init(
                "inOrder", .outside,
                options: .init(order: .ordered, attemptLimit: 3, backoff: backoff, window: 8)),
            .init(
                "inOrderInside", .inside,
                options: .init(order: .ordered, attemptLimit: 3, backoff: backoff)),
        ]
    }()

    /// One of all, mostly.
    private static func few(_ random: inout SeededRandom) -> [SimulatedDevice.ReaderPlan] {
        var left = unordered + ordered
        let count = random.chance(0.75) ? 1 : 2 + random.index(2)
        return (0..<count).map { _ in left.remove(at: random.index(left.count)) }
    }

    /// What a device's app does in each of its channels.
    func plan(
        _ channels: [ChannelName], _ simulation: Simulation, on device: String
    ) -> [SimulatedDevice.ChannelPlan] {
        var random = simulation.random("plan")
        let places = readers.map { _ in random.index(channels.count) }
        var loading = simulation.random("who takes snapshots \(device)")
        let (ordered, place) = isLarge ? Self.orderedReaders(channels, simulation) : ([], 0)
        return channels.enumerated().map { index, channel in
            let chosen = zip(readers, places).filter { $1 == index || random.chance(0.15) }
            // Without a reader a channel's messages would be pending for ever.
            let always = chosen.isEmpty ? [readers[index % readers.count]] : chosen.map(\.0)
            return .init(
                channel, readers: always + (index == place ? ordered : []),
                takesSnapshots: loading.chance(snapshots))
        }
    }

    /// In some of the large runs, and in one of the channels.
    private static func orderedReaders(
        _ channels: [ChannelName], _ simulation: Simulation
    ) -> ([SimulatedDevice.ReaderPlan], place: Int) {
        var random = simulation.random("readers in order")
        return (ordered.filter { _ in random.chance(0.3) }, random.index(channels.count))
    }
}
