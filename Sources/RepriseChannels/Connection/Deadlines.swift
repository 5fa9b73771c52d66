/// The deadlines of timers; a timer has one deadline, the last one set.
struct Deadlines<Key: Hashable & Comparable & Sendable>: Sendable {
    private var due: [Key: Duration] = [:]

    /// The earliest of all.
    var soonest: Duration? { due.values.min() }

    mutating func set(_ key: Key, at moment: Duration) { due[key] = moment }

    mutating func cancel(_ key: Key) { due[key] = nil }

    mutating func cancelAll(except isKept: (Key) -> Bool) { due = due.filter { isKept($0.key) } }

    /// Removes and returns the due timers: the earliest first, and in the same order in every
    /// process.
    mutating func take(at now: Duration) -> [Key] {
        let taken = due.filter { $0.value <= now }
        for key in taken.keys { due[key] = nil }
        return taken.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
    }
}
