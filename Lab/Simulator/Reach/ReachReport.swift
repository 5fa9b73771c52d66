/// What `reprise-lab reach` found.
package struct ReachReport: Sendable {
    /// A share at the inputs' values, with what chance and what assumptions may make of it.
    package struct Figure: Hashable, Sendable {
        package var value: ReachShare
        /// The 5th and the 95th percentile over draws of all inputs together.
        package var low: Double
        package var high: Double
    }

    /// What one input alone does to a share.
    package struct Swing: Hashable, Sendable {
        package var input: ReachInput
        package var atLow: Double
        package var atHigh: Double

        package var size: Double { abs(atHigh - atLow) }
    }

    package struct Mode: Sendable {
        package var mode: ReachMode
        package var within: [Figure]
        /// Not within an hour, and then by opening the app alone.
        package var atOpen: Figure
        /// Not within an hour, and then by a notice.
        package var later: Figure
        /// By a notice, at whatever time; the rest was seen in the app.
        package var noticed: Figure
        /// By a notice in the list, without a banner.
        package var quiet: Figure
        /// By horizon, the largest first.
        package var swings: [[Swing]]
        package var tally: ReachTally
    }

    /// What would have to be true for a share to be reached.
    package struct Requirement: Hashable, Sendable {
        package enum Answer: Hashable, Sendable {
            /// It is so at the inputs' values.
            case met
            /// The input at this value or beyond it, in the direction of the better end.
            case needs(Double, atLeast: Bool)
            /// No value of the input does it; the best share that one gives.
            case never(best: Double, at: Double)
        }

        package var mode: ReachMode
        package var target: Double
        package var input: ReachInput
        /// Whether all else is ideal: everybody allows notifications, nobody mutes, nobody
        /// force-quits, the network is always there.
        package var isIdeal: Bool
        package var answer: Answer
    }

    package var seed: UInt64
    package var devices: Int
    package var days: Int
    package var draws: Int
    package var inputs: ReachInputs
    package var modes: [Mode]
    package var requirements: [Requirement]
    /// The share of the original's claim with every input at the better end of its range.
    package var favourable: [ReachMode: Double]

    package subscript(_ mode: ReachMode) -> Mode? { modes.first { $0.mode == mode } }

    /// The horizon at which the original's claim is judged: it says "instantly".
    package static let judged = ReachHorizon.minute
    /// The original's claim: "90-95 %".
    package static let claimed = [0.9, 0.95]
}
