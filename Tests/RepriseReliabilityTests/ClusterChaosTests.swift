import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

/// A short `make chaos`: nodes of NATS, gateways and devices in Python, all real processes.
@Suite("A cluster whose parts are killed")
struct ClusterChaosTests {
    @Test(
        "Nothing acknowledged is lost, doubled or moved, and all gateways are equal",
        arguments: [(nodes: 3, gateways: 2), (nodes: 1, gateways: 2)])
    func kills(nodes: Int, gateways: Int) async throws {
        try await Self.play(
            "--seconds", "8", "--nodes", "\(nodes)", "--gateways", "\(gateways)")
    }

    static func play(_ arguments: String...) async throws {
        let run = try await Command.run(
            Command.python.path,
            [
                Command.root.appending(path: "scripts/chaos").path, "--seed", "5", "--devices", "4",
                "--reprise", URL.sibling("reprise").path, "--nats-server", NatsServer.program.path,
            ] + arguments, within: .seconds(110))
        #expect(run.status == 0, "\(run.words)")
        #expect(run.words.contains("all holds"), "\(run.words)")
    }

    @Test("The files of Examples/cluster carry nodes and gateways, with few rights")
    func example() async throws {
        let run = try await Command.run(
            Command.python.path,
            [
                Command.root.appending(path: "scripts/check-cluster").path, "--run", "--reprise",
                URL.sibling("reprise").path, "--nats-server", NatsServer.program.path,
            ], within: .seconds(110))
        #expect(run.status == 0, "\(run.words)")
        #expect(run.words.contains("all is right"), "\(run.words)")
    }
}
