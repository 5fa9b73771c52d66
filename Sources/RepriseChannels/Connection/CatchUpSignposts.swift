import RepriseCore
import RepriseWire

/// What Instruments shows as the catch-up of each channel: from its first gap until it has none.
struct CatchUpSignposts {
    private var running: [ChannelName: Signpost] = [:]

    mutating func entered(_ state: ChannelState, of channel: ChannelName) {
        switch state {
        case .subscribing, .catchingUp, .repairing:
            guard running[channel] == nil else { return }
            running[channel] = .begin("catch-up")
        case .closed, .live, .stalled, .beyondRetention, .refused:
            running.removeValue(forKey: channel)?.end()
        }
    }
}
