import RepriseSimulator

/// Which process is killed when: drawn once from a seed, so that a run can be repeated.
///
/// Messages are sent in bursts at full speed, each as soon as the killed process is back: so it
/// handles new and old messages at the same time. Every burst but the last has a kill in its
/// middle.
struct KillSchedule: Equatable, Sendable {
    /// The target and time of a kill.
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
    ///   - messages: the total; at least one for each burst.
    ///   - deviceKills: the number of device kills; at least 2.
    ///   - generator: the source of randomness.
    init(messages: Int, deviceKills: Int, using generator: inout some RandomNumberGenerator) {
        let count = deviceKills + 2
        // Between the first and the last kill of the devices: with messages before and after it.
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
