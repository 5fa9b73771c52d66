import RepriseSimulator
import RepriseTesting
import Testing

@Suite("Chains in virtual time")
struct ChainsWorkloadTests {
    private let workload = ChainsWorkload()

    @Test(
        "no seed violates an invariant: kills at every write, power losses, failing disks, two owners, calendars, versions, workers that fail and hang"
    )
    func honest() {
        workload.expectHolds(1..<61)
    }

    @Test(
        "seeds in which the checker once mistook two chains or two moments for one hold",
        arguments: [
            // One commit ends a wait and begins to take the step before it back.
            96_000_000_084 as UInt64,
            // One commit ends a chain and begins another of its name.
            96_000_000_689,
            // A chain that was retried has the name for which an earlier one waits, and is paused.
            96_000_015_944,
            // A process that another overtook before it had opened the journal opens it then.
            96_000_027_595,
            // A chain leaves, and the next one gets its row's number.
            96_000_021_198, 96_000_040_816, 96_000_061_399, 96_000_080_361,
        ])
    func formerly(seed: UInt64) {
        workload.expectHolds([seed])
    }

    @Test(
        "a wrong driver is detected",
        arguments: [
            (Mutation.chainStepBeforeOutcome, Invariant.order, 4),
            (.chainIntentsApart, .recorded, 40), (.chainKeyPerAttempt, .once, 4),
            (.chainStepAfterAny, .acknowledged, 2), (.chainFailedForgotten, .recorded, 4),
            (.chainCancelForgetsRunning, .once, 5), (.chainCompensatesInStartOrder, .order, 11),
            (.chainNextForgotten, .alive, 9), (.chainAbandonedCounts, .once, 5),
            (.chainDefinitionUnchecked, .released, 11), (.chainDroppedNotSuspended, .alive, 11),
            (.chainRetryForgetsFailures, .bounded, 15), (.chainDecisionApart, .recorded, 40),
            (.chainItemLost, .recorded, 2), (.chainDecidesBlindly, .released, 2),
            (.chainDeletesOpen, .recorded, 2), (.chainNumberAgain, .alive, 12),
            (.chainResultNotShown, .alive, 2),
            (.chainProgressUnbounded, .bounded, 2),
        ])
    func mutation(_ mutation: Mutation, _ invariant: Invariant, from first: Int) {
        // The seeds before it have nothing that shows it.
        for seed in UInt64(first)..<UInt64(first) + 20 {
            let outcome = workload.run(workload.schedule(seed: seed), mutation: mutation)
            if let violation = outcome.violation {
                #expect(violation.invariant == invariant, "seed \(seed): \(violation)")
                return
            }
        }
        Issue.record("\(mutation.text), and nobody noticed")
    }

    @Test("the same schedule is the same run, line by line")
    func repeats() {
        workload.expectRepeats(seed: 7)
    }

    @Test(
        "a run is the same, line by line, whether each life opens its files or takes over a journal that is open"
    )
    func stock() throws {
        let folder = try TemporaryFolder()
        for seed: UInt64 in 1..<9 {
            let schedule = workload.schedule(seed: seed)
            let taken = workload.run(schedule, isTracing: true)
            let opened = workload.run(schedule, tier: .real(folder.url), isTracing: true)
            #expect(taken.lines == opened.lines && taken.steps == opened.steps, "seed \(seed)")
        }
    }
}
