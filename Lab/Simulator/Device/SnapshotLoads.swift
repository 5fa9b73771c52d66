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
