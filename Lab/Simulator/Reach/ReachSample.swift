/// What a population was shown at one point, by each way.
package struct ReachSample: Hashable, Sendable {
    private var people: [ReachMode: [ReachTally]] = [:]

    /// Plays a population; `isOver` is asked before each person, and true leaves the rest out.
    init(
        point: ReachPoint, modes: [ReachMode] = ReachMode.allCases, seed: UInt64, devices: Int,
        days: Int, scene: ReachScene, isOver: () -> Bool = { false }
    ) {
        for index in 0..<devices where !isOver() {
            let person = ReachPerson(seed: seed, index: index, days: days, point: point)
            for mode in modes {
                people[mode, default: []].append(ReachDevice.play(person, mode, point, scene))
            }
        }
    }

    package func share(_ mode: ReachMode, within horizon: ReachHorizon) -> ReachShare {
        ReachShare(people[mode] ?? []) { $0.within[horizon.rawValue] }
    }

    package func share(_ mode: ReachMode, _ count: (ReachTally) -> Int) -> ReachShare {
        ReachShare(people[mode] ?? [], count)
    }

    package func sum(_ mode: ReachMode) -> ReachTally {
        (people[mode] ?? []).reduce(into: ReachTally()) { $0 += $1 }
    }
}
