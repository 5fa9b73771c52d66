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
        // After a pause of the machine most ticks have no timer.
        if target - current > slots.count {
            for turn in slots.keys.filter({ $0 <= target }).sorted() { take(turn, &due) }
            current = target
        }
        while current < target {
            current += 1
            take(current, &due)
        }
        return due
    }

    private mutating func take(_ turn: Int, _ due: inout [(UInt64, Int)]) {
        for id in slots.removeValue(forKey: turn) ?? [] { due.append((id, turn)) }
    }
}
