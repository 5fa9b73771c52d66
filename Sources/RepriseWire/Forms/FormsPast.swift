package import RepriseCore

/// A condition on what has happened before: `{"form": "a", "was": "shown", "atLeast": 2}`.
package struct FormsPast: Hashable, Sendable {
    /// What becomes of a form.
    package enum Occasion: String, CaseIterable, Hashable, Sendable {
        case shown, submitted, dismissed
    }

    /// What is counted.
    package enum Subject: Hashable, Sendable {
        case form(String, Occasion)
        case event(String)
    }

    /// How often it has happened, and when last.
    package struct Count: Hashable, Sendable {
        package var count: Int64
        package var last: WallTime

        package init(count: Int64, last: WallTime) { (self.count, self.last) = (count, last) }
    }

    package let subject: Subject
    package let atLeast: Int64?
    package let atMost: Int64?
    /// The last one was at most so many seconds ago.
    package let within: Int64?
    /// There was none, or the last one was so many seconds ago or more.
    package let notWithin: Int64?

    /// Whether it is true of what was counted; nil: it has never happened.
    func holds(_ found: Count?, at now: WallTime) -> Bool {
        let count = found?.count ?? 0
        func isSince(_ seconds: Int64) -> Bool {
            found.map { $0.last > now.advanced(by: .seconds(-seconds)) } ?? false
        }
        return atLeast.map { count >= $0 } ?? true && atMost.map { count <= $0 } ?? true
            && within.map(isSince) ?? true && notWithin.map { !isSince($0) } ?? true
    }
}
