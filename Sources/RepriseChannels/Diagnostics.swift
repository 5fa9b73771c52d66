public import RepriseCore
public import RepriseWire

/// All figures of a channel, for a debug view; counters start with the run of the client.
///
/// ```swift
/// let diagnostics = await general.diagnostics
/// print(diagnostics.state, diagnostics.missing, diagnostics.rate)
/// ```
public struct ChannelDiagnostics: Hashable, Sendable {
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
}

/// All figures of the connection, for a debug view; counters start with the run of the client.
public struct ConnectionDiagnostics: Equatable, Sendable {
    /// The connection's state.
    public internal(set) var state: ConnectionState
    /// How often it was made again after the first time.
    public internal(set) var reconnects: Int64 = 0
    /// When the server's welcome arrived; nil while disconnected.
    public internal(set) var connectedSince: WallTime?
    /// Frames received.
    public internal(set) var framesRead: Int64 = 0
    /// Frames that are unreadable, or belong to no channel of this device.
    public internal(set) var unroutableFrames: Int64 = 0
    /// Why the last connection ended, or could not be made.
    public internal(set) var lastError: RepriseError?
    /// How many channels are subscribed to.
    public internal(set) var channels = 0
}

extension Channel {
    /// All current figures of the channel; free until read.
    public var diagnostics: ChannelDiagnostics {
        get async {
            var diagnostics =
                await channels.driver.diagnostics(of: name) ?? ChannelDiagnostics(state: state)
            if let complaint = channels.readers.complaint(in: name) {
                diagnostics.lastError = complaint
            }
            return diagnostics
        }
    }
}

extension Channels {
    /// All current figures of the connection; free until read.
    public var diagnostics: ConnectionDiagnostics {
        get async { await driver.diagnostics() }
    }

    /// All current figures of each channel that is subscribed to; free until read.
    public var channelDiagnostics: [ChannelName: ChannelDiagnostics] {
        get async {
            var all = await driver.channelDiagnostics()
            for name in all.keys {
                guard let complaint = readers.complaint(in: name) else { continue }
                all[name]?.lastError = complaint
            }
            return all
        }
    }
}
