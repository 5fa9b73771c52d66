import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseCLI

@Suite("forms log")
struct FormsLogTests {
    /// 2026-11-21 12:00 in Berlin.
    private static let now: Int64 = 1_795_258_800_000

    private static func event(
        _ id: String, _ name: String, state: Int, reason: String?, at later: Int64,
        payload: String? = nil
    ) -> String {
        let text = payload ?? #"{"name":"\#(name)","properties":{"n":1,\#n"t":"a\nb"}}"#
        let reason = reason.map { "'\($0)'" } ?? "NULL"
        return """
            INSERT INTO entry (id, kind, source, recordedAt, state, attempt, reason, payload)
            VALUES ('\(id)', 'forms.\(name)', 'app', \(now + later), \(state), 1, \(reason),
                CAST('\(text)' AS BLOB));
            """
    }

    private static let events =
        event("e1", "opened_push", state: 10, reason: "shown welcome", at: 0)
        + event("e2", "checkout", state: 10, reason: "noMatch", at: 1_000)
        + event("e3", "opened_push", state: 0, reason: nil, at: 2_000)
        + event("e4", "bad", state: 13, reason: "no \u{1b}[31m", at: 3_000, payload: "{")
            + """
            INSERT INTO entry (id, kind, source, recordedAt, state, attempt, payload)
            VALUES ('e5', 'forms-link', 'form', \(now), 0, 0, CAST('{}' AS BLOB));
            INSERT INTO formsShowing VALUES
                ('s1', 'e1', 'welcome', \(now + 100), \(now + 200), \(now + 900), 'button'),
                ('s2', 'e3', 'rating', \(now + 2_100), NULL, NULL, NULL);
            INSERT INTO formsDecision VALUES
                ('e3', 'welcome', \(now + 2_050), NULL, 'audience'),
                ('e2', 'later', \(now + 1_100), \(now + 3_600_000), 'quiet');
            """

    @Test("events are listed newest first, with the decision and how each form was closed")
    func table() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.leftJournal(Self.events)
        let log = try await Tool.run("forms", "log", "--journal", journal)
        #expect(log.status == 0, "\(log.error)")
        let rows = log.lines.map { $0.split(separator: "  ").map { $0.drop { $0 == " " } } }
        #expect(
            rows.map { $0.dropFirst().joined(separator: "|") } == [
                "event|state|decision|forms",
                #"forms.bad|dead|no \u{1b}[31m|–"#,
                "opened_push|pending|–|rating granted; welcome not shown: audience",
                "checkout|applied|noMatch|later not shown: quiet, until "
                    + WallTime(milliseconds: Self.now + 3_600_000).dayAndTime,
                "opened_push|applied|shown welcome|welcome closed: button",
            ])
        let one = try await Tool.run("forms", "log", "--journal", journal, "--limit", "1")
        #expect(one.lines.count == 2)
    }

    @Test("--json prints an object a line, with the properties and all times")
    func json() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.leftJournal(Self.events)
        let log = try await Tool.run("forms", "log", "--journal", journal, "--json")
        let objects = try log.lines.map {
            try #require(
                try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(objects.map { $0["id"] as? String } == ["e4", "e3", "e2", "e1"])
        #expect(objects[0]["properties"] is NSNull && objects[1]["reason"] is NSNull)
        let shown = objects[3]
        #expect((shown["properties"] as? [String: Any])?["t"] as? String == "a\nb")
        #expect(shown["recorded"] as? Int64 == Self.now && shown["state"] as? String == "applied")
        let showing = try #require((shown["showings"] as? [[String: Any]])?.first)
        #expect(showing["form"] as? String == "welcome" && showing["how"] as? String == "button")
        #expect(showing["dismissed"] as? Int64 == Self.now + 900)
        let decision = try #require((objects[2]["decisions"] as? [[String: Any]])?.first)
        #expect(decision["form"] as? String == "later" && decision["reason"] as? String == "quiet")
        #expect(decision["until"] as? Int64 == Self.now + 3_600_000)
        #expect((objects[1]["decisions"] as? [[String: Any]])?.first?["until"] is NSNull)
    }

    @Test("the newest 20 events are printed, or as many as --limit says", .limit("tool.formsLog"))
    func limit() async throws {
        let folder = try TemporaryFolder()
        let events = (1...21).map {
            Self.event("e\($0)", "n\($0)", state: 10, reason: nil, at: Int64($0))
        }
        let journal = try await folder.leftJournal(events.joined())
        func names(_ options: String...) async throws -> [String] {
            let log = try await Tool.run(
                ["forms", "log", "--journal", journal, "--json"] + options)
            return try log.lines.map { line -> String in
                let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
                return (object as? [String: Any])?["event"] as? String ?? ""
            }
        }
        let newest = (2...21).reversed().map { "n\($0)" }
        #expect(try await names() == newest)
        #expect(try await names("--limit", "2") == ["n21", "n20"])
        #expect(try await names("--limit", "1000").count == 21)
        let more = try await Tool.run("forms", "log", "--journal", journal, "--limit", "1001")
        #expect(more.status == 64)
    }

    @Test("a journal without events says so, and a folder without a journal ends with 65")
    func nothing() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.leftJournal()
        let empty = try await Tool.run("forms", "log", "--journal", journal)
        #expect(empty.status == 0 && empty.output.contains("No event"))
        let none = try await Tool.run("forms", "log", "--journal", folder.path("none"))
        #expect(none.status == 65)
        let limit = try await Tool.run("forms", "log", "--journal", journal, "--limit", "0")
        #expect(limit.status == 64)
    }
}
