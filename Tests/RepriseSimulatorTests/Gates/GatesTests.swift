import RepriseSimulator
import RepriseTesting
import Testing

@Suite("Gates in virtual time")
struct GatesTests {
    private let workload = GatesWorkload()

    @Test(
        "no seed violates an invariant: kills, power losses, full disks, failing syncs, two owners, calendars, gates, handlers"
    )
    func honest() {
        workload.expectHolds(1..<101)
    }

    @Test(
        "seeds in which the workload once broke the rules, not the journal, hold",
        arguments: [
            // A process ended while another had the journal open, and a failed commit was there.
            93_000_131_693,
            // A sender that had heard nothing for two weeks sent an id that was forgotten by then.
            93_000_594_406,
        ])
    func formerly(seed: UInt64) {
        workload.expectHolds([seed])
    }

    @Test(
        "a wrong driver is detected",
        arguments: [
            Mutation.acknowledgeBeforeCommit, .ignoreIncarnation, .skipSync, .forgetInterrupted,
            .endBeforeHandler, .acceptedApart, .expireInDoubt, .ignoreClosedGate, .sleepOpensGates,
            .keepCountersAfterFailedCommit,
        ])
    func mutation(_ mutation: Mutation) {
        for seed: UInt64 in 1..<10_001 {
            let schedule = workload.schedule(seed: seed)
            if workload.run(schedule, mutation: mutation).violation != nil { return }
        }
        Issue.record("\(mutation.text), and nobody noticed")
    }

    @Test("the same schedule is the same run, line by line")
    func repeats() {
        workload.expectRepeats(seed: 7)
    }

    @Test("the model of the store and the shipping journal agree after every transaction")
    func compared() throws {
        let folder = try TemporaryFolder()
        workload.expectHolds(1..<9, on: .compared(folder.url))
    }
}
