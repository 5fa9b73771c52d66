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
        for seed: UInt64 in 1..<26 {
            let outcome = workload.run(workload.schedule(seed: seed))
            #expect(
                outcome.violation == nil, "seed \(seed): \(String(describing: outcome.violation))")
        }
    }

    @Test(
        "a wrong driver is detected",
        arguments: [
            (Mutation.chainRunApart, Promise.once), (.chainReadingForgotten, .once),
            (.chainCalendarUnheard, .alive), (.chainZoneUnheard, .alive),
            (.chainTimeUnchecked, .released),
        ])
    func mutation(_ mutation: Mutation, _ promise: Promise) {
        var found: [Promise] = []
        for seed: UInt64 in 1..<81 {
            let schedule = workload.schedule(seed: seed)
            guard let violation = workload.run(schedule, mutation: mutation).violation else {
                continue
            }
            found.append(violation.promise)
            if violation.promise == promise { return }
        }
        Issue.record("\(mutation.text), and nobody noticed \(promise), only \(found)")
    }

    @Test("the same schedule is the same run, line by line")
    func repeats() {
        let runs = (0..<2).map { _ in
            workload.run(workload.schedule(seed: 7), isTracing: true).lines
        }
        #expect(runs[0] == runs[1])
        #expect(runs[0].contains { $0.what.hasPrefix("a run of") })
    }
}
