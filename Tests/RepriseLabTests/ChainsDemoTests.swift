import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseTestSupport
import Testing

@testable import RepriseLab

/// The demo's scenarios, held to what each has to come to; a file outside the journal says what was
/// done.
@Suite("demo chains")
struct ChainsDemoTests {
    @Test(
        "every scenario of chains ends as it was promised, whatever was killed", arguments: 0..<2)
    func all(half: Int) async throws {
        let names = ChainsScenario.all().map(\.name).half(half)
        let report = try await Self.play(["--alone"] + names.flatMap { ["--only", $0] })
        #expect(report.passed)
        #expect(report.scenarios.map(\.name) == names)
        for result in report.scenarios {
            #expect(result.kept, "\(result.name)")
            #expect(result.faults?.isEmpty == true, "\(result.name)")
        }
    }

    @Test(
        "the original store goes on at step 2 as it says, and does finished tasks of a step again")
    func originals() async throws {
        let names = ["seed-flow", "parallel", "effect", "retried"]
        let report = try await Self.play(names.flatMap { ["--only", $0] })
        #expect(report.passed)
        let runs = report.scenarios.compactMap { $0.apps["single-value"] }
        #expect(runs.map(\.lost) == [0, 0, 0, 1])
        let again = runs.map(\.again)
        try #require(again.count == 4)
        #expect(again[0] == 0 && again[1] >= 3 && again[2] == 2)
        let ours = report.scenarios.compactMap { $0.apps["reprise"] }
        #expect(ours.map(\.lost) == [0, 0, 0, 0])
        #expect(ours.map(\.again) == [0, 0, 1, 0])
    }

    @Test(
        "on a disk that is full the original store goes on with a chain whose position it could not keep",
        .enabled(if: TemporaryDisk.canMount, "needs root on Linux"))
    func fullDisk() async throws {
        let report = try await Self.play(["--only", "full"])
        #expect(report.passed)
        let apps = try #require(report.scenarios.first?.apps)
        #expect(try #require(apps["single-value"]).again >= 1)
        #expect(try #require(apps["reprise"]).lost == 0)
    }

    @Test("the table fits into 80 columns, and names every scenario once")
    func columns() {
        LabTool.checkTable(of: ChainsDemo.self) {
            Self.run($0, $1, [], [:], written: 99_999_999)
        }
        let full = ChainsScenario.all(DemoSettings(isFull: true))
        for scenario in ChainsScenario.all() + full { #expect(scenario.title.count < 34) }
    }

    @Test(
        "each expectation is violated by the fault that it names, and by no other",
        arguments: [
            (["plain", "by-key", "after"], ["a"], "succeeded", 0, []),
            (["plain", "plain", "by-key", "after"], ["a"], "succeeded", 0, []),
            (["plain", "plain", "by-key", "after"], ["a", "b"], "succeeded", 0, ["key"]),
            (["plain", "plain", "plain", "by-key", "after"], ["a"], "succeeded", 0, ["again"]),
            (["plain", "by-key"], ["a"], "succeeded", 0, ["effects"]),
            (["plain", "by-key", "after", "other"], ["a"], "succeeded", 0, ["effects"]),
            (["plain", "by-key", "after"], ["a"], "failed", 0, ["lost"]),
            (["plain", "by-key", "after"], ["a"], "succeeded", 1, ["ledger"]),
        ])
    func expectations(
        effects: [String], keys: [String], state: String, pending: Int64, faults: [String]
    ) throws {
        let scenario = try #require(ChainsScenario.all().first { $0.name == "effect" })
        func run(_ notes: ChainsNotes = ChainsNotes()) -> ChainsDemo.Run {
            Self.run(
                scenario, .reprise, effects, [0: state], keys: keys, pending: pending, notes: notes)
        }
        let result = ChainsDemo.Result(scenario: scenario, runs: [run()])
        #expect(result.faults(run()).map(\.sort) == faults)
        #expect(result.isKept == faults.isEmpty)
        let noted = run(ChainsNotes(faults: ["The worker did not know its key again."]))
        #expect(!ChainsDemo.Result(scenario: scenario, runs: [noted]).isKept)
    }

    private static func run(
        _ scenario: ChainsScenario, _ app: ChainsAlgorithm, _ effects: [String],
        _ states: [Int: String],
        keys: [String] = ["a"], written: Int? = nil, pending: Int64 = 0,
        notes: ChainsNotes = ChainsNotes()
    ) -> ChainsDemo.Run {
        var ledger = LedgerSum()
        (ledger.accepted, ledger.outcomes, ledger.pending) = (1 + pending, [.applied: 1], pending)
        return ChainsDemo.Run(
            scenario: scenario, app: app, log: [], ledger: ledger,
            seen: .init(
                effects: effects.enumerated().map { index, label in
                    .init(
                        verb: .done, key: keys[index % keys.count], attempt: 1,
                        label: "0.\(label)", microseconds: 0)
                },
                states: states, written: written, notes: notes))
    }

    private struct Run: Decodable {
        let again: Int
        let lost: Int
    }

    private static func play(_ arguments: [String]) async throws -> PlayedReport<Run> {
        try await LabTool.play("chains", arguments)
    }
}
