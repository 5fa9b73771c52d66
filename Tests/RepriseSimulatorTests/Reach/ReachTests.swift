import RepriseWire
import Testing

@testable import RepriseSimulator

/// The model against what can be computed without it.
@Suite("reach")
struct ReachTests {
    /// Nothing in the way: everybody allows, nobody mutes, the network is there, messages come at
    /// any time of day, none as an answer.
    private static var plain: ReachPoint {
        var point = ReachInputs().point
        for input in [
            ReachInput.permission, .webPermission, .webDelivers, .networkAvailable, .refreshAllowed,
        ] {
            point[input] = 1
        }
        for input in [
            ReachInput.mutedShare, .quietShare, .forceQuitShare, .replyShare, .pushLost,
            .backgroundSeconds,
        ] {
            point[input] = 0
        }
        point[.nightShare] = 8.0 / 24
        return point
    }

    private func sample(
        _ point: ReachPoint, devices: Int = 60, seed: UInt64 = 3,
        modes: [ReachMode] = ReachMode.allCases
    ) throws
        -> ReachSample
    {
        ReachSample(
            point: point, modes: modes, seed: seed, devices: devices, days: 7,
            scene: try ReachScene())
    }

    @Test(
        "without background time, sockets reach within 5 s the share of time in the foreground",
        arguments: [35.15, 120, 480, 960])
    func foreground(minutes: Double) throws {
        var point = Self.plain
        point[.foregroundMinutes] = minutes
        let found = try sample(point, devices: 150, modes: [.sockets])
            .share(.sockets, within: .fiveSeconds)
        // In those 5 s a person may open the app: with 23 opens a day, 0.2 % of the rest.
        #expect(abs(found.share - minutes / 1_440) < 2 * found.error + 0.003)
        #expect(found.error > 0 && found.error < 0.03)
    }

    @Test(
        "with background time, that and the time granted before the next use",
        arguments: [30, 180, 3_600])
    func background(seconds: Double) throws {
        var point = Self.plain
        point[.backgroundSeconds] = seconds
        let opens = point[.opensPerDay]
        let pause = (ReachPerson.awake - point[.foregroundMinutes] * 60) / opens
        // Pauses by day are exponential; the mean of what of one is granted: pause · (1 −
        // e^(−granted/pause)).
        var decay = 1.0
        for _ in 0..<1_024 { decay *= 1 - seconds / pause / 1_024 }
        let granted = opens * pause * (1 - decay)
        let expected = (point[.foregroundMinutes] * 60 + granted) / ReachPerson.day
        let found = try sample(point, devices: 150, modes: [.sockets])
            .share(.sockets, within: .fiveSeconds)
        #expect(abs(found.share - expected) < 2 * found.error + 0.01, "\(found) \(expected)")
    }

    @Test(
        "a push is shown to all within a minute where nothing stands in its way, and to most within 5 s"
    )
    func push() throws {
        let found = try sample(Self.plain)
        for mode in [ReachMode.apns, .webPush] {
            #expect(found.share(mode, within: .minute).share > 0.9999)
            let soon = found.share(mode, within: .fiveSeconds).share
            #expect(soon > found.share(.sockets, within: .fiveSeconds).share + 0.5)
            // A connection that still stands at the server has its five seconds.
            #expect(soon < 0.995)
        }
    }

    @Test("a user who refuses notifications is shown none, and then all ways are alike")
    func refused() throws {
        var point = Self.plain
        (point[.permission], point[.webPermission]) = (0, 0)
        point[.backgroundSeconds] = 60
        let found = try sample(point)
        for mode in ReachMode.allCases {
            #expect(found.sum(mode).noticed == 0)
            #expect(found.sum(mode).within == found.sum(.sockets).within)
        }
        #expect((found.sum(.apns).decisions[.notPermitted] ?? 0) > 100)
    }

    @Test("of pushes to a device without a network one is kept by Apple, all by a web push service")
    func stored() throws {
        var point = Self.plain
        (point[.networkAvailable], point[.outageMinutes]) = (0.5, 120)
        let found = try sample(point)
        #expect(
            found.sum(.webPush).noticed > 2 * found.sum(.apns).noticed - found.sum(.apns).messages)
        #expect(
            found.share(.webPush, \.noticed).share > found.share(.apns, \.noticed).share + 0.1)
    }

    @Test("every message is counted once: by horizon, by a later notice, or at an open")
    func accounted() throws {
        let found = try sample(ReachInputs().point)
        for mode in ReachMode.allCases {
            let sum = found.sum(mode)
            #expect(sum.messages > 10_000)
            #expect(sum.within == sum.within.sorted())
            #expect(sum.within[2] + sum.later + sum.atOpen == sum.messages)
            #expect(sum.states.reduce(0, +) == sum.messages)
            #expect(sum.quiet <= sum.noticed)
        }
    }

    @Test(
        "a better value of an input never reaches fewer devices",
        arguments: [
            (ReachInput.backgroundSeconds, true), (.permission, true), (.networkAvailable, true),
            (.refreshAllowed, true), (.refreshMinutes, false), (.forceQuitShare, false),
            (.mutedShare, false), (.pushLost, false), (.foregroundMinutes, true),
            (.replyShare, true),
        ])
    func monotone(input: ReachInput, isBetterHigh: Bool) throws {
        let range = ReachInputs()[input].range
        var (before, point) = ([Double](), ReachInputs().point)
        for value in isBetterHigh
            ? [range.low, range.value, range.high] : [range.high, range.value, range.low]
        {
            point[input] = value
            let found = try sample(point, devices: 24)
            let shares = ReachMode.allCases.map { found.share($0, within: .hour).share }
            if !before.isEmpty {
                for (less, more) in zip(before, shares) { #expect(more >= less - 0.01, "\(input)") }
            }
            before = shares
        }
    }

    @Test("the same seed gives the same report on one thread and on four, another seed another")
    func deterministic() async throws {
        func report(_ seed: UInt64, _ jobs: Int) async throws -> ReachReport {
            try await ReachStudy(seed: seed, devices: 12, days: 2, draws: 8, jobs: jobs).run()
        }
        let once = try await report(5, 1)
        let again = try await report(5, 4)
        let other = try await report(6, 4)
        #expect(once.modes.map(\.within) == again.modes.map(\.within))
        #expect(once.modes.map(\.swings) == again.modes.map(\.swings))
        #expect(once.requirements == again.requirements)
        #expect(once.modes.map(\.within) != other.modes.map(\.within))
    }

    @Test("the confidence interval holds the truth about as often as it says")
    func interval() throws {
        var point = Self.plain
        point[.foregroundMinutes] = 240
        let seeds: ClosedRange<UInt64> = 1...40
        let held = try seeds.filter { seed in
            let found = try sample(point, devices: 24, seed: seed << 20, modes: [.sockets])
                .share(.sockets, within: .fiveSeconds)
            return abs(found.share - 240.0 / 1_440 - 0.001) <= found.error
        }
        #expect(held.count >= 33, "\(held.count) of 40")
    }

    @Test("a requirement names the least value that does, and says when none does")
    func requirement() throws {
        let question = ReachRequirement(
            mode: .sockets, target: 0.5, input: .foregroundMinutes, isIdeal: false)
        let half = question.answered(Self.plain) { point, _ in
            point[.foregroundMinutes] / 1_440
        }
        guard
            case .never(let best, 960) = ReachRequirement(
                mode: .sockets, target: 0.9, input: .foregroundMinutes, isIdeal: false
            ).answered(Self.plain, { point, _ in point[.foregroundMinutes] / 1_440 }).answer
        else {
            Issue.record("960 minutes are not 90 %")
            return
        }
        #expect(abs(best - 960.0 / 1_440) < 1e-9)
        guard case .needs(let value, true) = half.answer else {
            Issue.record("\(half)")
            return
        }
        #expect(abs(value - 720) < 0.1)
    }

    @Test("the exponential that compares has the mean and the tail of the one that computes")
    func exponential() {
        var random = SeededRandom(seed: 9)
        let drawn = (0..<100_000).map { _ in random.exponential() }
        #expect(abs(drawn.reduce(0, +) / 100_000 - 1) < 0.02)
        #expect(abs(Double(drawn.filter { $0 > 3 }.count) / 100_000 - 0.0498) < 0.003)
    }

    @Test(
        "every default lies in its range, and its range in what is possible, with a source or the word that there is none"
    )
    func defaults() {
        for input in ReachInput.allCases {
            let assumption = ReachInputs()[input]
            #expect(assumption.range.low <= assumption.range.value)
            #expect(assumption.range.value <= assumption.range.high)
            #expect(input.possible.contains(assumption.range.low))
            #expect(input.possible.contains(assumption.range.high))
            #expect(assumption.source.count > 10)
            #expect(assumption.range.low < assumption.range.high)
        }
    }
}
