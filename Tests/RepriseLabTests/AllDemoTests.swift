import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseTestSupport
import Testing

@testable import RepriseLab

@Suite("demo of all features")
struct AllDemoTests {
    /// A part that was played, as far as the table at the end knows one.
    private struct Part: DemoReport {
        var hasPassed: Bool
        var accounts: [DemoAccount] {
            [
                DemoAccount(
                    feature: "reminders", promise: "the right screen for each tap",
                    before: "8 of 19", repaired: nil, reprise: "20 of 21", kept: hasPassed)
            ]
        }

        var members: ReportObject { ["scenario": "part", "passed": hasPassed] }
        func rest(_ terminal: Terminal) -> String { "" }
    }

    private static func report(_ kept: [Bool]) -> TableReport {
        AllDemo.report(
            kept.enumerated().map { index, kept in ("part-\(index)", Part(hasPassed: kept)) },
            took: .seconds(2))
    }

    @Test("one broken part breaks the whole, and is named")
    func broken() {
        let report = Self.report([true, false, true])
        #expect(!report.hasPassed)
        let table = report.rest(.plain)
        #expect(table.contains("Broken: part-1."))
        #expect(!table.contains("Every guarantee"))
        #expect(!Self.report([]).hasPassed)
    }

    @Test("the table has a row for each promise, in 80 columns, with a dash for a missing value")
    func table() throws {
        let table = Self.report([true, true]).rest(.plain)
        let lines = table.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 80 }, "\(table)")
        #expect(lines.count { $0.hasPrefix("reminders") } == 2)
        let row = try #require(lines.first { $0.hasPrefix("reminders") })
        #expect(row.contains("8 of 19           –    20 of 21"))
        #expect(table.contains("Every guarantee of the five features held."))
    }

    @Test("for programs it is one JSON object with all parts in it")
    func json() throws {
        let text = try Self.report([true, false]).members.line()
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(object["passed"] as? Bool == false)
        #expect(
            (object["parts"] as? [[String: Any]])?.map { $0["passed"] as? Bool } == [true, false])
        let accounts = try #require(object["accounts"] as? [[String: Any]])
        #expect(accounts.map { $0["kept"] as? Bool } == [true, false])
        #expect(accounts.first?["before"] as? String == "8 of 19")
    }

    @Test("--only and --list want a demo that has scenarios")
    func only() async throws {
        for arguments in [["demo", "--only", "terminated-fast"], ["demo", "kill", "--list"]] {
            let result = try await LabTool.run(arguments)
            #expect(result.status == 64, "\(result.error)")
            #expect(result.error.contains("forms, reminders, chains"))
        }
    }
}
