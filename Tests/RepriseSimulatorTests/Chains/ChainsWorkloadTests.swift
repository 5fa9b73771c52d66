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
            (Mutation.chainStepBeforeOutcome, Promise.order), (.chainIntentsApart, .order),
            (.chainKeyPerAttempt, .once), (.chainStepAfterAny, .acknowledged),
            (.chainFailedForgotten, .recorded), (.chainCancelForgetsRunning, .once),
            (.chainUndoInOrderOfStart, .order),
        ])
    func mutation(_ mutation: Mutation, _ promise: Promise) {
        for seed: UInt64 in 1..<21 {
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
