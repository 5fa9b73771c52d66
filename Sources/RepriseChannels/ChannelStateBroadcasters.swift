import RepriseCore
import RepriseWire
import Synchronization

/// The state of each channel, for its observers.
final class ChannelStateBroadcasters: Sendable {
    private let all = Mutex<[ChannelName: StateBroadcaster<ChannelState>]>([:])

    subscript(_ name: ChannelName) -> StateBroadcaster<ChannelState> {
        all.withLock { all in
            if let broadcaster = all[name] { return broadcaster }
            let broadcaster = StateBroadcaster(ChannelState.closed)
            all[name] = broadcaster
            return broadcaster
        }
    }
}
