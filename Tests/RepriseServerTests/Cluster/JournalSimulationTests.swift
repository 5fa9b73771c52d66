import Foundation
import RepriseServer
import RepriseTestSupport
import Testing

@Suite("Several gateways over a faulty journal")
struct JournalSimulationTests {
    /// More with `REPRISE_SEEDS`.
    private static let seeds =
        ProcessInfo.processInfo.environment["REPRISE_SEEDS"].flatMap(UInt64.init) ?? 40

    @Test(
        "All gateways apply the same entries once while the journal loses, repeats, delays and reorders them"
    )
    func fresh() {
        var (answered, lost, doubled) = (0, 0, 0)
        for seed in UInt64(1)...Self.seeds {
            var run = JournalSimulation(seed: seed)
            run.run()
            #expect(run.violation == nil, "seed \(seed)")
            answered += run.answered
            lost += run.journal.lostCount
            doubled += run.journal.doubledCount
        }
        // A schedule submits a few hundred times.
        let seeds = Int(Self.seeds)
        #expect(answered > 100 * seeds && lost > 50 * seeds && doubled > 50 * seeds)
    }

    @Test(
        "The simulation detects a gateway with a fault", arguments: JournalSimulation.Break.allCases
    )
    func mutations(_ broken: JournalSimulation.Break) {
        let seed = (UInt64(1)...(broken == .none ? 5 : 200)).first { seed in
            var run = JournalSimulation(seed: seed, broken: broken)
            run.run()
            return run.violation != nil
        }
        #expect((seed == nil) == (broken == .none))
    }
}
