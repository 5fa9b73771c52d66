import RepriseCore

/// A channel's counters since the start of the client: a few additions an event, read only on
/// request.
struct SubscriptionTally: Sendable {
    /// The rate is measured over at least this long.
    private static let window: Duration = .seconds(1)

    var received: Int64 = 0
    var duplicates: Int64 = 0
    var requests: Int64 = 0
    var repairs: Int64 = 0
    var lastError: String?
    private(set) var lastEvent: Duration?
    private var seen: Int64 = 0
    private var windowStart: Duration = .zero
    private var windowReceived: Int64 = 0
    private var lastRate = 0.0
    private var isRepairing = false

    /// The arrived frames have been read.
    mutating func batchRead(at now: Duration) {
        guard received + duplicates > seen else { return }
        seen = received + duplicates
        let pause = lastEvent.map { now - $0 } ?? .zero
        lastEvent = now
        if pause > Self.window { (windowStart, windowReceived, lastRate) = (now, received, 0) }
        guard now - windowStart >= Self.window else { return }
        lastRate = rate(at: now)
        (windowStart, windowReceived) = (now, received)
    }

    /// Current events a second: 0 after a while without any.
    func rate(at now: Duration) -> Double {
        guard let lastEvent, now - lastEvent <= Self.window + Self.window else { return 0 }
        let time = now - windowStart
        guard time >= Self.window else { return lastRate }
        return Double(received - windowReceived) / (time / .seconds(1))
    }

    mutating func entered(_ state: ChannelState) {
        switch state {
        case .repairing:
            if !isRepairing { repairs += 1 }
            isRepairing = true
        case .refused(let code, let message): lastError = "\(code): \(message)"
        case .closed, .subscribing, .catchingUp, .live, .stalled, .beyondRetention:
            isRepairing = false
        }
    }
}

/// The connection's counters since the start of the client.
struct ConnectionTally: Sendable {
    var framesRead: Int64 = 0
    /// Connections that the server has welcomed.
    var welcomes: Int64 = 0
    var connectedAt: Duration?
    var lastError: RepriseError?
}
