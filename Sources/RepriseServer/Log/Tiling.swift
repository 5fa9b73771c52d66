package import RepriseWire

/// Decides how a page covers missing ranges: each sequence once, by an event or a `gone`.
///
/// Ranges come in order through ``begin(_:)``, then the rows behind ``position``. A sequence that
/// neither the floor nor a row covers was removed from the log by hand; it is answered as `erased`,
/// so that no device waits for it for ever.
package struct Tiling {
    package private(set) var page: LogPage
    /// All requested sequences up to here are answered.
    package private(set) var position: Int64 = 0
    package private(set) var isFull = false
    private var target: Int64 = 0
    private var bytes = 0
    /// Why what lies below the floor is gone.
    private let floorReason: Gone.Reason
    private let limit: Int
    private let byteLimit: Int

    package init(
        state: LogChannelState, limit: Int, byteLimit: Int,
        floorReason: Gone.Reason = .retention
    ) {
        self.floorReason = floorReason
        page = LogPage(events: [], gone: [], state: state, through: 0)
        self.limit = limit
        self.byteLimit = byteLimit
    }

    /// Whether the current range needs one more row.
    package var needsRow: Bool { !isFull && position < target }

    /// Begins a range: sequences at or below the floor are gone; beyond the head nothing is told.
    ///
    /// - Returns: whether rows are needed.
    package mutating func begin(_ range: SequenceRange) -> Bool {
        target = min(range.through, page.state.head)
        guard !isFull, range.after < target else { return false }
        position = max(position, range.after)
        answer(through: min(target, page.state.floor), as: floorReason)
        page.through = max(page.through, position)
        return needsRow
    }

    /// Checks the next row before its body is read.
    ///
    /// - Returns: whether to add it.
    package mutating func accepts(prev: Int64, bytes count: Int) -> Bool {
        answer(through: min(prev, target), as: .erased)
        guard position < target else { return false }
        let isOverBytes = !page.events.isEmpty && bytes + count > byteLimit
        isFull = isOverBytes || page.events.count >= limit
        bytes += count
        return !isFull
    }

    package mutating func add(_ event: ServerFrame.Event) {
        page.events.append(event)
        position = event.seq
        page.through = position
    }

    /// No row follows ``position``.
    package mutating func rowsEnded() { answer(through: target, as: .erased) }

    private mutating func answer(through: Int64, as reason: Gone.Reason) {
        guard let range = SequenceRange(after: position, through: through) else { return }
        page.gone.append(Gone(range: range, reason: reason))
        position = through
        page.through = position
    }
}
