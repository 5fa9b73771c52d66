/// A timer wheel for all connections of a loop: an idle connection costs nothing in between.
package struct TimerWheel {
    package let tick: Duration
    private var slots: [Int: [UInt64]] = [:]
    private var current = 0
    private let start: Duration

    package init(tick: Duration, now: Duration) {
        self.tick = tick
        start = now
    }

    /// Schedules a connection.
    ///
    /// - Returns: the tick at which it is due, at least one from now.
    package mutating func add(_ id: UInt64, after delay: Duration) -> Int {
        let turns = (max(delay, .zero) / tick).rounded(.up)
        let turn = current + max(1, Int(min(turns, 1e9)))
        slots[turn, default: []].append(id)
        return turn
    }

    /// Advances to `now`.
    ///
    /// - Returns: the due connections, each with the tick it was scheduled for; ignore one older
    ///   than the connection's newest.
    package mutating func advance(to now: Duration) -> [(id: UInt64, turn: Int)] {
        let target = Int((now - start) / tick)
        var due: [(UInt64, Int)] = []
        while current < target {
            current += 1
            for id in slots.removeValue(forKey: current) ?? [] { due.append((id, current)) }
        }
        return due
    }
}
