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
