import RepriseCore

/// What the devices of the workload `gates` declare.
enum GatesKinds {
    static let cart = Readiness("cart")
    static let conditions: [Readiness] = [.store, .ui, .session, cart]

    private static let backoff = Backoff(base: .seconds(1), longest: .seconds(20))

    static let all: [EntryKind] = [
        EntryKind("plain", requires: [.journal], attemptLimit: 5, backoff: backoff, parallel: 2),
        EntryKind(
            "tap", requires: [.store, .ui], bound: .init(after: .seconds(30), then: .expire),
            attemptLimit: 5, backoff: backoff),
        EntryKind(
            "banner", requires: [.ui], bound: .init(after: .seconds(25), then: .deliver),
            attemptLimit: 5, backoff: backoff, parallel: 2),
        EntryKind("send", requires: [.session], attemptLimit: 5, backoff: backoff, parallel: 3),
        EntryKind(
            "line", requires: [.session], attemptLimit: 5, backoff: backoff, parallel: 4,
            partitionWindow: 3),
        EntryKind("count", requires: [.store], attemptLimit: 5, backoff: backoff),
        EntryKind(
            "once", requires: [cart], attemptLimit: 5, backoff: backoff, onInterruption: .never),
    ]

    static let named = Dictionary(all.map { ($0.name, $0) }) { first, _ in first }
}

/// A thing that happens to a device and has to be recorded.
struct GatesMessage {
    let id: EntryID
    let device: Int
    let kind: EntryKind
    let partitionKey: String?
    let delay: Duration?
    /// When each of its paths brings it.
    let arrivals: [Duration]

    /// `random` gives each message the same number of draws, so that a shorter schedule has the
    /// same first ones.
    init(_ index: Int, devices: Int, length: Duration, _ random: inout SeededRandom) {
        var draw = SeededRandom(seed: random.next())
        id = EntryID(unchecked: "m\(index)")
        device = index % devices
        kind = GatesKinds.all[draw.index(GatesKinds.all.count)]
        let hasPartitionKey =
            ["plain", "send", "count", "line"].contains(kind.name)
            && draw.chance(kind.name == "line" ? 0.9 : 0.4)
        partitionKey = hasPartitionKey ? "\(kind.name)-\(draw.index(2))" : nil
        delay = draw.chance(0.15) ? draw.spread(.seconds(1), .seconds(60)) : nil
        let first = length * draw.fraction()
        var arrivals = [first]
        if draw.chance(0.2) {
            arrivals.append(first + draw.spread(.zero + .milliseconds(1), .seconds(60)))
        }
        self.arrivals = arrivals
    }

    var entry: NewEntry {
        NewEntry(id: id, kind: kind.name, payload: [], partitionKey: partitionKey, delay: delay)
    }
}
