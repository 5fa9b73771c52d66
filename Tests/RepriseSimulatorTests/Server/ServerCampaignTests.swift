import Foundation
import RepriseSimulator
import Testing

@Suite("A server in virtual time, under faults")
struct ServerCampaignTests {
    /// How many seeds are tried; `REPRISE_SEEDS` asks for more.
    private static let seeds =
        ProcessInfo.processInfo.environment["REPRISE_SEEDS"].flatMap { UInt64($0) } ?? 80

    @Test("no seed violates an invariant, whatever fails at the server")
    func honest() {
        ServerWorkload().expectHolds(0..<Self.seeds)
    }

    @Test("the same seed is the same run, line by line")
    func deterministic() {
        let workload = ServerWorkload()
        for seed: UInt64 in 0..<3 {
            let runs = (0..<2).map { _ in
                workload.run(workload.schedule(seed: seed), isTracing: true).lines
            }
            #expect(runs[0] == runs[1])
            #expect(!runs[0].isEmpty)
        }
    }

    @Test(
        "a wrong driver is detected",
        arguments: [
            Mutation.fanOutBeforeCommit, .acknowledgeBeforeCommitOnServer,
            .keepHeadsAfterFailedCommit, .forgetIDs, .registerAfterRead, .failedCommitUnchecked,
            .trimWithoutFloor, .restoreKeepsEpoch, .serverSkipsSync, .earlySyncComplete,
        ])
    func detected(_ mutation: Mutation) {
        let workload = ServerWorkload()
        let seed = (0..<2_000 as Range<UInt64>).first { seed in
            workload.run(workload.schedule(seed: seed), mutation: mutation).violation != nil
        }
        #expect(seed != nil)
    }
}
