package import RepriseWire

/// What came of the messages of one person, or of all.
package struct ReachTally: Hashable, Sendable {
    package private(set) var messages = 0
    /// By horizon: shown so soon.
    package private(set) var within = [Int](repeating: 0, count: ReachHorizon.allCases.count)
    /// Shown by a notice, after the last horizon.
    package private(set) var later = 0
    /// Shown when the app was opened, after the last horizon, and by nothing before.
    package private(set) var atOpen = 0
    /// Shown by a notice in the list alone: no banner, no sound.
    package private(set) var quiet = 0
    /// Shown by a notice at all.
    package private(set) var noticed = 0
    /// Where the app was when the message was stored: foreground, background, suspended,
    /// force-quit.
    package private(set) var states = [Int](repeating: 0, count: 4)
    /// How often the shipping decision gave which reason.
    package var decisions: [NoticeDecision.Reason: Int] = [:]

    mutating func add(
        waited: Double?, byNotice: Bool, isQuiet: Bool, state: ReachPerson.AppState
    ) {
        messages += 1
        states[state.rawValue] += 1
        if byNotice { noticed += 1 }
        if isQuiet { quiet += 1 }
        let waited = waited ?? .infinity
        for horizon in ReachHorizon.allCases where waited <= horizon.seconds {
            within[horizon.rawValue] += 1
        }
        if waited > ReachHorizon.hour.seconds {
            if byNotice { later += 1 } else { atOpen += 1 }
        }
    }

    static func += (sum: inout ReachTally, other: ReachTally) {
        sum.messages += other.messages
        for index in sum.within.indices { sum.within[index] += other.within[index] }
        for index in sum.states.indices { sum.states[index] += other.states[index] }
        sum.later += other.later
        sum.atOpen += other.atOpen
        sum.quiet += other.quiet
        sum.noticed += other.noticed
        for (reason, count) in other.decisions { sum.decisions[reason, default: 0] += count }
    }
}

/// A share, and how far chance alone may have moved it.
package struct ReachShare: Hashable, Sendable, Codable {
    /// 0...1.
    package var share: Double
    /// Half of the 95 % confidence interval.
    package var error: Double

    /// Of a ratio of sums over people: their messages are alike, so people are counted, not
    /// messages.
    init(_ people: [ReachTally], _ count: (ReachTally) -> Int) {
        let messages = people.reduce(0) { $0 + $1.messages }
        let hits = people.reduce(0) { $0 + count($1) }
        share = messages == 0 ? 0 : Double(hits) / Double(messages)
        error = 0
        guard messages > 0, people.count > 1 else { return }
        var squares = 0.0
        for person in people {
            let residue = Double(count(person)) - share * Double(person.messages)
            squares += residue * residue
        }
        let k = Double(people.count)
        error = 1.96 * (squares * k / (k - 1)).squareRoot() / Double(messages)
    }
}
