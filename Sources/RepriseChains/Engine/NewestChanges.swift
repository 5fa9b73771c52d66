/// Of each chain the newest change, in the order of the first that was not taken.
package struct NewestChanges: Sendable {
    private var order: [Int: String] = [:]
    private var changes: [String: (place: Int, change: ChainChange)] = [:]
    private var (first, end) = (0, 0)
    private let limit: Int
    /// How many chains were dropped since this was set to 0.
    package var missed = 0

    package init(limit: Int) { self.limit = limit }

    package var isEmpty: Bool { changes.isEmpty }

    package mutating func put(_ change: ChainChange) {
        let id = change.id.text
        guard changes[id] == nil else {
            changes[id]?.change = change
            return
        }
        (order[end], changes[id]) = (id, (end, change))
        end += 1
        if changes.count > limit, take() != nil { missed += 1 }
    }

    package mutating func take() -> ChainChange? {
        while first < end {
            defer { first += 1 }
            guard let id = order.removeValue(forKey: first) else { continue }
            return changes.removeValue(forKey: id)?.change
        }
        return nil
    }

    package mutating func remove(_ id: ChainID) {
        guard let place = changes.removeValue(forKey: id.text)?.place else { return }
        order[place] = nil
    }
}
