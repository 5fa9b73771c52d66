import RepriseSimulator
import Testing

@Suite("Chains in virtual time")
struct ChainsWorkloadTests {
    private let workload = ChainsWorkload()

    @Test(
        "no seed breaks a promise: kills at every write, power losses, failing disks, two owners, calendars, versions, workers that fail and hang"
    )
    func honest() {
        for seed: UInt64 in 1..<9 {
            let outcome = workload.run(workload.schedule(seed: seed))
            #expect(
                outcome.violation == nil, "seed \(seed): \(String(describing: outcome.violation))")
        }
    }

    @Test(
        "a wrong driver is convicted",
        arguments: [
            (Mutation.chainStepBeforeOutcome, Promise.order, 1), (.chainIntentsApart, .order, 1),
            (.chainKeyPerAttempt, .once, 1), (.chainStepAfterAny, .acknowledged, 1),
            (.chainFailedForgotten, .recorded, 1), (.chainCancelForgetsRunning, .once, 2),
            (.chainUndoInOrderOfStart, .order, 2), (.chainNextForgotten, .alive, 1),
            (.chainAbandonedCounts, .once, 6), (.chainDefinitionUnchecked, .released, 10),
            (.chainParkedSilently, .alive, 18), (.chainRetryForgetsFailures, .bounded, 27),
        ])
    func mutation(_ mutation: Mutation, _ promise: Promise, from first: Int) {
        // The seeds before it have nothing that shows it, and take minutes.
        for seed in UInt64(first)..<UInt64(first) + 20 {
            let outcome = workload.run(workload.schedule(seed: seed), mutation: mutation)
            if let violation = outcome.violation {
                #expect(violation.promise == promise, "seed \(seed): \(violation)")
                return
            }
        }
        Issue.record("\(mutation.text), and nobody noticed")
    }

    @Test("the same schedule is the same run, line by line")
    func repeats() {
        let runs = (0..<2).map { _ in
            workload.run(workload.schedule(seed: 7), isTracing: true).lines
        }
        #expect(runs[0] == runs[1])
        #expect(runs[0].count > 100)
    }
}
