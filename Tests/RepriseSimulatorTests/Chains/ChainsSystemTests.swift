import Foundation
import RepriseSimulator
import Testing

@Suite("Chains under a system that grants time")
struct ChainsSystemTests {
    private let workload = ChainsWorkload(hasSystem: true)

    @Test(
        "no seed violates an invariant: the app goes to the background, is frozen and killed there, and has slots; outputs are in files; rows go bad"
    )
    func honest() {
        // In 51033 the row of a task goes, and those behind it have files; in 62367 a former owner
        // misses a file; in 71636 a fault ends while the system keeps the app frozen.
        workload.expectHolds(Array(1..<31) + [51_033, 62_367, 71_636] as [UInt64])
    }

    @Test(
        "a wrong driver is detected",
        arguments: [
            (Mutation.chainEndOfTimeIgnored, Invariant.released), (.chainSlotNotRequested, .alive),
            (.chainInterruptedEnds, .alive), (.chainFileAfterRow, .recorded),
            (.chainFilesStay, .bounded), (.chainSweepTakesNewest, .recorded),
            (.chainDamageOverlooked, .alive),
        ])
    func mutation(_ mutation: Mutation, _ invariant: Invariant) {
        workload.expectDetected(mutation, invariant, in: 1..<81)
    }

    @Test("a schedule is the one of `chains` with its seed")
    func schedules() {
        for seed: UInt64 in 1..<4 {
            #expect(workload.schedule(seed: seed) == ChainsWorkload().schedule(seed: seed))
        }
    }

    @Test("the same schedule is the same run, line by line")
    func repeats() {
        let lines = workload.expectRepeats(seed: 7)
        #expect(lines.contains { $0.what == "is background" })
    }
}
