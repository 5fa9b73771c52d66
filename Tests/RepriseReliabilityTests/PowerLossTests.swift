import RepriseTesting
import Testing

/// A short run of `make powerloss`, and the proof that it would notice.
@Suite(
    "The power fails", .serialized, .timeLimit(.minutes(2)),
    .enabled(
        if: Machine.canCutPower,
        "Loop mounts are not allowed here: run the tests as root, in a container with --privileged."
    ))
struct PowerLossTests {
    @Test(
        "Guarantee 1: everything that journal and log acknowledged before the power failed is on the medium"
    )
    func nothingIsLost() async throws {
        let run = try await LoopRun("powerloss", ["--images", "3"])
        #expect(run.status == 0, "\(run.faults) (seed \(run.seed))")
        #expect(run.numbers["images"] == 3)
        #expect(try #require(run.numbers["promised"]) > 0)
    }

    @Test("A writer that does not wait for the disk is detected", .timeLimit(.minutes(1)))
    func bare() async throws {
        let run = try await LoopRun("powerloss", ["--images", "2", "--unsafe", "bare"])
        #expect(run.status == 1)
        #expect(try #require(run.numbers["lost"]) > 0)
    }

    @Test(
        "Journal and log themselves lose what they acknowledged on a disk that lies about fdatasync",
        .enabled(if: Machine.canInjectErrors, "strace is missing, or ptrace is not allowed."))
    func lying() async throws {
        let run = try await LoopRun("powerloss", ["--images", "2", "--unsafe", "lying"])
        #expect(run.status == 1)
        #expect(try #require(run.numbers["lost"]) > 0)
    }
}
