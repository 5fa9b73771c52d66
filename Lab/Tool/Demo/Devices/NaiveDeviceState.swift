/// The unrepaired position tracking of the case study `case-catch-up` ("OLD").
///
/// Transcribed branch by branch, with line references. Where the case study leaves something open,
/// the model favours the original: it reconnects by itself, and never requests known messages. Its
/// design is common: a highest sequence in memory, and a guess at the end of catch-up.
struct NaiveDeviceState {
    /// The position: "Next subscription will resync from `highestSeq`".
    ///
    /// A variable: it dies with the process.
    private(set) var highestSeq: Int64 = 0
    /// "enableCatchUpMode() for all channels └─→ recordedSequences = Set() for each channel".
    private var recordedSequences: Set<Int64> = []
    private(set) var isCatchingUp = false

    /// "sendSubscription() with syncState".
    ///
    /// - Returns: the position to request from.
    mutating func subscribing() -> Int64 {
        isCatchingUp = true
        recordedSequences = []
        return highestSeq
    }

    /// Whether an event is new.
    mutating func accepts(_ seq: Int64) -> Bool {
        if isCatchingUp {
            // "Check: seqSet.insert(seq).inserted → new or duplicate.
            //  Accept: ALL new sequences, ignore duplicates"
            guard recordedSequences.insert(seq).inserted else { return false }
            highestSeq = max(highestSeq, seq)
            return true
        }
        // "Check: seq1 > highestSeq. Accept: YES if greater, NO if <= (duplicate)"
        guard seq > highestSeq else { return false }
        highestSeq = seq
        return true
    }

    /// The buffer of received events has been worked off.
    mutating func bufferEmptied() {
        // "OLD: Checks if event buffer is empty:
        //  if isQueueEmpty { ChannelSyncState.shared.disableCatchUpMode(channelId: channelId) }"
        isCatchingUp = false
    }
}
