import Foundation
import RepriseSimulator
import Testing

@Suite("Chains in virtual time")
struct ChainsWorkloadTests {
    private let workload = ChainsWorkload()

    @Test(
        "no seed breaks a promise: kills at every write, power losses, failing disks, two owners, calendars, versions, workers that fail and hang"
    )
    func honest() {
        for seed: UInt64 in 1..<25 {
            let outcome = workload.run(workload.schedule(seed: seed))
            #expect(
                outcome.violation == nil, "seed \(seed): \(String(describing: outcome.violation))")
        }
    }
}
