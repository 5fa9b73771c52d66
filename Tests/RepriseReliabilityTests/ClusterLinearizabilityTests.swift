import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

/// A short `make linear`: nodes of NATS, gateways and clients over HTTP, all real processes.
@Suite("The answers of a cluster over HTTP")
struct ClusterLinearizabilityTests {
    @Test("The history of a cluster is linearizable, also while parts are killed and stopped")
    func holds() async throws {
        let run = try await Self.run(
            "--seconds", "10", "--seed", "5", "--gateways", "2", "--only",
            "kill gateway,stop gateway,stop leader")
        #expect(run.status == 0, "\(run.words)")
        #expect(run.words.contains("all is linearizable"), "\(run.words)")
    }

    @Test("Reads of a view without the barrier are noticed")
    func bypass() async throws {
        let run = try await Self.run(
            "--seconds", "4", "--seed", "5", "--gateways", "2", "--only", "none", "--bypass")
        #expect(run.status == 1, "\(run.words)")
        #expect(run.words.contains("are not linearizable"), "\(run.words)")
    }

    @Test("The search has the same result as a search of all orders")
    func search() async throws {
        let run = try await Self.run("--self-test", "--seed", "5")
        #expect(run.status == 0, "\(run.words)")
        #expect(run.words.contains("the search is right"), "\(run.words)")
    }

    private static func run(
        _ arguments: String...
    ) async throws -> (status: Int32, words: String) {
        try await Command.run(
            Command.python.path,
            [Command.root.appending(path: "scripts/linearizability").path] + arguments + [
                "--reprise", URL.sibling("reprise").path, "--nats-server",
                NatsServer.program.path,
            ], within: .seconds(110))
    }
}
