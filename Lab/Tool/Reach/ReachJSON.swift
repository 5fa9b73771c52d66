import RepriseSimulator
import RepriseWire

/// The output for programs; shares are of all messages, 0 to 1.
struct ReachJSON: Encodable {
    struct Figure: Encodable {
        var share: Double
        /// Half of the 95 % confidence interval of the simulation.
        var samplingError: Double
        /// The 5th and 95th percentile over draws of all inputs.
        var low: Double
        var high: Double

        init(_ figure: ReachReport.Figure) {
            share = figure.value.share
            samplingError = figure.value.error
            low = figure.low
            high = figure.high
        }
    }

    struct Swing: Encodable {
        var input: String
        var atLow: Double
        var atHigh: Double
    }

    struct Mode: Encodable {
        var mode: String
        var within: [String: Figure]
        var noticeAfterAnHour: Figure
        var onlyAtNextOpen: Figure
        var byNotice: Figure
        var inTheListAlone: Figure
        var dominates: [String: String]
        var swings: [String: [Swing]]
        var decisions: [String: Int]
    }

    struct Requirement: Encodable {
        var mode: String
        var share: Double
        var input: String
        var allElseIdeal: Bool
        var answer: String
        var value: Double?
        var best: Double?
    }

    var seed: UInt64
    var devices: Int
    var days: Int
    var draws: Int
    var messages: Int
    var inputs: [String: ReachInputsFile.Member]
    var appStates: [String: Double]
    var modes: [Mode]
    var claim: [Requirement]
    var claimAtBestOfRanges: [String: Double]

    init(_ report: ReachReport) {
        seed = report.seed
        devices = report.devices
        days = report.days
        draws = report.draws
        messages = report.messages
        inputs = Dictionary(
            uniqueKeysWithValues: ReachInput.allCases.map {
                ($0.rawValue, ReachInputsFile.Member($0, report.inputs[$0]))
            })
        appStates = Dictionary(
            uniqueKeysWithValues: zip(
                ["foreground", "background", "suspended", "forceQuit"], report.states))
        modes = report.modes.map(Mode.init)
        claim = report.requirements.map(Requirement.init)
        claimAtBestOfRanges = Dictionary(
            uniqueKeysWithValues: report.favourable.map { ($0.rawValue, $1) })
    }
}

extension ReachJSON.Mode {
    init(_ mode: ReachReport.Mode) {
        self.mode = mode.mode.rawValue
        func byHorizon<T>(_ values: [T]) -> [String: T] {
            Dictionary(
                uniqueKeysWithValues: ReachHorizon.allCases.map {
                    ("\(Int($0.seconds))s", values[$0.rawValue])
                })
        }
        within = byHorizon(mode.within.map(ReachJSON.Figure.init))
        noticeAfterAnHour = ReachJSON.Figure(mode.later)
        onlyAtNextOpen = ReachJSON.Figure(mode.atOpen)
        byNotice = ReachJSON.Figure(mode.noticed)
        inTheListAlone = ReachJSON.Figure(mode.quiet)
        dominates = byHorizon(mode.swings.map { $0.first?.input.rawValue ?? "" })
        swings = byHorizon(
            mode.swings.map { swings in
                swings.map {
                    ReachJSON.Swing(input: $0.input.rawValue, atLow: $0.atLow, atHigh: $0.atHigh)
                }
            })
        decisions = Dictionary(
            uniqueKeysWithValues: mode.tally.decisions.map { ($0.rawValue, $1) })
    }
}

extension ReachJSON.Requirement {
    init(_ requirement: ReachReport.Requirement) {
        mode = requirement.mode.rawValue
        share = requirement.target
        input = requirement.input.rawValue
        allElseIdeal = requirement.isIdeal
        switch requirement.answer {
        case .met: answer = "met"
        case .needs(let needed, let isLeast):
            answer = isLeast ? "atLeast" : "atMost"
            value = needed
        case .never(let best, let at):
            answer = "never"
            self.best = best
            value = at
        }
    }
}

extension ReachReport {
    var messages: Int { modes.first?.tally.messages ?? 0 }

    /// The app's state when messages were stored: foreground, background, suspended, force-quit.
    var states: [Double] {
        let counts = modes.first?.tally.states ?? []
        return counts.map { Double($0) / Double(max(messages, 1)) }
    }
}
