/// Asks backwards: at which value of an input a share is reached.
struct ReachRequirement: Sendable {
    var mode: ReachMode
    var target: Double
    var input: ReachInput
    var isIdeal: Bool

    /// The original's ways: without a push.
    static let modes: [ReachMode] = [.sockets, .refresh]

    /// What the original's claim is asked.
    static let all: [ReachRequirement] = modes.flatMap { mode in
        ReachInput.allCases.filter { concerns($0, mode) }.map {
            ReachRequirement(
                mode: mode, target: ReachReport.claimed[0], input: $0, isIdeal: false)
        }
            + ReachReport.claimed.flatMap { target in
                [ReachInput.backgroundSeconds, .foregroundMinutes].map {
                    ReachRequirement(mode: mode, target: target, input: $0, isIdeal: true)
                }
            }
    }

    private static func concerns(_ input: ReachInput, _ mode: ReachMode) -> Bool {
        switch input {
        case .webPermission, .webDelivers, .apnsSeconds, .webPushSeconds, .pushLost: false
        case .refreshMinutes, .refreshAllowed: mode == .refresh
        case .opensPerDay, .foregroundMinutes, .backgroundSeconds, .forceQuitShare,
            .networkAvailable, .outageMinutes, .messagesPerDay, .replyShare, .replySeconds,
            .nightShare, .mutedShare, .quietShare, .permission:
            true
        }
    }

    /// How often the interval is halved.
    private static let halvings = 14

    func answered(
        _ start: ReachPoint, _ share: (ReachPoint, ReachMode) -> Double
    ) -> ReachReport.Requirement {
        var point = start
        if isIdeal {
            for ideal in [ReachInput.permission, .networkAvailable] { point[ideal] = 1 }
            for ideal in [ReachInput.mutedShare, .forceQuitShare] { point[ideal] = 0 }
        }
        func at(_ value: Double) -> Double {
            var point = point
            point[input] = value
            return share(point, mode)
        }
        let (least, most) = (input.possible.lowerBound, input.possible.upperBound)
        let answer: ReachReport.Requirement.Answer
        if share(point, mode) >= target {
            answer = .met
        } else {
            let (low, high) = (at(least), at(most))
            let isUp = high >= low
            if max(low, high) < target {
                answer = .never(best: max(low, high), at: isUp ? most : least)
            } else {
                var (bad, good) = isUp ? (least, most) : (most, least)
                for _ in 0..<Self.halvings {
                    let middle = (bad + good) / 2
                    if at(middle) >= target { good = middle } else { bad = middle }
                }
                answer = .needs(good, atLeast: isUp)
            }
        }
        return ReachReport.Requirement(
            mode: mode, target: target, input: input, isIdeal: isIdeal, answer: answer)
    }
}
