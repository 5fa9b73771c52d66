import RepriseCluster
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Nodes of NATS that follow the journal's leader")
struct NodeProgressTests {
    /// What is said of a journal on two nodes: `n1`, which leads it, and `n2`.
    private static func answer(
        last: Int64 = 500, lag: Int64 = 0, isCurrent: Bool = false, isOffline: Bool = false,
        unheard: Duration = .zero, isLed: Bool = true
    ) -> JournalStatus {
        var status = JournalStatus(last: last)
        var leader = JournalStatus.Server(name: "n1")
        (leader.isLeader, leader.isCurrent) = (isLed, isLed)
        var node = JournalStatus.Server(name: "n2")
        (node.isCurrent, node.isOffline) = (isCurrent, isOffline)
        (node.lag, node.unheard) = (lag, unheard)
        status.servers = [leader, node]
        return status
    }

    private static let cases: [(what: String, answers: [JournalStatus], state: String?)] = [
        ("it has all", [answer(isCurrent: true)], nil),
        ("it has all, though the leader has more already", [answer(lag: 0)], nil),
        (
            "1 behind, it gets entries as they come", [answer(lag: 1), answer(last: 503, lag: 1)],
            nil
        ),
        ("it gets what it lacked", [answer(lag: 40), answer(lag: 3)], nil),
        (
            "it got some once",
            [answer(lag: 4), answer(last: 501, lag: 3), answer(last: 502, lag: 4)],
            nil
        ),
        (
            "it gets none of what comes", [answer(lag: 1), answer(last: 503, lag: 4)],
            "is 4 entries behind"
        ),
        ("it gets none, and none comes", [answer(lag: 1), answer(lag: 1)], "is 1 entry behind"),
        ("it lacks as many as it may", [answer(lag: 300), answer(lag: 100)], nil),
        ("it lacks more", [answer(lag: 300), answer(lag: 101)], "is 101 entries behind"),
        ("heard 9 s ago", [answer(isCurrent: true, unheard: .seconds(9))], nil),
        (
            "heard 10 s ago", [answer(unheard: .seconds(10))],
            "is silent: the leader has not heard it for 10 s"
        ),
        ("it is off", [answer(isCurrent: true, isOffline: true)], "is not there"),
        ("nobody leads, and knows", [answer(lag: 7, unheard: .seconds(60), isLed: false)], nil),
    ]

    @Test(
        "A node is a problem if it gets no entries, lacks more than 100 or is silent for 10 s",
        .limit("tool.nodes"), arguments: cases)
    func behind(what: String, answers: [JournalStatus], state: String?) throws {
        #expect(ClusterLimits.nodeLag == 100 && ClusterLimits.nodeSilence == .seconds(10))
        var nodes = NodeProgress(try #require(answers.first))
        for answer in answers.dropFirst() { nodes.heard(answer) }
        let wanted = state.map { ["n2 " + $0] } ?? []
        #expect(nodes.behind.map { "\($0.name) \($0.state)" } == wanted, "\(what)")
    }

    /// Says one answer after the other, and the last again and again.
    private final class Answers: ClusterJournal {
        let epoch = Epoch.random()
        private let rest: Mutex<[JournalStatus]>

        init(_ answers: [JournalStatus]) { rest = Mutex(answers) }

        func send(_ bytes: [UInt8]) async {}
        func follow(_ heard: @escaping @Sendable (StoredEntry?) -> Void) {}
        func read(after sequence: Int64) async throws -> (entries: [StoredEntry], last: Int64) {
            ([], 0)
        }
        func status() async throws -> JournalStatus {
            rest.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        }
        func close() async {}
    }

    /// A sleep is over at once, and takes its time.
    private struct Sleepless: Timekeeper {
        let clock = ManualClock()

        func wall() -> WallTime { clock.wall() }
        func uptime() -> Duration { clock.uptime() }
        var boot: String { clock.boot }
        func sleep(until moment: Duration) async throws { clock.advance(by: moment - uptime()) }
    }

    private static let waits: [(answers: [JournalStatus], wait: Duration)] = [
        ([answer(isCurrent: true)], .zero),
        ([answer(isOffline: true)], .zero),
        ([answer(lag: 5), answer(lag: 5), answer(last: 501, lag: 5)], .milliseconds(500)),
        ([answer(lag: 5)], .seconds(5)),
    ]

    @Test(
        "A node that lacks entries is asked about until it gets some, for 5 s at most",
        .limit("tool.nodes"), arguments: waits)
    func look(answers: [JournalStatus], wait: Duration) async throws {
        #expect(ClusterLimits.nodeWait == .seconds(5))
        let clock = Sleepless()
        let start = clock.uptime()
        _ = try await NodeProgress.look(Answers(answers), clock: clock)
        #expect(clock.uptime() - start == wait)
    }
}
