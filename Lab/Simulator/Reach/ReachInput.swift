/// What the answer of `reprise-lab reach` depends on.
package enum ReachInput: String, CaseIterable, Sendable, Codable {
    case opensPerDay, foregroundMinutes, backgroundSeconds, forceQuitShare
    case refreshMinutes, refreshAllowed
    case networkAvailable, outageMinutes
    case messagesPerDay, replyShare, replySeconds, nightShare
    case mutedShare, quietShare
    case permission, webPermission, webDelivers
    case apnsSeconds, webPushSeconds, pushLost

    /// Where the value comes from; a range around it is ours unless the source says otherwise.
    package enum Basis: String, Sendable, Codable, CaseIterable {
        /// Somebody counted it.
        case measured
        /// A vendor's page says it.
        case documented
        /// Nobody was found who knows.
        case assumed
    }

    /// Its place in ``allCases``.
    var index: Int { Self.places[self] ?? 0 }

    private static let places = Dictionary(
        uniqueKeysWithValues: allCases.enumerated().map { ($1, $0) })
}

/// An input's value, and between what it may lie.
package struct ReachRange: Hashable, Sendable {
    package var low: Double
    package var value: Double
    package var high: Double

    package init(_ low: Double, _ value: Double, _ high: Double) {
        self.low = low
        self.value = value
        self.high = high
    }

    /// Lower than the value for a fraction, from 0 up to and without 1, below a half; higher for
    /// the others.
    func drawn(_ fraction: Double) -> Double {
        fraction < 0.5
            ? low + (value - low) * 2 * fraction
            : value + (high - value) * (2 * fraction - 1)
    }
}

/// An input as a person states it.
package struct ReachAssumption: Hashable, Sendable {
    package var range: ReachRange
    package var basis: ReachInput.Basis
    package var source: String

    package init(range: ReachRange, basis: ReachInput.Basis, source: String) {
        self.range = range
        self.basis = basis
        self.source = source
    }
}

/// All inputs, as a person states them.
package struct ReachInputs: Hashable, Sendable {
    private var assumptions: [ReachAssumption]

    /// The defaults.
    package init() { assumptions = ReachInput.allCases.map(\.standard) }

    package subscript(_ input: ReachInput) -> ReachAssumption {
        get { assumptions[input.index] }
        set { assumptions[input.index] = newValue }
    }

    /// Each at its value.
    package var point: ReachPoint { ReachPoint(assumptions.map(\.range.value)) }
}

/// One value of each input: what is simulated.
package struct ReachPoint: Hashable, Sendable {
    private var values: [Double]

    init(_ values: [Double]) { self.values = values }

    package subscript(_ input: ReachInput) -> Double {
        get { values[input.index] }
        set { values[input.index] = newValue }
    }
}

extension ReachInput {
    /// What it is, for people.
    package var title: String {
        switch self {
        case .opensPerDay: "times a day the app is opened"
        case .foregroundMinutes: "minutes a day in the foreground"
        case .backgroundSeconds: "seconds of background time after a use"
        case .forceQuitShare: "share of people who swipe the app away after each use"
        case .refreshMinutes: "minutes between two background refreshes"
        case .refreshAllowed: "share of people with background refresh on"
        case .networkAvailable: "share of time with a network"
        case .outageMinutes: "minutes that a time without network lasts"
        case .messagesPerDay: "messages a day to a person"
        case .replyShare: "share of messages that answer the person"
        case .replySeconds: "seconds until such an answer"
        case .nightShare: "share of the other messages that come at night"
        case .mutedShare: "share of messages in muted conversations"
        case .quietShare: "share of people with quiet hours at night"
        case .permission: "share of people who allow notifications of the app"
        case .webPermission: "share of people who allow them to the web page"
        case .webDelivers: "share of web subscriptions that still deliver"
        case .apnsSeconds: "seconds that APNs takes"
        case .webPushSeconds: "seconds that a web push service takes"
        case .pushLost: "share of pushes that a service loses"
        }
    }

    /// The same in a few words, for charts.
    package var label: String {
        switch self {
        case .opensPerDay: "opens a day"
        case .foregroundMinutes: "minutes in front"
        case .backgroundSeconds: "background time, s"
        case .forceQuitShare: "people who force-quit"
        case .refreshMinutes: "refresh every … min"
        case .refreshAllowed: "refresh allowed"
        case .networkAvailable: "network available"
        case .outageMinutes: "outage, min"
        case .messagesPerDay: "messages a day"
        case .replyShare: "messages that answer"
        case .replySeconds: "answer after … s"
        case .nightShare: "messages at night"
        case .mutedShare: "muted messages"
        case .quietShare: "people with quiet hours"
        case .permission: "permission"
        case .webPermission: "web permission"
        case .webDelivers: "web subscription alive"
        case .apnsSeconds: "APNs takes, s"
        case .webPushSeconds: "web push takes, s"
        case .pushLost: "pushes lost"
        }
    }

    /// Between what it can lie at all.
    package var possible: ClosedRange<Double> {
        switch self {
        case .opensPerDay: 0.1...500
        case .foregroundMinutes: 0...960
        case .backgroundSeconds: 0...86_400
        case .refreshMinutes: 15...10_080
        case .networkAvailable: 0.05...1
        case .outageMinutes: 0.1...1_440
        case .messagesPerDay: 0.1...1_000
        case .replySeconds: 0...86_400
        case .apnsSeconds, .webPushSeconds: 0...3_600
        case .forceQuitShare, .refreshAllowed, .replyShare, .nightShare, .mutedShare, .quietShare,
            .permission, .webPermission, .webDelivers, .pushLost:
            0...1
        }
    }
}
