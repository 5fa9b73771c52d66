package import RepriseCore

/// What the writer knows about the database without asking it.
///
/// A value: when a commit fails the one from before takes its place, so that memory is never ahead
/// of the disk.
struct Books: Sendable {
    var clock: WallClockGuard
    /// When the last sighting of the clocks was written down, on the clock that cannot jump.
    var sighted: Duration
    /// Entries that have not ended.
    var pending: Int
    /// The calendar as of this transaction.
    var now: WallTime

    // Of this transaction alone:

    var accepted: Int64 = 0
    var duplicates: Int64 = 0
    var news = CommitNews()

    mutating func due(_ moment: WallTime) {
        news.soonest = min(news.soonest ?? moment, moment)
    }

    mutating func beginTransaction() {
        accepted = 0
        duplicates = 0
        news = CommitNews()
    }
}

/// What a commit brought that the hand-over has to hear of.
package struct CommitNews: Hashable, Sendable {
    /// Kinds of which something may have become ready.
    package var kinds: Set<String> = []
    /// The soonest moment that was newly written down.
    package var soonest: WallTime?
    /// The newest row of each kind that was recorded, whatever it waits for.
    package var recorded: [String: Int64] = [:]
    /// By how much the calendar was set, and what is due with it.
    package var moved: Duration = .zero

    package init(kinds: Set<String> = [], soonest: WallTime? = nil) {
        self.kinds = kinds
        self.soonest = soonest
    }

    package var isEmpty: Bool {
        kinds.isEmpty && soonest == nil && recorded.isEmpty && moved == .zero
    }

    /// The soonest moment on the clock that cannot jump.
    package func soonest(by clock: any Timekeeper) -> Duration? {
        soonest.map { clock.uptime() + max(clock.wall().duration(to: $0), .zero) }
    }
}
