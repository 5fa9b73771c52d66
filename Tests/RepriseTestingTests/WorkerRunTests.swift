import Foundation
import Reprise
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("A worker in a unit test")
struct WorkerRunTests {
    /// Counts to a number, one checkpoint each; stops where there is no time left.
    private struct Counts: Worker {
        struct OutOfTime: Error {}
        static let identifier = "counts"

        func run(_ input: Int, _ work: WorkContext) async throws -> String {
            var done = work.saved(as: Int.self) ?? 0
            while done < input {
                guard work.remaining ?? .seconds(1) > .zero else { throw OutOfTime() }
                done += 1
                try await work.checkpoint(done)
                await work.progress(Double(done) / Double(input), "\(done)")
            }
            await work.log("done in attempt \(work.attempt)")
            return "\(work.key): \(done)"
        }
    }

    private struct Talks: Worker {
        static let identifier = "talks"
        func run(_ input: Int, _ work: WorkContext) async throws -> Double {
            try await work.checkpoint(String(repeating: "x", count: input))
            return .nan
        }
    }

    @Test("Its key, time, checkpoints, progress and log are seen, and the next attempt goes on")
    func attempts() async throws {
        let first = WorkerRun(key: "k", remaining: .zero)
        await #expect(throws: Counts.OutOfTime.self) { try await first.perform(Counts(), 3) }
        first.remaining = .seconds(1)
        #expect(try await first.perform(Counts(), 2) == "k: 2")
        #expect(first.checkpoints(as: Int.self) == [1, 2])
        #expect(first.progress.map(\.fraction) == [0.5, 1] && first.progress.last?.note == "2")
        let second = first.afterKill()
        #expect(try await second.perform(Counts(), 3) == "k: 3")
        #expect(second.checkpoints(as: Int.self) == [3])
        #expect(second.log == ["done in attempt 2"])
        let third = try WorkerRun(attempt: 7, saved: 3)
        #expect(try await third.perform(Counts(), 3) == "task-1: 3" && third.progress.isEmpty)
    }

    @Test("The limits of a chain hold, and an output that is no JSON fails")
    func limits() async throws {
        await expectError(.tooLarge) {
            try await WorkerRun().perform(Talks(), ChainsLimits.checkpointBytes)
        }
        await #expect(throws: EncodingError.self) { try await WorkerRun().perform(Talks(), 1) }
    }
}
