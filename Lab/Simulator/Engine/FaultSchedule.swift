/// What a seed stands for: how many devices and messages, and what goes wrong when.
///
/// A pure value: the same schedule is the same run, byte for byte.
/// ``reduced(devices:messages:faults:)`` makes a smaller one of it, which is how a failure is
/// shrunk and how a shrunk one is replayed.
package struct FaultSchedule: Hashable, Sendable {
    package var seed: UInt64
    package var devices: Int
    package var messages: Int
    package var faults: [Fault]
    /// How long producers and faults go on; then everything heals.
    package var length: Duration

    package init(
        seed: UInt64, devices: Int, messages: Int, faults: [Fault], length: Duration
    ) {
        self.seed = seed
        self.devices = devices
        self.messages = messages
        self.faults = faults
        self.length = length
    }

    /// How much a schedule has of everything.
    package enum Size: Hashable, Sendable {
        /// 2 devices, seldom 3; 50 to 57 messages, 3 to 5 faults.
        case small
        /// 2 to 4 devices, 50 to 120 messages, 3 to 12 faults.
        case large
    }

    /// The least that counts as a schedule: 2 devices, 50 messages, 3 faults.
    package static let least = (devices: 2, messages: 50, faults: 3)

    /// Draws a schedule.
    ///
    /// - Parameters:
    ///   - seed: its seed.
    ///   - kinds: the faults of the workload with their weights; in a fixed order.
    ///   - length: how long it may last at least and at most.
    ///   - size: how many devices, messages and faults.
    /// - Returns: the schedule; the same one for the same arguments.
    package static func draw(
        seed: UInt64, kinds: [(kind: Fault.Kind, weight: Int)],
        length: (Duration, Duration) = (.seconds(20), .seconds(300)), size: Size = .large
    ) -> FaultSchedule {
        var random = SeededRandom(seed: seed, purpose: "schedule")
        let (devices, messages) = Self.counts(size, &random)
        let length = random.spread(length.0, length.1)
        let weights = kinds.reduce(0) { $0 + $1.weight }
        let hasMany = size == .large && random.chance(0.5)
        let count = least.faults + random.index(hasMany ? 10 : 3)
        let faults = (0..<count).map { index in
            var pick = random.index(weights)
            var kind = kinds[0].kind
            for candidate in kinds {
                kind = candidate.kind
                pick -= candidate.weight
                if pick < 0 { break }
            }
            return Fault(
                kind, at: length * random.fraction(), length: Self.length(of: kind, &random),
                target: random.index(devices), bits: random.next(), index: index)
        }
        return FaultSchedule(
            seed: seed, devices: devices, messages: messages, faults: sorted(faults),
            length: length)
    }

    private static func counts(_ size: Size, _ random: inout SeededRandom) -> (
        devices: Int, messages: Int
    ) {
        switch size {
        case .small:
            (least.devices + (random.chance(0.1) ? 1 : 0), least.messages + random.index(8))
        case .large:
            (
                least.devices + (random.chance(0.3) ? 1 + random.index(2) : 0),
                least.messages + random.index(71)
            )
        }
    }

    private static func sorted(_ faults: [Fault]) -> [Fault] {
        var faults = faults.sorted { ($0.at, $0.index) < ($1.at, $1.index) }
        for index in faults.indices { faults[index].index = index }
        return faults
    }

    /// The same with up to `most` more faults, drawn for a purpose of their own: what was drawn
    /// before stays.
    package func adding(_ kinds: [Fault.Kind], most: Int, for purpose: String) -> FaultSchedule {
        var random = SeededRandom(seed: seed, purpose: "schedule of \(purpose)")
        var schedule = self
        for _ in 0..<random.index(most + 1) {
            let kind = kinds[random.index(kinds.count)]
            schedule.faults.append(
                Fault(
                    kind, at: length * random.fraction(), length: Self.length(of: kind, &random),
                    target: random.index(devices), bits: random.next(),
                    index: schedule.faults.count))
        }
        schedule.faults = Self.sorted(schedule.faults)
        return schedule
    }

    private static func length(of kind: Fault.Kind, _ random: inout SeededRandom) -> Duration {
        switch kind {
        case .suspend:
            // Minutes mostly, days sometimes, weeks now and then.
            let rank = random.fraction()
            if rank < 0.01 { return random.spread(.seconds(7 * 86_400), .seconds(28 * 86_400)) }
            if rank < 0.06 { return random.spread(.seconds(3_600), .seconds(2 * 86_400)) }
            return random.spread(.seconds(1), .seconds(900))
        case .killDevice, .killServer, .powerLossDevice, .powerLossServer, .restore, .newEpoch,
            .killLoading, .shutdownServer, .viewLost:
            return random.spread(.milliseconds(20), .seconds(90))
        default:
            return random.spread(.milliseconds(200), .seconds(120))
        }
    }

    /// A smaller schedule: fewer devices, fewer messages, some of the faults.
    package func reduced(devices: Int? = nil, messages: Int? = nil, faults: [Int]? = nil)
        -> FaultSchedule
    {
        var reduced = self
        reduced.devices = min(devices ?? self.devices, self.devices)
        reduced.messages = min(messages ?? self.messages, self.messages)
        let kept = faults.map { Set($0) }
        reduced.faults = self.faults.filter {
            $0.target < reduced.devices && kept?.contains($0.index) ?? true
        }
        return reduced
    }

    /// The options that replay this schedule, where `whole` is what the seed draws.
    package func options(reducedFrom whole: FaultSchedule) -> String {
        var options = "--trace \(seed)"
        if devices != whole.devices { options += " --devices \(devices)" }
        if messages != whole.messages { options += " --messages \(messages)" }
        if faults.count != whole.faults.count {
            let list = faults.map { "\($0.index)" }.joined(separator: ",")
            options += " --faults \(list.isEmpty ? "none" : list)"
        }
        return options
    }
}
