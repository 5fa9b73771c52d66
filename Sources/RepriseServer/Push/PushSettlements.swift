import RepriseCore

/// The answers that are not yet recorded, gathered so that one commit records many.
struct PushSettlements {
    private var waiting: [PushSettled] = []
    /// When the oldest waiting answer arrived.
    private var since: Duration?
    private var isWriting = false

    enum Decision {
        case write([PushSettled])
        /// Ask again at this moment; nil once there is something new.
        case wait(Duration?)
    }

    mutating func add(_ settled: PushSettled, now: Duration) {
        if waiting.isEmpty { since = now }
        waiting.append(settled)
    }

    /// Answers are recorded once they are many, or old, or nothing else is in flight.
    mutating func next(isIdle: Bool, now: Duration) -> Decision {
        guard !isWriting, let since else { return .wait(nil) }
        let latest = since + PushLimits.settledWithin
        let isWorth = waiting.count >= PushLimits.settledTogether || isIdle
        guard isWorth || latest <= now else { return .wait(latest) }
        isWriting = true
        return .write(takeAll())
    }

    mutating func written() { isWriting = false }

    /// The batch stays first among those that wait.
    mutating func writeFailed(_ batch: [PushSettled], now: Duration) {
        waiting = batch + waiting
        since = now
    }

    mutating func takeAll() -> [PushSettled] {
        defer { (waiting, since) = ([], nil) }
        return waiting
    }
}
