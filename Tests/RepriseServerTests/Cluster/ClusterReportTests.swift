import Foundation
import RepriseCluster
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@testable import RepriseCLI

/// What `reprise cluster check` prints of a journal in a real nats-server.
@Suite("What cluster check prints", .timeLimit(.minutes(1)))
struct ClusterReportTests {
    /// A journal, and entries in it; a gateway's first one opens its session.
    private struct Place {
        let server: NatsServer
        let journal: NatsJournal
        let clock = SystemTimekeeper()

        func store(session: Int64 = 0, n: Int64 = 1, _ command: ClusterCommand) async throws {
            let last = try await journal.status().last
            let entry = ClusterEntry(
                session: session, n: n, clock: clock.wall(), base: .start, commands: [command])
            await journal.send(entry.bytes)
            try await eventually("it is stored") { try await journal.status().last > last }
        }

        func renew(session: Int64, n: Int64, grant: Int64) async throws {
            let request = LeaseRequest(.base, by: session, .renew(grant: grant))
            try await store(session: session, n: n, .lease(request))
        }

        func release(session: Int64, n: Int64, grant: Int64) async throws {
            let request = LeaseRequest(.base, by: session, .release(grant: grant))
            try await store(session: session, n: n, .lease(request))
        }

        func look() async throws -> ClusterInspection {
            try await ClusterInspection.look(
                NatsConfiguration(server.url), cluster: ClusterName("tests"),
                logger: RunningServer.logger)
        }
    }

    /// The first gateway is `one`, with session 1; it renews the lease of bases, granted by 1.
    private func withPlace(_ body: (Place) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try await NatsServer.start(in: folder.url.appending(path: "nats"))
        defer { server.kill() }
        let place = Place(server: server, journal: try await NatsStore.journal(server.url))
        try await place.store(.session(nonce: 1, name: "one"))
        try await place.renew(session: 1, n: 2, grant: 1)
        try await body(place)
        await place.journal.close()
    }

    private func report(_ found: ClusterInspection) -> ClusterReport {
        ClusterReport(
            found, cluster: "tests", servers: "nats://n1.example.org,nats://n2.example.org")
    }

    /// The lines, as long as they would be without a width.
    private func text(_ report: ClusterReport) -> String {
        report.lines.joined(separator: "\n").replacing("\n          ", with: " ")
    }

    @Test(
        "A gateway's line has its age; its role is late after 10 s and lapsed after 20, and all are silent after 60",
        .limit("tool.gateways"))
    func ages() async throws {
        #expect(ClusterLimits.gatewaySilence == .seconds(60))
        try await withPlace { place in
            var found = try await place.look()
            #expect(abs(found.now.duration(to: place.clock.wall()) / .seconds(1)) < 30)
            let time = try #require(found.gateways.first?.time)
            func told(after age: Duration) -> String {
                found.now = time.advanced(by: age)
                return text(report(found))
            }
            let cases: [(age: Duration, heard: String, role: String, roles: [String])] = [
                (.seconds(-3), "0.0 s", "; holds base\n", ["base"]),
                (.milliseconds(3_440), "3.4 s", "; holds base\n", ["base"]),
                (.seconds(14), "14 s", "; holds base, not renewed for 14 s\n", ["base"]),
                (.seconds(20), "20 s", "; held base: its lease has lapsed\n", []),
                (.seconds(2_000), "2,000 s", "; held base: its lease has lapsed\n", []),
            ]
            for (age, heard, role, roles) in cases {
                let text = told(after: age)
                let line = "gateway   one: heard \(heard) ago, 1 entry behind, clock "
                #expect(text.contains(line) && text.contains(role), "\(text)")
                #expect(report(found).gateways.map(\.roles) == [roles])
            }
            #expect(!told(after: .milliseconds(59_999)).contains("No gateway has written"))
            #expect(told(after: .seconds(60)).contains("No gateway has written for 60 s."))
        }
    }

    @Test("A role is held by the gateway with the newest grant, until that gives it back")
    func holders() async throws {
        try await withPlace { place in
            #expect(try await place.look().leases[.base]?.session == 1)
            try await place.store(.session(nonce: 2, name: "two"))
            try await place.renew(session: 3, n: 2, grant: 3)
            // What was asked with an older grant is refused.
            try await place.renew(session: 1, n: 3, grant: 1)
            try await place.release(session: 1, n: 4, grant: 1)
            let found = try await place.look()
            #expect(found.leases[.base]?.session == 3)
            #expect(report(found).gateways.map(\.roles) == [[], ["base"]])
            try await place.release(session: 3, n: 3, grant: 3)
            #expect(try await place.look().leases.isEmpty)
        }
    }

    @Test(
        "A clock that is right has no sign",
        arguments: [(-40, "0.0 s"), (40, "0.0 s"), (-60, "-0.1 s"), (1_240, "+1.2 s")])
    func clock(milliseconds: Int, words: String) async throws {
        try await withPlace { place in
            var found = try await place.look()
            found.gateways[0].clock = .milliseconds(milliseconds)
            let text = text(report(found))
            #expect(text.contains("clock \(words), entry 2"), "\(text)")
        }
    }

    @Test("A monitoring port tells who leads a stream, or that it has none of that name")
    func monitoredStream() async throws {
        try await withPlace { place in
            let port = try MonitoringPort(place.server.monitor)
            let node = try await MonitoredNode.look(at: port).get()
            let stream = try await place.look().stream
            let found = try await MonitoredStream.look(for: stream, of: node, at: port).get()
            let copy = try #require(found)
            #expect(copy.leader == node.name && !node.name.isEmpty)
            let other = try await MonitoredStream.look(for: stream + "2", of: node, at: port).get()
            #expect(other.map(\.leader) == nil)
        }
    }

    @Test(
        "An answer of a monitoring port with more than 16 MiB is not read to its end, and a problem",
        .limit("tool.monitor"), arguments: [0, 1])
    func largeAnswer(extra: Int) async throws {
        #expect(ClusterLimits.monitorBytes == 16_777_216)
        let json = #"{"version": "9.0.0", "jetstream": {"config": {"sync_always": true}}}"#
        let filling = [UInt8](
            repeating: 0x20, count: ClusterLimits.monitorBytes + extra - json.utf8.count)
        try await OddServer.run { _, answer in
            // Without a length: what comes is counted.
            try await answer.head(200)
            try await answer.write(filling)
            try await answer.write(json)
        } test: { url, host, _ in
            let port = try MonitoringPort(url)
            let outage = await ClusterOutage(
                cluster: "tests", servers: "nats://n1", stream: "S", at: [port])
            #expect(outage.nodes.map(\.answers) == [extra == 0])
            #expect(outage.problems.map(\.code) == (extra == 0 ? [] : ["tooLarge"]))
            guard extra > 0 else { return }
            #expect(outage.problems.first?.message.hasPrefix("\(host) answers with more") == true)
        }
    }

    @Test("Of a cluster without a journal each server's state is told, and who leads")
    func outage() {
        typealias Server = ClusterOutage.Server
        let cases: [(server: Server, text: String)] = [
            (Server(monitor: "n1:8222", answers: false), "n1:8222 does not answer"),
            (Server(monitor: "n1:8222", name: "n1"), "n1 at n1:8222: JetStream is off"),
            (
                Server(monitor: "n1:8222", name: "n1", hasJetStream: true, clusterSize: 3),
                "n1 at n1:8222: cluster of 3, no leader; no copy of S"
            ),
            (
                Server(
                    monitor: "n1:8222", name: "n1", hasJetStream: true, clusterSize: 3,
                    clusterLeader: "n2", hasStream: true),
                "n1 at n1:8222: cluster of 3, leader n2; S, no leader"
            ),
            (
                Server(
                    monitor: "n1:8222", name: "n1", hasJetStream: true, hasStream: true,
                    streamLeader: "n1"),
                "n1 at n1:8222: S, leader n1"
            ),
        ]
        for (server, text) in cases { #expect(server.text("S") == text) }
    }

    @Test("Names and reasons in the journal are shown up to their limits")
    func names() async throws {
        #expect(ClusterLimits.nameBytes == 64 && ClusterLimits.reasonBytes == 400)
        let long = String(repeating: "é", count: 5_000)
        let check = ResultCheck(
            first: 1, last: 2, digest: Array(1...32), name: long, sqlite: long)
        try await withPlace { place in
            try await place.store(.session(nonce: 2, name: long))
            #expect(try await place.look().gateways.last?.name?.utf8.count == 64)
            try await place.store(session: 3, n: 2, .checked(check))
            try await place.store(
                session: .max, .stuck(StuckReport(sequence: 9, reason: long, name: long)))
            let found = try await place.look()
            let gateway = try #require(found.gateways.last)
            #expect(gateway.name?.utf8.count == 64 && gateway.sqlite?.utf8.count == 64)
            #expect(found.results[2]?[3]?.name.utf8.count == 64)
            let report = try #require(found.stuck.first)
            #expect(report.name.utf8.count == 64 && report.reason.utf8.count == 400)
        }
    }

    @Test(
        "No line is wider than 80 columns or breaks a command, and each node's state and silent monitor is told"
    )
    func width() async throws {
        try await withPlace { place in
            var found = try await place.look()
            var nodes = ["n1.example.org", "n2.example.org"].map { JournalStatus.Server(name: $0) }
            nodes[0].isLeader = true
            (nodes[1].isCurrent, nodes[1].lag) = (false, 4_123)
            found.status.servers = nodes
            found.behind = [nodes[1]]
            found.gateways[0].name = "gateway1.example.org"
            found.gateways[0].sqlite = "3.46.1"
            found.stuck = [
                StuckReport(sequence: 9, reason: "It is broken.", name: "gateway1.example.org")
            ]
            var report = report(found)
            let port = try MonitoringPort("http://n2.example.org:8222")
            report.add(.failure(port.doesNotAnswer), at: port)
            for line in report.lines {
                #expect(line.count <= 80 && line.count { $0 == "`" } % 2 == 0, "\(line)")
            }
            let text = text(report)
            for words in [
                "cluster   tests at nats://n1.example.org, nats://n2.example.org\nepoch     ",
                "server    n1.example.org leads\n",
                "server    n2.example.org is 4123 entries behind\n",
                "synced    n2.example.org:8222 not known\n",
                "PROBLEM   n2.example.org is 4123 entries behind. If it has just been started",
                "PROBLEM   n2.example.org:8222 does not answer as the monitoring port of NATS. If",
                "run this check with --monitor http://127.0.0.1:8222.",
            ] { #expect(text.contains(words), "\(words): \(text)") }
        }
    }
}
