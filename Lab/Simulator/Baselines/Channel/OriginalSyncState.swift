/// `case-catch-up`'s `ChannelSyncState`: a set while it catches up, a comparison with the highest
/// when live.
///
/// "No changes needed - already correct": both versions use it.
package struct OriginalSyncState: Sendable {
    package private(set) var highest: Int64
    package private(set) var isCatchingUp = false
    private var recordedSequences: Set<Int64> = []

    /// - Parameter highest: what the next subscription resyncs from.
    package init(highest: Int64) { self.highest = highest }

    /// `enableCatchUpMode()`: "recordedSequences = Set() for each channel".
    package mutating func enableCatchUpMode() {
        isCatchingUp = true
        recordedSequences = []
    }

    package mutating func disableCatchUpMode() {
        isCatchingUp = false
        recordedSequences = []
    }

    /// Whether the app takes this event, or it is held for a duplicate.
    package mutating func accepts(_ seq: Int64) -> Bool {
        if isCatchingUp {
            // "Check: seqSet.insert(seq).inserted → new or duplicate. Accept: ALL new sequences"
            guard recordedSequences.insert(seq).inserted else { return false }
        } else {
            // "Check: seq1 > highestSeq. YES if greater, NO if <= (duplicate)"
            guard seq > highest else { return false }
        }
        highest = max(highest, seq)  // "201 > highestSeq(200)"
        return true
    }
}
