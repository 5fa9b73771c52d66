import Foundation
import RepriseTestSupport
import Testing

@testable import RepriseLab

@Suite("simulate")
struct SimulateTests {
    private func decoded(_ text: String) throws -> [String: Any] {
        try #require(
            try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    @Test("a search that finds nothing ends with 0 and tells what it met")
    func holds() async throws {
        let result = try await LabTool.run(["simulate", "--seeds", "3", "--json"], limit: 600)
        #expect(result.status == 0)
        let summary = try decoded(result.output)
        #expect(summary["holds"] as? Bool == true)
        let workloads = try #require(summary["workloads"] as? [[String: Any]])
        #expect(workloads.count == 12)
        for workload in workloads {
            #expect(workload["schedules"] as? Int == 3)
            #expect((workload["schedulesWith"] as? [String: Int])?.isEmpty == false)
        }
    }

    @Test(
        "a wrong driver ends it with 1, a timeline of 80 columns, and a command that shows it again"
    )
    func detects() async throws {
        let result = try await LabTool.run(
            ["simulate", "--workload", "channels", "--mutation", "fanOutBeforeCommit"], limit: 240)
        #expect(result.status == 1)
        #expect(result.output.contains("VIOLATED INVARIANT"))
        let replay = try #require(result.lines.last { $0.hasPrefix("Replay: reprise-lab ") })
        for line in result.lines where line != replay { #expect(line.count <= 80, "\(line)") }
        let arguments = replay.dropFirst("Replay: reprise-lab ".count).split(separator: " ")
        let again = try await LabTool.run(arguments.map(String.init), limit: 240)
        #expect(again.status == 1)
        #expect(again.output.contains("Violated invariant, durable"))
    }

    @Test(
        "simulate plays all mutations of a workload, and prints the seed that detects each, or that none does"
    )
    func mutations() async throws {
        let found = try await LabTool.run(
            ["simulate", "--mutations", "--workload", "typing"], limit: 240)
        #expect(found.status == 0)
        #expect(found.output.contains("3 of 3 detected, the latest at seed "))
        for name in ["typingForEver", "typingOutlivesConnection", "typingUnticked"] {
            #expect(found.lines.contains { $0.hasPrefix(name) && $0.contains("seed ") })
        }
        let missed = try await LabTool.run(
            ["simulate", "--mutations", "--workload", "receipts", "--seeds", "2", "--json"],
            limit: 240)
        #expect(missed.status == 1)
        #expect(try decoded(missed.output)["convicted"] as? Int == 1)
    }

    @Test("a search with fresh seeds plays every workload in turn, and says from which seed on")
    func fresh() async throws {
        // Seeds that were played before: what no one has played yet belongs to `make search`.
        let result = try await LabTool.run(
            ["simulate", "--fresh", "--minutes", "0.02", "--from", "67811000000"], limit: 480)
        #expect(result.status == 0, "\(result.output)")
        let first = try #require(result.lines.first)
        #expect(first.hasPrefix("Fresh seeds from "))
        for name in ["gates", "channels", "receipts", "typing", "forms", "chains", "reminders"] {
            #expect(
                result.lines.contains { $0.hasPrefix(name) && $0.contains("/s on ") }, "\(name)")
        }
        let base = try #require(first.split(separator: " ").compactMap { UInt64($0) }.first)
        let again = try await LabTool.run(
            [
                "simulate", "--fresh", "--from", "\(base)", "--seeds", "3", "--json", "--workload",
                "gates",
            ], limit: 240)
        #expect(again.status == 0)
        let report = try decoded(again.output)
        #expect(report["base"] as? UInt64 == base)
        let workloads = try #require(report["workloads"] as? [[String: Any]])
        #expect(workloads.first?["schedules"] as? Int == 3)
    }

    @Test("a violation found with fresh seeds is printed with the command that replays it")
    func freshFind() async throws {
        let result = try await LabTool.run(
            [
                "simulate", "--fresh", "--workload", "typing", "--mutation", "typingForEver",
                "--seeds", "40",
            ], limit: 240)
        #expect(result.status == 1)
        let finds = result.lines.filter { $0.hasPrefix("Replay: reprise-lab ") }
        // Each when it is found, and once more at the end; it goes on behind the first.
        #expect(finds.count > 2 && finds.count <= 10)
        let arguments = try #require(finds.first).dropFirst("Replay: reprise-lab ".count)
            .split(separator: " ")
        let again = try await LabTool.run(arguments.map(String.init), limit: 240)
        #expect(again.status == 1)
        #expect(again.output.contains("Violated invariant"))
    }

    @Test("two processes, each with its own hash seed, tell the same run byte by byte")
    func deterministic() async throws {
        for workload in ["gates", "channels", "receipts", "chains", "reminders"] {
            let arguments = ["simulate", "--workload", workload, "--trace", "29"]
            let once = try await LabTool.run(arguments, limit: 240)
            let again = try await LabTool.run(arguments, limit: 240)
            let fixed = try await LabTool.run(
                arguments, environment: ["SWIFT_DETERMINISTIC_HASHING": "1"], limit: 240)
            #expect(once.status == 0 && once.lines.count > 50, "\(workload)")
            #expect(once.output == again.output && once.output == fixed.output)
        }
    }

    @Test("the command lists its workloads, and reports invalid arguments")
    func nonsense() async throws {
        let list = try await LabTool.run("simulate", "--list")
        #expect(list.status == 0)
        for line in list.lines { #expect(line.count <= 80, "\(line)") }
        for name in [
            "gates", "channels", "receipts", "typing", "forms", "chains", "reminders",
            "widenPrev", "Baselines",
        ] {
            #expect(list.output.contains(name))
        }
        for arguments in [
            ["--workload", "nothing"], ["--mutation", "nothing"], ["--seeds", "0"],
            ["--minutes", "1", "--seeds", "1"], ["--faults", "1"], ["--trace", "1"],
            ["--trace", "1", "--workload", "gates", "--faults", "x"], ["--tier", "paper"],
            ["--from", "18446744073709551615"], ["--minutes", "nan"],
            ["--minutes", "inf"],
            ["--mutations", "--mutation", "widenPrev"], ["--mutations", "--minutes", "1"],
            ["--fresh", "--mutations"], ["--fresh", "--trace", "1", "--workload", "gates"],
        ] {
            let result = try await LabTool.run(["simulate"] + arguments)
            #expect(result.status == 64, "\(arguments)")
            #expect(result.error.split(separator: "\n").count == 1, "\(result.error)")
        }
    }

    @Test("the proof holds, and every baseline is detected in it")
    func proof() async throws {
        let result = try await LabTool.run(
            ["demo", "proof", "--seed", "7", "--minutes", "0.05", "--json"], limit: 480)
        #expect(result.status == 0)
        let report = try decoded(result.output)
        #expect(report["passed"] as? Bool == true)
        let baselines = try #require(report["baselines"] as? [[String: Any]])
        #expect(baselines.count == 10)
        #expect(baselines.allSatisfy { $0["convicted"] as? Bool == true })
    }
}
