import Foundation
import Testing

@Suite("Network faults by seed")
struct NetworkSeedTests {
    /// Another beginning of the seeds, and a time to go on for: `make network SEED=… MINUTES=…`.
    private static let environment = ProcessInfo.processInfo.environment

    @Test(
        "every acknowledged message is on every device exactly once under all network faults",
        .timeLimit(.minutes(2)), .enabled(if: environment["REPRISE_NETWORK_MINUTES"] == nil),
        arguments: [2, 4, 6])
    func seeds(_ seed: UInt64) async throws {
        let figures = try await NetworkRun(seed: seed).play()  // holds the promises itself
        print("seed \(seed): \(figures)")
        #expect(figures.effects >= figures.messages && figures.messages > 0)
        #expect(figures.met.values.reduce(0, +) > 0, "the network did nothing to it")
    }

    @Test(
        "the same for REPRISE_NETWORK_MINUTES, from a seed on: `make network`",
        .enabled(
            if: environment["REPRISE_NETWORK_MINUTES"] != nil, "It has a command of its own."))
    func long() async throws {
        let minutes = Self.environment["REPRISE_NETWORK_MINUTES"].flatMap(Double.init) ?? 10
        let first = Self.environment["REPRISE_NETWORK_SEED"].flatMap(UInt64.init) ?? 1_000
        let end = ContinuousClock.now + .seconds(minutes * 60)
        var sum: Figures?
        var seed = first
        while ContinuousClock.now < end {
            let figures = try await NetworkRun(seed: seed, scale: 3).play()
            print("seed \(seed): \(figures)")
            sum?.add(figures)
            if sum == nil { sum = figures }
            seed += 1
        }
        print("seeds \(first)..<\(seed): \(sum.map(\.description) ?? "none")")
    }
}
