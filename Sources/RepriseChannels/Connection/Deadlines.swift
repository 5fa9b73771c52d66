/// When each timer is due; a timer has one deadline, the last one set.
struct Deadlines<Key: Hashable & Sendable>: Sendable {
    private var due: [Key: Duration] = [:]

    /// The soonest of all.
    var soonest: Duration? { due.values.min() }

    mutating func set(_ key: Key, at moment: Duration) { due[key] = moment }

    mutating func cancel(_ key: Key) { due[key] = nil }

    mutating func cancelAll() { due = [:] }

    /// Removes and returns what is due.
    mutating func take(at now: Duration) -> [Key] {
        let keys = due.filter { $0.value <= now }.map(\.key)
        for key in keys { due[key] = nil }
        return keys
    }
}
