import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseCLI

@Suite("forms: check, push, show")
struct FormsTests {
    static func catalogue(_ version: String, _ ids: String...) -> String {
        let forms = ids.map {
            #"{"id":"\#($0)","title":"T \#($0)","triggers":[{"event":"opened_push"}]}"#
        }
        return
            #"{"format":"forms/1","version":"\#(version)","frequency":{"max":3,"seconds":86400},"forms":["#
            + forms.joined(separator: ",\n") + "]}"
    }

    @Test("check says what is wrong and where, as a compiler does, and ends with 65")
    func check() async throws {
        let folder = try TemporaryFolder()
        let bad = try folder.write(
            "{\"format\":\"forms/1\",\n\"version\":\"1\",\n\"forms\":[{\"id\":\"\u{1b}[31m\"}]}"
                .replacing("\u{1b}", with: "\\u001b"), to: "bad.json")
        let result = try await Tool.run("forms", "check", bad)
        #expect(result.status == 65)
        #expect(
            result.lines.contains { $0.hasPrefix("\(bad):3: ") && $0.hasSuffix("(/forms/0/id)") })
        #expect(!result.output.contains("\u{1b}"))
        let json = try await Tool.run("forms", "check", bad, "--json")
        #expect(json.status == 65)
        #expect(json.lines.count == result.lines.count)
        for line in json.lines {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(object?["line"] as? Int == 3)
        }
    }

    @Test("check ends with 65 also where nobody reads what is wrong")
    func checkUnread() async throws {
        let pipe = Pipe()
        let tool = try RunningTool(["forms", "check", "-"], outputTo: pipe)
        try pipe.fileHandleForWriting.close()
        try pipe.fileHandleForReading.close()
        tool.write(Data("{}".utf8))
        tool.closeInput()
        #expect(await tool.end() == 65)
    }

    @Test("check takes the standard input, and says what is missing")
    func checkInput() async throws {
        let good = try await Tool.run(
            ["forms", "check", "-"], input: Data(Self.catalogue("7", "a").utf8))
        #expect(good.status == 0)
        #expect(good.output.contains("version 7, 1 form"))
        let none = try await Tool.run("forms", "check", "/nowhere/at/all.json")
        #expect(none.status == 66)
        #expect(none.error.contains("/nowhere/at/all.json"))
        let huge = try await Tool.run(
            ["forms", "check", "-"], input: Data(repeating: 0x20, count: 1_200_000))
        #expect(huge.status == 65)
    }

    @Test("push makes a file current and says what it changes; show shows it")
    func push() async throws {
        let folder = try TemporaryFolder()
        try await AccessCommandTests.withDevelopment { _, url in
            let to = ["--server", url]
            let none = try await Tool.run(["forms", "show"] + to)
            #expect(none.status == 65)
            let one = try folder.write(Self.catalogue("1", "a", "b"), to: "one.json")
            let asked = try await Tool.run(["forms", "push", one] + to)
            #expect(asked.status == 76, "\(asked.error)")
            let admin = to + ["--as", "root"]
            let first = try await Tool.run(["forms", "push", one] + admin)
            #expect(first.status == 0, "\(first.error)")
            #expect(first.lines == ["version 1 is current: 2 forms"])
            let two = try folder.write(Self.catalogue("2", "b", "c"), to: "two.json")
            let second = try await Tool.run(["forms", "push", two] + admin)
            #expect(
                second.lines == [
                    "version 2 is current: 2 forms", "  before: version 1", "  + c", "  - a",
                ])
            let other = try folder.write(Self.catalogue("2", "x"), to: "other.json")
            let taken = try await Tool.run(["forms", "push", other] + admin)
            #expect(taken.status == 65)
            #expect(taken.error.contains("Version 2"))
            let shown = try await Tool.run(["forms", "show"] + to)
            #expect(shown.output.contains("version 2, 2 forms, all together 3 in 1 d"))
            #expect(shown.lines.contains { $0.hasPrefix("c ") && $0.contains("opened_push") })
            let raw = try await Tool.run(["forms", "show", "--json"] + to)
            #expect(raw.output == Self.catalogue("2", "b", "c"))
        }
    }

    @Test("push sends nothing that is no catalogue")
    func pushChecks() async throws {
        let folder = try TemporaryFolder()
        let bad = try folder.write("[]", to: "bad.json")
        // Nobody listens there, and nobody is asked.
        let result = try await Tool.run(
            "forms", "push", bad, "--server", "http://127.0.0.1:1", "--as", "root")
        #expect(result.status == 65)
        #expect(result.error.contains("\(bad):1: "))
    }
}
