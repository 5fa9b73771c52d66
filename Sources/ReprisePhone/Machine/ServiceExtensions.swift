import RepriseCore

/// The pushes that service extensions are at work on.
package struct ServiceExtensions: Hashable, Sendable, Codable {
    /// A push that a service extension is at work on.
    package struct Run: Hashable, Sendable, Codable {
        package var app: String
        package var push: PhonePush
        var until: Int64
        /// It was warned that its time is nearly over.
        var isWarned = false
    }

    /// By number.
    package private(set) var runs: [Int: Run] = [:]
    private var last = 0

    /// Those at work, oldest first.
    var numbers: [Int] { runs.keys.sorted() }

    /// - Returns: its number; nil if too many are at work.
    mutating func start(_ app: String, _ push: PhonePush, at now: PhoneMoment) -> Int? {
        guard runs.count < PhoneLimits.extensions else { return nil }
        last += 1
        runs[last] = Run(
            app: app, push: push,
            until: now.after(milliseconds: PhoneLimits.extensionMilliseconds))
        return last
    }

    /// It has ended, or is not needed any more.
    mutating func end(_ number: Int) -> Run? { runs.removeValue(forKey: number) }

    /// The next event: its time and the number.
    var due: (at: Int64, number: Int)? {
        let warning = PhoneLimits.extensionWarningMilliseconds * 1_000
        return numbers.compactMap { number in
            runs[number].map { ($0.isWarned ? $0.until : $0.until - warning, number) }
        }.min { $0.0 < $1.0 }
    }

    /// Its time is nearly over.
    ///
    /// - Returns: whether it is warned now; false: it was before.
    mutating func warn(_ number: Int) -> Bool {
        defer { runs[number]?.isWarned = true }
        return runs[number]?.isWarned == false
    }
}
