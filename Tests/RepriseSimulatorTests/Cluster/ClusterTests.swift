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
    /// `76`: a gateway applied its own entry behind what the journal had lost when it went back,
    /// and acknowledged what all others ignored.
    @Test("what seeds came upon is mended", arguments: [76, 244, 3_114] as [UInt64])
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

    /// The search begins a little before the seed that detected it when this was written.
    @Test(
        "a wrong gateway is detected", .timeLimit(.minutes(1)),
        arguments: [
            (Mutation.clusterAnswersBeforeApplied, 1),
            (.clusterNeverResends, 3),
            (.clusterFlagsDiffer, 2),
            (.clusterRenumbers, 7),
            (.clusterWelcomesEarly, 52),
            (.clusterDecidesRights, 200),
            (.clusterForgetsFences, 43),
            (.clusterReadsEarly, 32),
            (.clusterEchoesEarly, 7),
            (.clusterSkipsNoise, 4),
        ] as [(Mutation, UInt64)])
    func mutation(_ mutation: Mutation, near seed: UInt64) {
        let first = seed > 2 ? seed - 2 : 1
        let convicted = (first..<first + 30).contains { seed in
            workload.run(workload.schedule(seed: seed), mutation: mutation).violation != nil
        }
        #expect(convicted, "\(mutation.text), and nobody noticed")
    }
}
