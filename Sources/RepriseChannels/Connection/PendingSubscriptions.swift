import RepriseCore
import RepriseWire

/// Requests for channels that wait for the next read of the journal.
struct PendingSubscriptions {
    struct Request {
        var channel: ChannelName
        var states: StateBroadcaster<ChannelState>
        var answer: CheckedContinuation<Void, any Error>
    }

    private var waiting: [Request] = []
    private var isReading = false

    var channels: [ChannelName] { waiting.map(\.channel) }

    /// - Returns: whether the caller has to begin to read.
    mutating func add(_ request: Request) -> Bool {
        waiting.append(request)
        defer { isReading = true }
        return !isReading
    }

    /// - Returns: whether there is another one to read; if not, the next one begins it again.
    mutating func mustRead() -> Bool {
        isReading = !waiting.isEmpty
        return isReading
    }

    mutating func take() -> [Request] {
        defer { waiting = [] }
        return waiting
    }
}
