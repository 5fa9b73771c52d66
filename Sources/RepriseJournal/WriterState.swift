package import RepriseCore

/// The writer's cached state of the database.
///
/// A value: when a commit fails, the previous value returns, so that memory is never ahead of the
/// disk.
struct WriterState: Sendable {
    var clock: WallClockGuard
    /// When the last clock reading was stored, by the uptime clock.
    var sighted: Duration
    /// Entries that have not ended.
    var pending: Int
    /// The calendar as of this transaction.
    var now: WallTime

    // Of this transaction alone:

    var accepted: Int64 = 0
    var duplicates: Int64 = 0
    var news = CommitEvents()

    mutating func due(_ moment: WallTime) {
        news.soonest = min(news.soonest ?? moment, moment)
    }

    mutating func entryAdded(_ kind: String, isReady: Bool, due: WallTime?, bound: WallTime?) {
        accepted += 1
        pending += 1
        if isReady { news.kinds.insert(kind) }
        if let due { self.due(due) }
        if let bound { self.due(bound) }
    }

    mutating func beginTransaction() {
        accepted = 0
        duplicates = 0
        news = CommitEvents()
    }
}

/// The events of a commit that matter to the dispatch.
package struct CommitEvents: Hashable, Sendable {
    /// Kinds whose entries may have become ready.
    package var kinds: Set<String> = []
    /// The earliest due moment that the commit stored.
    package var soonest: WallTime?
    /// The newest row of each kind that was recorded, whatever it waits for.
    package var recorded: [String: Int64] = [:]
    /// By how much the calendar moved, and every due moment with it.
    package var moved: Duration = .zero

    package init(kinds: Set<String> = [], soonest: WallTime? = nil) {
        self.kinds = kinds
        self.soonest = soonest
    }

    package var isEmpty: Bool {
        kinds.isEmpty && soonest == nil && recorded.isEmpty && moved == .zero
    }

    /// The earliest due moment, by the uptime clock.
    package func soonest(by clock: any Timekeeper) -> Duration? {
        soonest.map { clock.uptime() + max(clock.wall().duration(to: $0), .zero) }
    }
}
