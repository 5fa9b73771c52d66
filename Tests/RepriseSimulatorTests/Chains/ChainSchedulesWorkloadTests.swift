import Foundation
import RepriseSimulator
import Testing

@Suite("Chains that run again and again, in virtual time")
struct ChainSchedulesWorkloadTests {
    private let workload = ChainSchedulesWorkload()

    @Test(
        "of each time there is one run, none comes before it and none is missing: kills as a run begins, power losses, failing disks, clocks that are set, journeys, rules that change, versions without the definition"
    )
    func honest() {
        workload.expectHolds(1..<26)
    }

    @Test(
        "a wrong driver is detected",
        arguments: [
            (Mutation.chainRunApart, Invariant.once), (.chainClockReadingForgotten, .once),
            (.chainCalendarChangeIgnored, .alive), (.chainZoneChangeIgnored, .alive),
            (.chainTimeUnchecked, .released),
        ])
    func mutation(_ mutation: Mutation, _ invariant: Invariant) {
        workload.expectDetected(mutation, invariant, in: 1..<81)
    }

    @Test("the same schedule is the same run, line by line")
    func repeats() {
        let lines = workload.expectRepeats(seed: 7)
        #expect(lines.contains { $0.what.hasPrefix("a run of") })
    }
}
