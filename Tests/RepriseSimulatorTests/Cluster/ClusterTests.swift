import RepriseSimulator
import Testing

@Suite("A cluster in virtual time")
struct ClusterTests {
    private let workload = ClusterWorkload()

    @Test("no seed violates an invariant, whatever goes wrong between gateways and journal")
    func honest() {
        let detection = workload.detection(seeds: 1..<31)
        #expect(
            detection == nil, "\(detection.map { "\($0.whole.seed): \($0.violation)" } ?? "")")
    }

    /// `244`: a gateway that had been cut off sent an account change again that nobody waited for
    /// any more, and that somebody had undone elsewhere.
    ///
    /// `3114`: a gateway that had not heard of a removal wrote the owner's message as an admin's.
    ///
    /// `76`, `264`: a gateway applied its own entry behind what the journal had lost when it went
    /// back, and acknowledged what all others ignored.
    @Test("what seeds came upon is mended", arguments: [76, 244, 264, 3_114] as [UInt64])
    func formerly(seed: UInt64) {
        let violation = workload.run(workload.schedule(seed: seed)).violation
        #expect(violation == nil, "\(String(describing: violation))")
    }

    @Test("every kind of fault of a cluster takes effect")
    func faults() async {
        let report = await Campaign(workload: workload, seeds: 1..<41).run()
        let kinds: [Fault.Kind] = [
            .journalLoses, .journalRepeats, .journalDelays, .journalLeaderless, .gatewayCutOff,
            .gatewayStops, .viewLost, .killServer, .powerLossServer, .deviceMoves,
            .gatewayReturns, .journalStrangers,
        ]
        for kind in kinds {
            #expect((report.schedulesWith[kind] ?? 0) > 0, "\(kind)")
        }
    }

    /// Each by the first seed that detects it, or by the first that does within a second.
    @Test(
        "a wrong gateway is detected", .timeLimit(.minutes(2)),
        arguments: [
            (Mutation.clusterAnswersBeforeApplied, 1),
            (.clusterNeverResends, 1),
            (.clusterFlagsDiffer, 2),
            (.clusterRenumbers, 14),
            (.clusterWelcomesEarly, 51),
            (.clusterDecidesRights, 522),
            (.clusterForgetsFences, 43),
            (.clusterTiesGenerations, 81),
            (.clusterReadsEarly, 104),
            (.clusterEchoesEarly, 7),
            (.clusterStartsBlindly, 235),
            (.clusterForgetsPast, 2),
            (.clusterStopsForOthers, 2),
            (.clusterUnfencedHolder, 284),
            (.clusterLeaseFromAnswer, 446),
        ] as [(Mutation, UInt64)])
    func mutation(_ mutation: Mutation, by seed: UInt64) {
        let violation = workload.run(workload.schedule(seed: seed), mutation: mutation).violation
        #expect(violation != nil, "\(mutation.text), and nobody noticed")
    }
}
