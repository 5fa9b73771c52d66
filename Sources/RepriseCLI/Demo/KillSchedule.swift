/// Which process is killed when: drawn once from a seed, so that a run can be had again.
///
/// The messages go out in bursts at full speed, and in each burst something is killed after a random number of its messages is
/// stored: the device in all but one, the server in that one. A burst begins as soon as the killed one is back, so that it
/// has new messages and old ones to deal with at the same time.
struct KillSchedule: Equatable, Sendable {
    enum Victim: Equatable, Sendable { case device, server }

    struct Burst: Equatable, Sendable {
        let messages: Int
        /// The kill comes when so many of this burst are stored.
        let killAfter: Int
        let victim: Victim
    }

    let bursts: [Burst]

    /// Draws a schedule.
    ///
    /// - Parameters:
    ///   - messages: how many in all; at least one for each burst.
    ///   - deviceKills: how often the device is killed; at least 2.
    init(messages: Int, deviceKills: Int, using generator: inout some RandomNumberGenerator) {
        let count = deviceKills + 1
        // Neither first nor last: there is something to lose, and a device to come back after it.
        let serverTurn = Int.random(in: 1..<(count - 1), using: &generator)
        var bursts: [Burst] = []
        for index in 0..<count {
            let size = messages * (index + 1) / count - messages * index / count
            bursts.append(
                Burst(
                    messages: size, killAfter: Int.random(in: 0..<size, using: &generator),
                    victim: index == serverTurn ? .server : .device))
        }
        self.bursts = bursts
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
