/// Rows on a disk that may be full, or fail a sync.
struct SimulatedRows<Key: Hashable, Value> {
    private(set) var rows: [Key: Value] = [:]
    private var unsynced: [Key: Value]?

    /// Writes a row, or with nil takes it away.
    ///
    /// - Returns: whether that is durable now.
    mutating func write(_ key: Key, _ value: Value?, _ fate: SimulatedDisk.Fate) -> Bool {
        var next = rows
        next[key] = value
        switch fate {
        case .done: (rows, unsynced) = (next, nil)
        case .full: break
        case .syncFailed: unsynced = next
        }
        return fate == .done
    }

    mutating func crash(keepsUnsynced: Bool) {
        if let unsynced, keepsUnsynced { rows = unsynced }
        unsynced = nil
    }

    /// Others are in their place, as after a backup is restored.
    mutating func replace(by rows: [Key: Value]) {
        self.rows = rows
        unsynced = nil
    }
}
