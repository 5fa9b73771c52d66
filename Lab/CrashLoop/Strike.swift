import RepriseTesting

/// One stroke of the loop: who is killed, and when; drawn from the seed.
struct Strike: Sendable {
    enum Victim: Hashable, Sendable {
        case server
        case device(Int)
    }

    /// How long after the stroke before.
    let delay: Duration
    /// Killed one right after the other, then started again.
    let victims: [Victim]
    /// Waits before the same are killed again, just after they were started: they die while they
    /// open, migrate, merge.
    let repetitions: [Duration]
    /// How many files an extension leaves in each killed device's spool, before the kill and after
    /// it.
    let spooled: (before: Int, after: Int)
    /// Whether a killed device comes back as the next version of the app.
    let isUpdate: Bool

    init(devices: Int, using random: inout SeededGenerator) {
        delay = Self.delay(using: &random)
        victims = Self.victims(devices, using: &random)
        let count = random.chance(0.3) ? Int.random(in: 1...3, using: &random) : 0
        repetitions = (0..<count).map { _ in
            .milliseconds(Int.random(in: 0...250, using: &random))
        }
        spooled = (
            Int.random(in: 0...6, using: &random),
            random.chance(0.4) ? Int.random(in: 1...60, using: &random) : 0
        )
        isUpdate = random.chance(0.3)
    }

    /// Sometimes at once, mostly while all are at work, seldom late enough for everybody to be
    /// idle.
    private static func delay(using random: inout SeededGenerator) -> Duration {
        switch Double.random(in: 0..<1, using: &random) {
        case ..<0.3: .milliseconds(Int.random(in: 0..<40, using: &random))
        case ..<0.8: .milliseconds(Int.random(in: 40..<250, using: &random))
        default: .milliseconds(Int.random(in: 250..<700, using: &random))
        }
    }

    private static func victims(_ devices: Int, using random: inout SeededGenerator) -> [Victim] {
        let one = Victim.device(Int.random(in: 0..<devices, using: &random))
        switch Double.random(in: 0..<1, using: &random) {
        case ..<0.5: return [one]
        case ..<0.68: return [.server]
        case ..<0.83: return random.chance(0.5) ? [.server, one] : [one, .server]
        case ..<0.93: return (0..<devices).map { .device($0) }
        default: return [.server] + (0..<devices).map { .device($0) }
        }
    }
}
