import RepriseWire

/// What is tried beside the baselines of `case-catch-up`: the shipping coverage, under the same
/// workload, on the original's own server.
///
/// That server takes a number where ours takes coverage, and its completion names no target: so
/// this one asks from its watermark on, and connects anew while it has a hole or has not been told
/// that the catch-up is complete.
package struct CoverageControl: ChannelTrialClient {
    private var coverage = Coverage()
    package private(set) var isCatchingUp = false

    package init() {}

    package var highest: Int64 { coverage.top }

    package func restarted() -> CoverageControl {
        var next = CoverageControl()
        next.coverage = coverage
        return next
    }

    package mutating func connected(at now: Duration) -> [OriginalChannelClient.Action] {
        isCatchingUp = true
        return [.subscribe(from: coverage.watermark), .check(after: .seconds(60))]
    }

    package mutating func textReceived(_ text: [UInt8]) {
        if text == OriginalFrame.syncComplete { isCatchingUp = false }
    }

    package mutating func eventReceived(_ seq: Int64, at now: Duration) -> [OriginalChannelClient
        .Action]
    {
        guard !coverage.contains(seq) else { return [] }
        _ = coverage.insert(after: seq - 1, through: seq)
        return [.apply(seq: seq)]
    }

    package mutating func checked(at now: Duration, isQueueEmpty: Bool) -> [OriginalChannelClient
        .Action]
    {
        guard isCatchingUp || coverage.watermark < coverage.top else {
            return [.check(after: .seconds(60))]
        }
        return [.reconnect]
    }

    package mutating func connectionFailed() -> [OriginalChannelClient.Action] { [.reconnect] }
}
