import RepriseCore
import Synchronization

/// Entries that came live and are not applied yet: those that wait are applied in one transaction.
///
/// Beyond ``ClusterLimits/waitingEntryBytes`` what comes is dropped; it is read from the journal
/// when those before it are applied.
package final class ArrivedEntries: Sendable {
    private struct State {
        var entries: [StoredEntry] = []
        var bytes = 0
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let signal = Signal()

    package init() {}

    /// Takes what came live; nil: what comes afterwards is dropped.
    package func put(_ entry: StoredEntry?) {
        state.withLock { state in
            guard !state.hasEnded else { return }
            guard let entry else { return state.hasEnded = true }
            guard state.bytes + entry.bytes.count <= ClusterLimits.waitingEntryBytes else { return }
            state.entries.append(entry)
            state.bytes += entry.bytes.count
        }
        signal.raise()
    }

    /// All that wait, in order, once there are some; nil once nothing comes any more, or if
    /// cancelled.
    package func next() async -> [StoredEntry]? {
        while !Task.isCancelled {
            let (entries, hasEnded) = state.withLock { state in
                defer { (state.entries, state.bytes) = ([], 0) }
                return (state.entries, state.hasEnded)
            }
            if !entries.isEmpty { return entries }
            if hasEnded { return nil }
            await signal.wait()
        }
        return nil
    }
}
