import RepriseCore

/// The scale of the demo: quick, or the full numbers.
struct NoticesScale: Hashable, Sendable {
    /// Random steps of three devices.
    let steps: Int
    /// How long Apple's service is down.
    let outage: Duration

    static let quick = NoticesScale(steps: 60, outage: .seconds(8))
    static let full = NoticesScale(steps: 1_000, outage: .seconds(3_600))

    /// How long what waited may take behind an outage: the longest pause before a provider is asked
    /// again, and that of a push.
    var timeout: Duration { outage > .seconds(60) ? .seconds(400) : .seconds(20) }
}
