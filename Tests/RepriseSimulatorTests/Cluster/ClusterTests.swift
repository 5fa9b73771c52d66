import RepriseSimulator
import Testing

@Suite("A cluster in virtual time")
struct ClusterTests {
    private let workload = ClusterWorkload()

    /// `244`: a gateway that had been cut off sent an account change again that nobody waited for
    /// any more, and that somebody had undone elsewhere.
    ///
    /// `3114`: a gateway that had not heard of a removal wrote the owner's message as an admin's.
    ///
    /// `76`, `264`: a gateway applied its own entry behind what the journal had lost when it went
    /// back, and acknowledged what all others ignored.
    ///
    /// `60025825`: the checker did not allow that a gateway which was frozen for 12 s then sends
    /// what was on its way when a message was deleted.
    ///
    /// `60075059`, `60090181`: a simulated gateway refused whom another one had let in meanwhile,
    /// without the barrier that `LogReader` passes first.
    @Test(
        "seeds that once violated an invariant do no more",
        arguments: [76, 244, 264, 3_114, 60_025_825, 60_075_059, 60_090_181] as [UInt64])
    func formerly(seed: UInt64) {
        workload.expectHolds([seed])
    }

    @Test(
        "no seed violates an invariant, whatever goes wrong between gateways and journal, and every kind of fault takes effect"
    )
    func honest() async {
        let report = await Campaign(workload: workload, seeds: 1..<31).run()
        workload.expectHolds(report.failure.map { [$0.schedule.seed] } ?? [])
        #expect(report.failure == nil)
        let kinds: [Fault.Kind] = [
            .journalLoses, .journalRepeats, .journalDelays, .journalLeaderless, .gatewayCutOff,
            .gatewayStops, .viewLost, .killServer, .powerLossServer, .deviceMoves,
            .gatewayReturns, .journalStrangers,
        ]
        for kind in kinds {
            #expect((report.schedulesWith[kind] ?? 0) > 0, "\(kind)")
        }
    }

    /// These make bases at their end; in `49` one view differs meanwhile.
    @Test(
        "bases stand for what is purged, and views are made anew of them", .timeLimit(.minutes(2)),
        arguments: [18, 49] as [UInt64])
    func bases(seed: UInt64) {
        let outcome = workload.run(workload.schedule(seed: seed), isTracing: true)
        #expect(outcome.violation == nil, "\(String(describing: outcome.violation))")
        for what in ["counts", "makes its view anew from the base"] {
            #expect(outcome.lines.contains { $0.what.contains(what) }, "no base \(what)")
        }
    }

    @Test("nothing is pushed again once that is noted, and nothing is forgotten")
    func pushes() {
        let outcome = workload.run(workload.schedule(seed: 8), isTracing: true)
        #expect(outcome.violation == nil, "\(String(describing: outcome.violation))")
        let queues = outcome.lines.count { $0.what.contains("pushes from message") }
        #expect(queues > 1, "nobody takes over")
    }

    /// Each by the first seed that detects it, or by the first that does within a second.
    @Test(
        "a wrong gateway is detected", .timeLimit(.minutes(2)),
        arguments: [
            (Mutation.clusterAnswersBeforeApplied, 1),
            (.clusterNeverResends, 1),
            (.clusterFlagsDiffer, 2),
            (.clusterRenumbers, 14),
            (.clusterWelcomesEarly, 3),
            (.clusterDecidesRights, 1130),
            (.clusterForgetsFences, 43),
            (.clusterHellosShareGeneration, 81),
            (.clusterReadsEarly, 104),
            (.clusterEchoesEarly, 7),
            (.clusterStartsBlindly, 191),
            (.clusterForgetsPast, 2),
            (.clusterStopsForOthers, 2),
            (.clusterStopsAtInvalidEntry, 4),
            (.clusterUnfencedHolder, 284),
            (.clusterLeaseFromAnswer, 446),
            (.clusterPurgesEarly, 18),
            (.clusterManifestFirst, 18),
            (.clusterAwaitsPurged, 18),
            (.clusterBaseUnchecked, 49),
            (.clusterPushesAgain, 8),
            (.clusterSkipsHoles, 1),
            (.clusterSealsApart, 1),
            (.clusterLeaseByCalendar, 1131),
        ] as [(Mutation, UInt64)])
    func mutation(_ mutation: Mutation, by seed: UInt64) {
        let violation = workload.run(workload.schedule(seed: seed), mutation: mutation).violation
        #expect(violation != nil, "\(mutation.text), and nobody noticed")
    }
}
