import RepriseSimulator
import RepriseTesting
import Testing

@Suite("Reminders in virtual time")
struct RemindersWorkloadTests {
    private let workload = RemindersWorkload()

    @Test(
        "no seed violates an invariant: kills, power losses, failing disks, stores that throw and are late, a system that refuses, travels, calendars"
    )
    func honest() {
        workload.expectHolds(1..<31)
    }

    @Test(
        "seeds that once violated an invariant do no more",
        arguments: [
            // A person snoozes a reminder whose schedule then names no day between start and end.
            22_962_000_002 as UInt64,
            // A reminder rings after the system was asked what stands, and before it is removed.
            97_000_010_008, 97_000_024_570,
        ])
    func formerly(seed: UInt64) {
        workload.expectHolds([seed])
    }

    @Test(
        "a wrong driver is detected",
        arguments: [
            (Mutation.additionsFirst, Invariant.bounded, 4), (.deliveredStays, .accounted, 1),
            (.changesMeanwhileForgotten, .accounted, 1), (.pendingRemembered, .accounted, 78),
            (.pausedStays, .accounted, 2), (.endBeforePresented, .acknowledged, 3),
            (.lookUpNotRepeated, .agreement, 100), (.overrideApart, .once, 2),
            (.answerAgain, .once, 4), (.presentedAgain, .once, 2),
        ])
    func mutation(_ mutation: Mutation, _ invariant: Invariant, from first: Int) {
        // The seeds before it had nothing that shows it when this was written.
        workload.expectDetected(mutation, invariant, in: UInt64(first)..<401)
    }

    /// Days of months and years, ends, counts and exceptions, quiet hours and clocks that are set.
    private let rules = RemindersWorkload(hasRules: true)

    @Test(
        "no seed violates an invariant where goals are reminded of by the month and the year, in quiet hours, while clocks are set"
    )
    func rulesHold() {
        var features: Set<Feature> = []
        for seed: UInt64 in 1..<21 {
            let outcome = rules.run(rules.schedule(seed: seed))
            #expect(
                outcome.violation == nil, "\(seed): \(outcome.violation?.description ?? "")")
            features.formUnion(outcome.featuresMet)
        }
        #expect(features.isSuperset(of: [.postponed, .clockSet]))
    }

    @Test(
        "a driver that misreads a rule is detected",
        arguments: [Mutation.endForgotten, .exceptionsForgotten, .quietHoursForgotten])
    func misread(_ mutation: Mutation) {
        for seed: UInt64 in 1..<61 {
            let outcome = rules.run(rules.schedule(seed: seed), mutation: mutation)
            if outcome.violation?.invariant == .accounted { return }
        }
        Issue.record("\(mutation.text), and nobody noticed")
    }

    @Test("the same schedule is the same run, line by line")
    func repeats() {
        workload.expectRepeats(seed: 7)
    }

    @Test("the model of marks and routes and the shipping tables agree after every transaction")
    func compared() throws {
        let folder = try TemporaryFolder()
        workload.expectHolds(1..<4, on: .compared(folder.url))
    }
}
