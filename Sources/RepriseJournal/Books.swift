import RepriseCore

/// What the writer knows about the database without asking it.
///
/// A value: when a commit fails the one from before takes its place, so that memory is never ahead of the disk.
struct Books: Sendable {
    /// What a commit brought that the hand-over has to hear of.
    struct News: Sendable {
        /// Kinds of which something may have become ready.
        var kinds: Set<String> = []
        /// The soonest moment that was newly written down.
        var soonest: WallTime?
    }

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
    var news = News()

    mutating func due(_ moment: WallTime) {
        news.soonest = min(news.soonest ?? moment, moment)
    }

    mutating func beginTransaction() {
        accepted = 0
        duplicates = 0
        news = News()
    }
}
