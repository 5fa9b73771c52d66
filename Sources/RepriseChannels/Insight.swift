public import RepriseCore
public import RepriseWire

/// All figures of a channel, for a debug view; counters start with the run of the client.
///
/// ```swift
/// let insight = await general.insight
/// print(insight.state, insight.missing, insight.rate)
/// ```
public struct ChannelInsight: Hashable, Sendable {
    /// The channel's state.
    public internal(set) var state: ChannelState
    /// The epoch of its log; nil if the server has never told it.
    public internal(set) var epoch: Epoch?
    /// The sequences that the device has accounted for.
    public internal(set) var coverage = Coverage()
    /// The newest sequence known.
    public internal(set) var head: Int64 = 0
    /// How many sequences up to ``head`` are missing.
    public internal(set) var missing: Int64 = 0
    /// Events that were new.
    public internal(set) var received: Int64 = 0
    /// Events that were duplicates.
    public internal(set) var duplicates: Int64 = 0
    /// New events a second, over the last one or two seconds.
    public internal(set) var rate: Double = 0
    /// How often a hole was found in a complete log.
    public internal(set) var repairs: Int64 = 0
    /// How often the channel was requested.
    public internal(set) var requests: Int64 = 0
    /// How long ago the last event arrived; nil if none has.
    public internal(set) var sinceLastEvent: Duration?
    /// The reader that cannot store its progress, or whose handler is slow; otherwise why the
    /// server last refused the channel or a snapshot could not be loaded.
    public internal(set) var lastError: String?

    init(state: ChannelState) { self.state = state }
}

/// All figures of the connection, for a debug view; counters start with the run of the client.
public struct ConnectionInsight: Equatable, Sendable {
    /// The connection's state.
    public internal(set) var state: ConnectionState
    /// How often it was made again after the first time.
    public internal(set) var reconnects: Int64 = 0
    /// When the server's welcome arrived; nil while disconnected.
    public internal(set) var connectedSince: WallTime?
    /// Frames received.
    public internal(set) var framesRead: Int64 = 0
    /// Frames that are unreadable, or belong to no channel of this device.
    public internal(set) var strays: Int64 = 0
    /// Why the last connection ended, or could not be made.
    public internal(set) var lastError: RepriseError?
    /// How many channels are subscribed to.
    public internal(set) var channels = 0

    init(state: ConnectionState) { self.state = state }
}

extension Channel {
    /// All current figures of the channel; free until read.
    public var insight: ChannelInsight {
        get async {
            var insight = await channels.driver.insight(of: name) ?? ChannelInsight(state: state)
            if let complaint = channels.readers.complaint(in: name) {
                insight.lastError = complaint
            }
            return insight
        }
    }
}

extension Channels {
    /// All current figures of the connection; free until read.
    public var insight: ConnectionInsight {
        get async { await driver.insight() }
    }
}

extension ChannelsMachine {
    func insight(of channel: ChannelName, at now: Duration) -> ChannelInsight? {
        guard let place = places[channel] else { return nil }
        let (machine, tally) = (subscriptions[place].machine, subscriptions[place].tally)
        var insight = ChannelInsight(state: machine.state)
        insight.epoch = machine.epoch
        insight.coverage = machine.coverage
        insight.head = max(machine.knownHead, machine.coverage.top)
        insight.missing = machine.missing
        insight.received = tally.received
        insight.duplicates = tally.duplicates
        insight.rate = tally.rate(at: now)
        insight.repairs = tally.repairs
        insight.requests = tally.requests
        insight.sinceLastEvent = tally.lastEvent.map { now - $0 }
        insight.lastError = tally.lastError
        return insight
    }

    func insight(state: ConnectionState, at now: Duration, wall: WallTime) -> ConnectionInsight {
        var insight = ConnectionInsight(state: state)
        insight.reconnects = max(0, tally.welcomes - 1)
        insight.connectedSince = tally.connectedAt.map { wall.advanced(by: $0 - now) }
        insight.framesRead = tally.framesRead
        insight.strays = strays
        insight.lastError = tally.lastError
        insight.channels = subscriptions.count
        return insight
    }
}
