import RepriseCore

/// Whether what was promised and what came agree, and in which way they do not.
struct Account: Sendable {
    /// What publishers were told is stored, and what devices have recorded for sending.
    var acknowledged: [Stored] = []
    /// In the order in which each device has published them, one list a device.
    var published: [[EntryID]] = []
    /// What the server's log has.
    var log: [Stored] = []
    /// What each device's app has got.
    var effects: [[Stored]] = []

    /// What is wrong, in words; nothing is right.
    var complaints: [String] {
        var complaints: [String] = []
        let stored = Set(log)
        let lost = acknowledged.filter { !stored.contains($0) }
        if !lost.isEmpty { complaints.append("acknowledged, but not in the log: \(lost.brief)") }
        if log.map(\.seq) != Array(1...Int64(max(1, log.count))).prefix(log.count).map({ $0 }) {
            complaints.append("the log has gaps")
        }
        let twice = Dictionary(grouping: log, by: \.id).filter { $0.value.count > 1 }
        if !twice.isEmpty {
            complaints.append("stored twice: \(twice.keys.sorted { $0.text < $1.text }.brief)")
        }
        let expected = acknowledged.count + published.reduce(0) { $0 + $1.count }
        if log.count != expected {
            complaints.append("the log has \(log.count) messages, \(expected) were published")
        }
        for (index, ids) in published.enumerated() {
            let own = Set(ids)
            let order = log.map(\.id).filter(own.contains)
            if order != ids {
                complaints.append(
                    Set(order) == own
                        ? "device \(index)'s messages are stored in another order"
                        : "device \(index)'s messages are not all stored")
            }
        }
        for (index, effects) in effects.enumerated() {
            complaints += Self.complaints(effects, log).map { "device \(index): \($0)" }
        }
        return complaints
    }

    private static func complaints(_ effects: [Stored], _ log: [Stored]) -> [String] {
        var complaints: [String] = []
        let (got, stored) = (Set(effects), Set(log))
        let missing = stored.subtracting(got).sorted()
        if !missing.isEmpty { complaints.append("never got \(missing.brief)") }
        let invented = got.subtracting(stored).sorted()
        if !invented.isEmpty { complaints.append("got what was never stored: \(invented.brief)") }
        if effects.count != got.count {
            complaints.append("\(effects.count - got.count) effects happened again")
        }
        return complaints
    }
}

extension Array where Element: CustomStringConvertible {
    fileprivate var brief: String {
        "\(count) (\(prefix(3).map(\.description).joined(separator: ", "))\(count > 3 ? ", …" : ""))"
    }
}
