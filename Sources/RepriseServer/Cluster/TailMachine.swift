import RepriseCore

/// Follows the journal: entries come live, and what did not come is read.
///
/// What comes live may be missing, double, late or not yet what the journal holds. An entry is
/// applied if it is the next; a hole, a silence of ``ClusterLimits/silence`` and a new connection
/// are answered by reading behind what is applied.
package struct TailMachine: Sendable {
    package enum Action: Hashable, Sendable {
        case apply(StoredEntry)
        /// Read the entries behind this one from the journal.
        case read(after: Int64)
        /// The journal no longer holds what is applied here: stop serving.
        case wentBack(to: Int64)
    }

    private var isReading = false
    private var silentSince: Duration

    package init(now: Duration) { silentSince = now }

    /// When ``timerFired(applied:now:)`` is due.
    package var due: Duration { silentSince + ClusterLimits.silence }

    /// An entry has come, live or read; `applied` is the last applied sequence.
    package mutating func heard(
        _ entry: StoredEntry, _ order: AdmissionMachine.Order, applied: Int64, now: Duration
    ) -> Action? {
        silentSince = now
        switch order {
        case .next: return .apply(entry)
        case .applied: return nil
        case .changed: return .wentBack(to: entry.sequence)
        case .ahead: return read(after: applied)
        }
    }

    /// A reading has ended; its entries were given to ``heard(_:_:applied:now:)``.
    ///
    /// `last` is the journal's last sequence, by whom was asked; nil if reading failed.
    package mutating func read(last: Int64?, applied: Int64, now: Duration) -> Action? {
        isReading = false
        silentSince = now
        guard let last else { return nil }
        return last > applied ? read(after: applied) : nil
    }

    package mutating func timerFired(applied: Int64, now: Duration) -> Action? {
        guard due <= now else { return nil }
        silentSince = now
        return read(after: applied)
    }

    private mutating func read(after applied: Int64) -> Action? {
        guard !isReading else { return nil }
        isReading = true
        return .read(after: applied)
    }
}
