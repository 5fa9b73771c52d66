import Foundation
import RepriseTestSupport
import Testing

/// One fault of `make chaos` each, at one node of three.
@Suite("A cluster of which one node is not as it should be", .serialized)
struct ClusterNodeTests {
    @Test(
        "A disk that dies under the leader stops nobody; that node is named, and has all with a new disk",
        .enabled(
            if: Machine.canCutPower,
            "Loop mounts are not allowed here: run the tests as root, in a container with --privileged."
        ))
    func disk() async throws {
        try await ClusterChaosTests.play(
            "--seconds", "1", "--gateways", "2", "--only", "failing leader")
    }

    @Test(
        "Beside a node that is too old a gateway starts; while it leads, those that run go on, and none starts"
    )
    func oldNode() async throws {
        try await ClusterChaosTests.play(
            "--seconds", "1", "--gateways", "2", "--devices", "3", "--only", "old node",
            "--old-nats-server", NatsServer.oldProgram.path)
    }
}
