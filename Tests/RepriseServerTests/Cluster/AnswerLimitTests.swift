import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("The time for an answer of a cluster", .timeLimit(.minutes(1)))
struct AnswerLimitTests {
    @Test(
        "A publisher's 15 s begin when his message is accepted, not when earlier ones are answered",
        .limit("cluster.answer"))
    func begins() async throws {
        #expect(ClusterLimits.answerWithin == .seconds(15))
        let (folder, clock, room) = (try TemporaryFolder(), ManualClock(), channel())
        defer { folder.remove() }
        let journal = MemoryJournal(seed: 1, readers: 1, stamps: clock, faults: .none)
        defer { journal.close() }
        let view = try ClusterView.open(
            at: folder.path, epoch: journal.epoch, ClusterStore.configuration)
        let replica = ClusterReplica(
            view: view, journal: SharedJournal(journal: journal), clock: clock)
        let committer = Committer(
            log: ClusterLog(view, by: replica), clock: clock, timesSubmissions: true
        ) { _ in }
        let tasks = [
            Task { _ = try? await replica.run() }, Task { await committer.run() },
        ]
        let told = Seen<(name: String, code: RepriseError.Code?, at: Duration)>()
        func publish(_ name: String) {
            committer.submit([message(room)]) { result in
                var code: RepriseError.Code?
                if case .failure(let error) = result { code = error.code }
                told.add((name, code, clock.uptime()))
            }
        }
        func isTold(_ name: String) -> Bool { told.all.contains { $0.name == name } }

        publish("before")
        try await clock.advance(by: .milliseconds(300)) { isTold("before") }
        journal.change { $0.faults.lost = 100 }
        let sent = replica.figures.sent
        publish("first")
        try await eventually("it is sent") { replica.figures.sent > sent }
        clock.advance(by: .seconds(10))
        let taken = clock.uptime()
        publish("second")
        try await eventually("it waits") { committer.waitingCount == 1 }
        clock.advance(by: .seconds(5))
        try await eventually("the first is told") { isTold("first") }
        try await eventually("the turn is the second's") { committer.waitingCount == 0 }
        clock.advance(by: .seconds(10))
        try await eventually("the second is told") { isTold("second") }
        #expect(told.all.map(\.code) == [nil, .unavailable, .unavailable])
        #expect(told.all.last?.at == taken + .seconds(15))

        committer.shutdown()
        for task in tasks {
            task.cancel()
            await task.value
        }
        await view.close()
    }
}
