import RepriseSimulator
import Testing

/// The seeds' own algorithms before the observer.
@Suite("Baselines")
struct BaselineTests {
    @Test(
        "Without a fault each keeps what it accepts: its transcription works",
        arguments: Baseline.all)
    func cleanWithoutFaults(_ baseline: Baseline) {
        for seed in UInt64(0)..<100 {
            let schedule = baseline.workload.schedule(seed: seed).reduced(faults: [])
            let outcome = baseline.workload.run(schedule)
            #expect(outcome.violation == nil, "seed \(seed)")
        }
    }

    @Test("The simulation convicts each by itself, and shows the trace", arguments: Baseline.all)
    func convicted(_ baseline: Baseline) throws {
        let conviction = try #require(baseline.convict())
        print(baseline.account(of: conviction))
    }
}

extension Baseline: CustomTestStringConvertible {
    public var testDescription: String { name }
}
