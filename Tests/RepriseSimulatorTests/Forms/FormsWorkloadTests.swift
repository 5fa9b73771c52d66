import RepriseSimulator
import RepriseTesting
import Testing

@Suite("Forms in virtual time")
struct FormsWorkloadTests {
    private let workload = FormsWorkload()
    /// As all schedules were when these seeds were found.
    private let large = FormsWorkload(size: .large)

    @Test(
        "no seed violates an invariant: kills, power losses, failing disks, pages that die, hang, are late and forge, new catalogues, log-outs"
    )
    func honest() {
        workload.expectHolds(1..<41)
    }

    @Test(
        "a kill between the durable grant of a form and its answer leaves the event in doubt (seed 902)"
    )
    func unheardLeave() {
        let schedule = large.schedule(seed: 902).reduced(messages: 14, faults: [0])
        large.expectHolds(schedule)
    }

    @Test("a page that hangs once it has said that an event waits is replaced (seed 109)")
    func silent() {
        let schedule = large.schedule(seed: 109).reduced(faults: [1, 3, 4, 6, 8])
        large.expectHolds(schedule)
    }

    @Test(
        "an event whose time is up, and which comes as a page becomes ready, comes in its order",
        arguments: [770_000_042, 990_000_112, 123_000_789, 234_000_960, 345_000_602])
    func releasedInOrder(seed: UInt64) {
        large.expectHolds([seed])
    }

    @Test("an event that was dispatched before another goes back for its order does so too")
    func dispatchedBeforeClosing() {
        let schedule = workload.schedule(seed: 771_001_178).reduced(messages: 53, faults: [0])
        workload.expectHolds(schedule)
    }

    @Test("a page of former times that hangs with an event that waits is replaced (seed 456000255)")
    func silentKeeper() {
        let schedule = large.schedule(seed: 456_000_255).reduced(messages: 66, faults: [2, 4])
        large.expectHolds(schedule)
    }

    @Test("a change of company that had to be asked for again also ends what came meanwhile")
    func changedLater() {
        let schedule = workload.schedule(seed: 95_000_133_044).reduced(
            messages: 43, faults: [2, 3])
        workload.expectHolds(schedule)
    }

    @Test(
        "a wrong driver is detected",
        arguments: [
            (Mutation.grantAfterRender, Invariant.durable), (.forgetGrant, .once),
            (.openGateAtHandshake, .released), (.acknowledgeOnSend, .acknowledged),
            (.keepPageMessagesOfFormerSession, .once), (.capsForgotten, .bounded),
            (.deadPageKeepsInFlight, .alive), (.logOutKeepsEvents, .access),
            (.acknowledgeBeforeCommit, .recorded), (.skipSync, .recorded),
            (.postponedAtOnce, .released), (.appNotAsked, .released),
        ])
    func mutation(_ mutation: Mutation, _ invariant: Invariant) {
        // Where the first seeds have none that shows it, the search begins near a large one that
        // does: a test has no half a minute.
        let first = Self.rare[mutation] ?? 1
        let workload = Self.rare[mutation] == nil ? workload : large
        workload.expectDetected(mutation, invariant, in: first..<first + 1_000)
    }

    private static let rare: [Mutation: UInt64] = [
        .forgetGrant: 115, .keepPageMessagesOfFormerSession: 1_390,
    ]

    /// Audiences, conditions on past events, quiet times.
    private let targeting = FormsWorkload(hasConditions: true)

    @Test("no seed violates an invariant where forms have audiences, pasts and quiet times")
    func conditionsHold() {
        targeting.expectHolds(1..<21)
    }

    @Test(
        "a driver that forgets a condition is detected",
        arguments: [
            (Mutation.audienceForgotten, Invariant.access), (.pastEventsNotCounted, .released),
            (.quietTimesForgotten, .released),
        ])
    func forgotten(_ mutation: Mutation, _ invariant: Invariant) {
        for seed: UInt64 in 1..<101 {
            let outcome = targeting.run(targeting.schedule(seed: seed), mutation: mutation)
            if outcome.violation?.invariant == invariant { return }
        }
        Issue.record("\(mutation.text), and nobody noticed")
    }

    @Test("the same schedule is the same run, line by line")
    func repeats() {
        workload.expectRepeats(seed: 7)
    }

    @Test("the model of the showings and the shipping tables agree after every transaction")
    func compared() throws {
        let folder = try TemporaryFolder()
        for workload in [workload, targeting] {
            workload.expectHolds(1..<3, on: .compared(folder.url))
        }
    }
}
