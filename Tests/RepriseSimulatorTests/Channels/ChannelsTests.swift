import Foundation
import RepriseSimulator
import Testing

@Suite("Channels in virtual time")
struct ChannelsTests {
    private let workload = ChannelsWorkload()

    @Test("a calendar that is set between a failure and its commit holds nobody up (seed 247144)")
    func calendarBeforeCommit() {
        let schedule = workload.schedule(seed: 247_144).reduced(faults: [0, 1, 4])
        let violation = workload.run(schedule).violation
        #expect(violation == nil, "\(String(describing: violation))")
    }

    @Test("what 2,000 seeds on real stores came upon: a new log without a message has an epoch too")
    func formerly() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "reprise-channels-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let schedule = workload.schedule(seed: 98_000_000_105)
        let violation = workload.run(schedule, tier: .real(folder)).violation
        #expect(violation == nil, "\(String(describing: violation))")
    }

    @Test(
        "no seed violates an invariant, whatever goes wrong between devices and server, and every kind of fault takes effect"
    )
    func honest() async {
        let report = await Campaign(workload: workload, seeds: 1..<101).run()
        #expect(report.failure == nil, "\(String(describing: report.failure))")
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

    /// The search begins a little before the seed that detected it when this was written
    /// (`reprise-lab simulate --mutation`).
    @Test(
        "a wrong driver is detected",
        arguments: [
            (Mutation.keepMemoryAfterFailedCommit, 1),
            (.widenPrev, 2),
            (.silenceCompletes, 13),
            (.subscribeFromHighest, 13),
            (.coverageApart, 43),
            (.storeDuplicates, 13),
            (.ignoreEpoch, 20),
            (.liveBeforeDurable, 1),
            (.lossesForgotten, 35),
            (.cursorBeforeEffect, 3),
            (.handingUnwritten, 3),
            (.effectApart, 55),
            (.outboxNewID, 2),
            (.outboxEndsWhenSent, 1),
            (.fanOutBeforeCommit, 1),
            (.acknowledgeBeforeCommitOnServer, 1),
            (.keepHeadsAfterFailedCommit, 3),
            (.forgetIDs, 4),
            (.registerAfterRead, 35),
            (.silentDoubt, 23),
            (.trimWithoutFloor, 2),
            (.restoreKeepsEpoch, 27),
            (.serverSkipsSync, 6),
            (.earlySyncComplete, 2),
            (.outboxForgetsPredecessor, 37),
            (.deletionKeepsBody, 1),
            (.removalUntold, 2),
            (.joinedForgotten, 4),
            (.deskKeepsAnswers, 2),
            (.renewalIgnored, 1),
            (.snapshotTakenEarly, 1),
            (.orderedGoesOn, 1),
            (.orderedBeyondHoles, 1),
            (.snapshotUnwritten, 4_164),
            (.shutdownUnanswered, 257),
            (.olderConnectionsStay, 837),
        ] as [(Mutation, UInt64)])
    func mutation(_ mutation: Mutation, near seed: UInt64) {
        let first = seed > 2 ? seed - 2 : 1
        let detected = (first..<first + 300).contains { seed in
            workload.run(workload.schedule(seed: seed), mutation: mutation).violation != nil
        }
        #expect(detected, "\(mutation.text), and nobody noticed")
    }

    @Test("the models of both stores and the shipping ones agree after every transaction")
    func compared() throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-channels-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        // 30: a list that shows the first edit in place of the last one is detected by it.
        for seed: UInt64 in [1, 2, 3, 4, 30] {
            let outcome = workload.run(workload.schedule(seed: seed), tier: .compared(folder))
            #expect(
                outcome.violation == nil, "seed \(seed): \(String(describing: outcome.violation))")
        }
    }
}
