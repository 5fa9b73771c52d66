import RepriseChains
import RepriseCore

/// When a schedule of the workload runs.
enum SimulatedRule: Equatable {
    case every(Duration)
    /// At these minutes of each day, ascending.
    case daily([Int64])

    init(_ random: inout SeededRandom) {
        if random.chance(0.4) {
            let least: Duration = random.chance(0.1) ? .seconds(900) : .seconds(7_200)
            let drawn = random.spread(least, .seconds(129_600))
            self = .every(.seconds(drawn.components.seconds))
        } else {
            let times = (0..<1 + random.index(3)).map { _ in Int64(random.index(1_440)) }
            self = .daily(Set(times).sorted())
        }
    }

    var shipping: ChainSchedule {
        switch self {
        case .every(let interval): .every(interval)
        case .daily(let times):
            .calendar(
                Schedule(.daily, at: times.map { TimeOfDay(Int($0 / 60), Int($0 % 60)) }))
        }
    }

    /// The latest of these times of day up to a reading of the wall clock, all in minutes.
    static func latest(of times: [Int64], upTo reading: Int64) -> Int64 {
        let day = reading.floored(by: 1_440)
        if let today = times.last(where: { $0 <= reading - day * 1_440 }) {
            return day * 1_440 + today
        }
        return (day - 1) * 1_440 + (times.last ?? 0)
    }
}

/// What an app of the workload says of a schedule.
struct ScheduleSaying {
    let name: String
    var rule: SimulatedRule
    let script: ChainsScript
    let constraints: ChainConstraints
    let deadline: Duration?

    /// `number` tells its input from all others.
    init(_ name: String, number: Int, _ random: inout SeededRandom) {
        self.name = name
        rule = SimulatedRule(&random)
        let work = ChainsScript.Part(
            name: "run-\(number)", what: random.chance(0.15) ? .rare : .copy,
            attempts: 1 + random.index(3), canCompensate: false)
        var steps = [[work]]
        // Such a run is under way when the next time comes.
        if random.chance(0.25) {
            let wait = ChainsScript.Part(
                name: "wait-\(number)", what: .reply, attempts: 1,
                deadline: random.chance(0.5) ? 3_600 : nil, canCompensate: false)
            steps.append([wait])
        }
        script = ChainsScript(steps: steps)
        constraints = ChainConstraints(network: random.chance(0.2))
        deadline = random.chance(0.3) ? .seconds(7_200) : nil
    }

    var input: [UInt8] { (try? SimulatedChainsJSON.bytes(script)) ?? [] }

    var new: NewSchedule {
        NewSchedule(
            name: name, definition: ChainsScript.definition, rule: rule.shipping, input: input,
            constraints: constraints, deadline: deadline)
    }
}

/// What happens to a device of the workload.
struct ScheduleMessage {
    enum What {
        /// From now on the app says this; with the rule that it has said before, perhaps.
        case say(ScheduleSaying, keepsRule: Bool)
        case unsay(String)
        /// Nil: the clock is right again.
        case setClock(Duration?)
        /// Minutes east of Greenwich.
        case travel(Int)
        case foreground
        case cancel(String)
        /// The app starts a chain that has the name of a schedule.
        case start(ScheduleSaying)
        case reply
    }

    let index: Int
    let device: Int
    let at: Duration
    let what: What

    private static let steps: [Duration] = [
        .seconds(40), .seconds(1_200), .seconds(7_200), .seconds(18_000), .seconds(32_400),
        .seconds(54_000), .seconds(72_000), .seconds(93_600), .seconds(111_600),
        .seconds(3 * 86_400), .seconds(40 * 86_400), .seconds(1_100 * 86_400),
    ]
    private static let zones = [-660, -300, 0, 60, 330, 540, 720]

    /// `random` gives each message the same number of draws, so that a shorter schedule has the
    /// same first ones.
    init(_ index: Int, _ schedule: FaultSchedule, _ random: inout SeededRandom) {
        var draw = SeededRandom(seed: random.next())
        self.index = index
        device = index % schedule.devices
        at = schedule.length * draw.fraction()
        let names = SimulatedSchedules.names
        let name = names[draw.index(names.count)]
        let rank = draw.fraction()
        // The first numbers are those of what the app says at its first launch.
        let saying = ScheduleSaying(name, number: names.count + index, &draw)
        switch rank {
        case ..<0.2: what = .say(saying, keepsRule: draw.chance(0.3))
        case ..<0.26: what = .unsay(name)
        case ..<0.48: what = .setClock(Self.step(&draw))
        case ..<0.6: what = .travel(Self.zones[draw.index(Self.zones.count)])
        case ..<0.75: what = .foreground
        case ..<0.83: what = .cancel(name)
        case ..<0.9: what = .start(saying)
        default: what = .reply
        }
    }

    private static func step(_ draw: inout SeededRandom) -> Duration? {
        guard draw.chance(0.7) else { return nil }
        // Days and years are seldom.
        let count = draw.chance(0.8) ? 9 : steps.count
        let step = steps[draw.index(count)]
        return draw.chance(0.5) ? step : .zero - step
    }
}
