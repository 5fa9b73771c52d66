/// What a device in the workload of `case-catch-up` does: the original's own, or the control beside
/// it.
package protocol ChannelTrialClient {
    var highest: Int64 { get }
    var isCatchingUp: Bool { get }
    /// As a new process has it: what is on disk was written with the last event.
    func restarted() -> Self
    mutating func connected(at now: Duration) -> [OriginalChannelClient.Action]
    mutating func textReceived(_ text: [UInt8])
    mutating func eventReceived(_ seq: Int64, at now: Duration) -> [OriginalChannelClient.Action]
    mutating func checked(at now: Duration, isQueueEmpty: Bool) -> [OriginalChannelClient.Action]
    mutating func connectionFailed() -> [OriginalChannelClient.Action]
}

/// `case-catch-up` transcribed: a client of one channel, as it froze and as it was repaired.
///
/// Quotes are the case study's. Kinder than it: one channel a client (its `lastEventProcessedTime`
/// is one for all channels), and the driver writes an event and the highest sequence in one
/// transaction, of which the case study says nothing.
package struct OriginalChannelClient: ChannelTrialClient {
    package enum Version: Hashable, CaseIterable, Sendable {
        /// "OLD": catch-up ends at a look, every 5 s, that finds the queue empty.
        case first
        /// "Solution Implemented".
        case repaired
    }

    package enum Action: Hashable, Sendable {
        /// `sendSubscription() with syncState`.
        case subscribe(from: Int64)
        /// The event is the app's.
        case apply(seq: Int64)
        /// Look again after this time.
        case check(after: Duration)
        /// `scheduleReconnect()`.
        case reconnect
    }

    /// `catchUpTimeout`: "Max time for catch-up".
    package static let catchUpTimeout: Duration = .seconds(60)
    /// `eventProcessingTimeout`: "No events for 30s = done".
    package static let eventProcessingTimeout: Duration = .seconds(30)

    private let version: Version
    private var sync: OriginalSyncState
    private var catchUpStarted: Duration = .zero
    private var lastEventProcessed: Duration = .zero
    private var progress = 0

    package init(_ version: Version, highest: Int64) {
        self.version = version
        sync = OriginalSyncState(highest: highest)
    }

    package func restarted() -> OriginalChannelClient {
        OriginalChannelClient(version, highest: highest)
    }

    package var highest: Int64 { sync.highest }
    package var isCatchingUp: Bool { sync.isCatchingUp }

    /// "Checks every 2 seconds instead of 5".
    private var checkInterval: Duration { version == .first ? .seconds(5) : .seconds(2) }

    package mutating func connected(at now: Duration) -> [Action] {
        sync.enableCatchUpMode()  // before the subscription
        catchUpStarted = now
        lastEventProcessed = now
        progress = 0
        return [.subscribe(from: sync.highest), .check(after: checkInterval)]
    }

    package mutating func eventReceived(_ seq: Int64, at now: Duration) -> [Action] {
        lastEventProcessed = now
        progress += 1
        return sync.accepts(seq) ? [.apply(seq: seq)] : []
    }

    /// Any text that came, before it is read as an event: the case study looks for two substrings
    /// in it.
    package mutating func textReceived(_ text: [UInt8]) {
        switch version {
        case .first: return
        case .repaired:
            if OriginalFrame.contains(Self.typeNeedle, in: text)
                || OriginalFrame.contains(Self.flagNeedle, in: text)
            {
                sync.disableCatchUpMode()
            }
        }
    }

    private static let typeNeedle = Array(#""type":"sync_complete""#.utf8)
    private static let flagNeedle = Array(#""catchUpComplete":true"#.utf8)

    /// `checkCatchUpProgress`, or the old look at the queue.
    ///
    /// - Parameters:
    ///   - now: the time since the run began.
    ///   - isQueueEmpty: whether everything that came has been processed.
    /// - Returns: the next look, while the catch-up lasts.
    package mutating func checked(at now: Duration, isQueueEmpty: Bool) -> [Action] {
        guard sync.isCatchingUp else { return [] }
        switch version {
        case .first:
            if isQueueEmpty { sync.disableCatchUpMode() }
        case .repaired:
            if now - catchUpStarted > Self.catchUpTimeout {
                sync.disableCatchUpMode()
            } else if progress > 0,
                now - lastEventProcessed > Self.eventProcessingTimeout
            {
                sync.disableCatchUpMode()
            }
        }
        return sync.isCatchingUp ? [.check(after: checkInterval)] : []
    }

    /// `case .failure(let error)`.
    package mutating func connectionFailed() -> [Action] {
        switch version {
        case .first:
            // "Doesn't detect it's mid-catch-up … freezes waiting for events that never come"
            return sync.isCatchingUp ? [] : [.reconnect]
        case .repaired:
            sync.disableCatchUpMode()
            return [.reconnect]
        }
    }
}
