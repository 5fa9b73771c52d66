/// Which process is killed when: drawn once from a seed, so that a run can be had again.
///
/// The messages go out in bursts at full speed, each as soon as what was killed is back: so it has
/// new messages and old ones to deal with at the same time. In every burst but the last something
/// is killed in the middle of its work.
struct KillSchedule: Equatable, Sendable {
    /// What is killed, and when.
    enum Kill: Equatable, Sendable {
        /// Both devices, once ours has handled so many messages since it was started.
        case devices(after: Int)
        /// The server, once it has stored so many messages of the burst.
        case server(after: Int)
    }

    struct Burst: Equatable, Sendable {
        let messages: Int
        let kill: Kill?
    }

    let bursts: [Burst]

    /// Draws a schedule.
    ///
    /// - Parameters:
    ///   - messages: how many in all; at least one for each burst.
    ///   - deviceKills: how often the devices are killed; at least 2.
    ///   - generator: what it is drawn from.
    init(messages: Int, deviceKills: Int, using generator: inout some RandomNumberGenerator) {
        let count = deviceKills + 2
        // After the first and before the last kill of the devices: there is something to lose, and
        // to come back to.
        let serverTurn = Int.random(in: 1..<(count - 2), using: &generator)
        bursts = (0..<count).map { index in
            let size = messages * (index + 1) / count - messages * index / count
            let moment = Int.random(in: 0..<size, using: &generator)
            switch index {
            case count - 1: return Burst(messages: size, kill: nil)
            case serverTurn: return Burst(messages: size, kill: .server(after: moment))
            default: return Burst(messages: size, kill: .devices(after: moment))
            }
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers for the same seed, everywhere.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
