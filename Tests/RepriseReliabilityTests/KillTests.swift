import Foundation
import RepriseTesting
import Testing

/// A short run of `make crash`, and the proof that it would notice.
@Suite("Killed again and again", .serialized, .timeLimit(.minutes(2)))
struct KillTests {
    @Test(
        "Guarantees 1, 3, 4, 5: devices and server are killed 40 times, and every effect is there as often as declared"
    )
    func nothingIsLost() async throws {
        let run = try await LoopRun("kills", ["--kills", "40", "--devices", "2"])
        #expect(run.status == 0, "\(run.faults) (seed \(run.seed))")
        #expect(try #require(run.numbers["killCount"]) >= 40)
        #expect(try #require(run.numbers["promised"]) > 0)
        // Read while processes live, on a timer: how often depends on how long the kills take.
        #expect(try #require(run.numbers["ledgersRead"]) >= 10)
    }

    @Test(
        "The loop sees each invariant that a process violates on purpose",
        arguments: [
            ("acknowledgeBeforeEffect", "`again` are lost"),
            ("forgetEffects", "isApplied reader took place twice"),
            ("acknowledgeBeforeCommit", "the server has lost"),
        ])
    func mutated(name: String, finding: String) async throws {
        var said: [String] = []
        // Only a kill at the wrong moment shows it: on a busy machine 14 may all miss that.
        for _ in 0..<4 {
            let run = try await LoopRun(
                "kills", ["--kills", "14", "--devices", "2", "--mutation", name, "--patience", "2"])
            if run.faults.contains(where: { $0.contains(finding) }) {
                #expect(run.status == 1)
                return
            }
            said.append("\(run.faults) (seed \(run.seed))")
        }
        Issue.record("Four runs did not see it: \(said)")
    }
}
