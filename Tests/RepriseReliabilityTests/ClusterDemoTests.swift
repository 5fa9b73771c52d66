import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

/// A short `make demo SCENARIO=cluster`: nodes of NATS, gateways and devices in Python, all real
/// processes.
@Suite("The demo of a cluster")
struct ClusterDemoTests {
    @Test("Five failures lose nothing that was acknowledged, and are drawn")
    func failures() async throws {
        let folder = try TemporaryFolder()
        let picture = folder.appending("cluster.svg")
        let run = try await Command.run(
            Command.python.path,
            [
                Command.root.appending(path: "scripts/demo-cluster").path, "--short", "--seed", "5",
                "--picture", picture.path, "--reprise", URL.sibling("reprise").path,
                "--nats-server", NatsServer.program.path,
            ], within: .seconds(110))
        #expect(run.status == 0, "\(run.words)")
        #expect(run.words.contains("Nothing acknowledged was lost"), "\(run.words)")
        let drawn = try String(contentsOf: picture, encoding: .utf8)
        #expect(drawn.contains("the leader") && drawn.hasSuffix("</svg>\n"))
    }

    @Test("Its comparison notices each way in which a cluster can be wrong")
    func comparison() async throws {
        let run = try await Command.run(
            Command.python.path,
            [Command.root.appending(path: "scripts/demo-cluster").path, "--self-test"])
        #expect(run.status == 0, "\(run.words)")
    }
}
