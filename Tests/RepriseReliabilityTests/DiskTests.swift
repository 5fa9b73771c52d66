import RepriseTesting
import Testing

/// Short runs of `make damage`.
@Suite("A disk that fails, fills or rots", .serialized, .timeLimit(.minutes(2)))
struct DiskTests {
    @Test(
        "Damage to a file crashes nothing, whole data is there, and a loss is reported: 200 seeds"
    )
    func damage() async throws {
        let run = try await LoopRun("damage", ["--seeds", "200"])
        #expect(run.status == 0, "\(run.faults) (seed \(run.seed))")
        #expect(run.numbers["seeds"] == 200)
    }

    @Test(
        "EIO while journal and log are written is a typed refusal, and takes nothing that was acknowledged",
        .enabled(if: Machine.canInjectErrors, "strace is missing, or ptrace is not allowed."),
        arguments: ["fdatasync", "pwrite64"])
    func broken(call: String) async throws {
        // A seed of which some rounds are known to open: a disk that fails too often promises
        // nothing at all.
        let run = try await LoopRun("faults", ["--kind", call, "--rounds", "3", "--seed", "1"])
        #expect(run.status == 0, "\(run.faults) (seed \(run.seed))")
        #expect(try #require(run.numbers["refused"]) > 0)
        #expect(try #require(run.numbers["promised"]) > 0)
    }

    @Test(
        "A disk that fills and empties in the middle of transactions takes nothing that was acknowledged",
        .enabled(if: Machine.canFillDisks, "A tmpfs cannot be mounted here: run as root."))
    func full() async throws {
        let run = try await LoopRun("faults", ["--kind", "full", "--rounds", "3"])
        #expect(run.status == 0, "\(run.faults) (seed \(run.seed))")
        #expect(try #require(run.numbers["refused"]) > 0)
        #expect(try #require(run.numbers["promised"]) > 0)
    }
}
