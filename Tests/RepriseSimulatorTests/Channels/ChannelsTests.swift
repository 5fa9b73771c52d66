import RepriseSimulator
import RepriseTesting
import Testing

@Suite("Channels in virtual time")
struct ChannelsTests {
    private let workload = ChannelsWorkload()

    @Test("a calendar that is set between a failure and its commit holds nobody up (seed 247144)")
    func calendarBeforeCommit() {
        let schedule = workload.schedule(seed: 247_144).reduced(faults: [0, 1, 4])
        workload.expectHolds(schedule)
    }

    @Test("a seed on real stores in which a new log without a message has an epoch holds")
    func formerly() throws {
        let folder = try TemporaryFolder()
        workload.expectHolds([98_000_000_105], on: .real(folder.url))
    }

    @Test(
        "no seed violates an invariant, whatever goes wrong between devices and server, and every kind of fault takes effect"
    )
    func honest() async {
        let report = await Campaign(workload: workload, seeds: 1..<101).run()
        workload.expectHolds(report.failure.map { [$0.schedule.seed] } ?? [])
        #expect(report.failure == nil)
        let others: Set<Fault.Kind> = [
            .secondOwner, .gateCloses, .damage, .pageDies, .pageHangs, .pageLate, .pageForges,
            .newCatalogue, .logOut, .newCompany, .storeFails, .storeSlow, .centreGone,
            .centreRefuses, .permissionRevoked, .travels, .journalLoses, .journalRepeats,
            .journalDelays, .journalLeaderless, .gatewayCutOff, .gatewayStops, .viewLost,
            .deviceMoves, .gatewayReturns, .journalStrangers,
            // Where an app loads a snapshot, which few runs have: `snapshotUnwritten` is detected
            // by it.
            .killLoading,
        ]
        for kind in Set(Fault.Kind.allCases).subtracting(others) {
            #expect((report.schedulesWith[kind] ?? 0) > 0, "\(kind)")
        }
    }

    /// The search begins with a seed that detected it when this was written
    /// (`reprise-lab simulate --mutation`).
    @Test(
        "a wrong driver is detected",
        arguments: [
            (Mutation.keepMemoryAfterFailedCommit, 3),
            (.widenPrev, 2),
            (.silenceCompletes, 37),
            (.subscribeFromHighest, 23),
            (.coverageApart, 91),
            (.storeDuplicates, 58),
            (.ignoreEpoch, 44),
            (.liveBeforeDurable, 2),
            (.lossesForgotten, 78),
            (.cursorBeforeEffect, 6),
            (.dispatchUnmarked, 50),
            (.effectApart, 138),
            (.outboxNewID, 11),
            (.outboxEndsWhenSent, 2),
            (.fanOutBeforeCommit, 1),
            (.acknowledgeBeforeCommitOnServer, 1),
            (.keepHeadsAfterFailedCommit, 5),
            (.forgetIDs, 8),
            (.registerAfterRead, 134),
            (.failedCommitUnchecked, 33),
            (.trimWithoutFloor, 29),
            (.restoreKeepsEpoch, 44),
            (.serverSkipsSync, 9),
            (.earlySyncComplete, 2),
            (.outboxForgetsPredecessor, 88),
            (.deletionKeepsBody, 3),
            (.removalUnannounced, 2),
            (.historyBeforeJoinSent, 10),
            (.authorizationStaysCached, 5),
            (.renewalIgnored, 4),
            (.snapshotTakenEarly, 115),
            (.orderedGoesOn, 7),
            (.orderedBeyondHoles, 8),
            (.snapshotUnwritten, 4_164),
            (.shutdownUnanswered, 257),
            (.olderConnectionsStay, 837),
        ] as [(Mutation, UInt64)])
    func mutation(_ mutation: Mutation, from first: UInt64) {
        let detected = (first..<first + 300).contains { seed in
            workload.run(workload.schedule(seed: seed), mutation: mutation).violation != nil
        }
        #expect(detected, "\(mutation.text), and nobody noticed")
    }

    @Test("the models of both stores and the shipping ones agree after every transaction")
    func compared() throws {
        let folder = try TemporaryFolder()
        // 30: a list that shows the first edit in place of the last one is detected by it.
        workload.expectHolds([1, 2, 3, 4, 30], on: .compared(folder.url))
    }
}
