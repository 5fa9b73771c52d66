import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseCLI

@Suite("reminders and routes")
struct RemindersTests {
    /// 2026-11-21 12:00 in Berlin.
    private static let now: Int64 = 1_795_258_800_000
    private static let reconciliation = """
        INSERT INTO reminderSurvey VALUES
            (1, \(now), 'changed', 'authorized', 'Europe/Berlin', 200, 600, \(now + 5 * 86_400_000), NULL);
        INSERT INTO reminderPlan VALUES
            ('reprise.reminder.1', 'goal-1', 'r1', 'Drink', \(now + 3_600_000), '2026-11-21T13:00', 'Europe/Berlin', 'pending', NULL),
            ('reprise.reminder.2', 'goal-2', 'r1', 'Run', \(now + 7_200_000), '2026-11-21T13:30', 'Asia/Tokyo', 'pending', NULL),
            ('reprise.reminder.9', 'goal-9', 'r1', 'Far', \(now + 9_200_000), '2026-11-21T14:33', 'Europe/Berlin', 'beyond', NULL);
        INSERT INTO reminderMark VALUES ('goal-2', 'r1', '2026-11-21T13:30', 'snooze', \(now + 7_200_000), NULL, NULL);
        INSERT INTO reminderDecision (at, what, request, entity, reason) VALUES
            (\(now), 'add', 'reprise.reminder.1', 'goal-1', 'It should ring.'),
            (\(now), 'remove', 'reprise.reminder.0', 'goal-0', 'Its entity is reminded of no more.');
        """

    @Test(
        "a reconciliation shows what should ring next, in the zone where it does, and until when that is sure"
    )
    func shown() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.leftJournal(Self.reconciliation)
        let shown = try await Tool.run("reminders", "--journal", journal)
        #expect(shown.status == 0, "\(shown.error)")
        #expect(shown.output.contains("600 of 200 entities"))
        #expect(shown.output.contains("desired 2   pending 2   missing 0"))
        #expect(shown.output.contains("  2026-11-21 13:00  goal-1/r1  “Drink”\n"))
        #expect(
            shown.output.contains(
                "  2026-11-21 22:00  goal-2/r1  “Run”  (Asia/Tokyo, for 2026-11-21 13:30)"))
        #expect(shown.output.contains("(beyond)") && shown.output.contains("snooze"))
        #expect(!shown.output.contains("\u{1b}") && !shown.output.contains("Decisions"))
        for line in shown.lines { #expect(line.columns <= 80, "\(line)") }
        let few = try await Tool.run(
            "reminders", "--journal", journal, "--next", "1", "--decisions")
        #expect(few.output.contains("Its entity is reminded of no more."))
        #expect(!few.output.contains("“Run”"))
        let json = try await Tool.run("reminders", "--journal", journal, "--json", "--next", "1")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        #expect((object["counts"] as? [String: Int])?["desired"] == 2)
        #expect((object["next"] as? [Any])?.count == 1)
        #expect(
            (object["survey"] as? [String: Any])?["guaranteedUntil"] as? Int64 == Self.now
                + 432_000_000)
    }

    @Test(
        "a difference ends with code 1 and its reason, and no text of an app reaches the terminal as a command"
    )
    func difference() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.leftJournal(
            Self.reconciliation + """
                UPDATE reminderPlan SET status = 'refused', reason = 'no\u{1b}[2J', title = 'a\u{1b}]0;b\u{7}',
                    entity = 'g\u{202e}\(String(repeating: "x", count: 200))' WHERE id = 'reprise.reminder.1';
                UPDATE reminderSurvey SET permission = 'denied', fault = 'broken\u{9b}';
                """)
        let shown = try await Tool.run("reminders", "--journal", journal)
        #expect(shown.status == 1)
        #expect(shown.output.contains("refused 1") && shown.output.contains("nothing rings"))
        #expect(shown.output.contains("no\\u{1b}[2J") && shown.output.contains("broken\\u{9b}"))
        for scalar in shown.output.unicodeScalars { #expect(scalar == "\n" || !scalar.isControl) }
        for line in shown.lines { #expect(line.columns <= 80, "\(line)") }
    }

    @Test("a journal that no reminders ran on says so, and a folder without one is bad input")
    func nothing() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.leftJournal()
        let shown = try await Tool.run("reminders", "--journal", journal)
        #expect(shown.status == 0 && shown.output.contains("No reconciliation was made yet"))
        #expect(
            try await Tool.run("reminders", "--journal", journal, "--json").output.hasPrefix(
                #"{"survey":null"#))
        let routes = try await Tool.run("routes", "--journal", journal)
        #expect(routes.status == 0 && routes.output.contains("Nothing was tapped"))
        for command in ["reminders", "routes"] {
            let none = try await Tool.run(command, "--journal", folder.path("none"))
            #expect(none.status == 65 && none.lines.isEmpty)
        }
        #expect(try await Tool.run("reminders", "--journal", journal, "--next", "61").status == 64)
        #expect(try await Tool.run("routes", "--journal", journal, "--limit", "0").status == 64)
    }

    @Test(
        "reminders prints the newest 100 decisions, as JSON all that are kept; routes 20 taps",
        .limit("tool.decisions", "tool.routes"))
    func bounds() async throws {
        let folder = try TemporaryFolder()
        let taps = (0..<30).map {
            "('tap-\($0)', \(Self.now + Int64($0)), 'link', NULL, NULL, NULL, NULL, NULL, 0, NULL)"
        }
        let journal = try await folder.leftJournal(
            Self.reconciliation + """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2010)
                    INSERT INTO reminderDecision (at, what, request, entity, reason)
                    SELECT \(Self.now) + i, 'add', 'r' || i, 'g' || i, 'Because of ' || i || '.' FROM n;
                INSERT INTO reminderRoute VALUES \(taps.joined(separator: ", "));
                """)
        let shown = try await Tool.run("reminders", "--journal", journal, "--decisions")
        #expect(shown.lines.count { $0.contains("Because of") } == 100)
        #expect(shown.output.contains("Because of 2010.") && shown.output.contains("of 1911."))
        let json = try await Tool.run("reminders", "--journal", journal, "--decisions", "--json")
        let object = try JSONSerialization.jsonObject(with: Data(json.output.utf8))
        let all = (object as? [String: Any])?["decisions"] as? [Any]
        #expect(all?.count == 2_000)
        for (arguments, count) in [([], 20), (["--limit", "25"], 25)] as [([String], Int)] {
            let routes = try await Tool.run(
                ["routes", "--journal", journal, "--json"] + arguments)
            #expect(routes.lines.count == count)
        }
        for limit in ["0", "1001"] {
            let refused = try await Tool.run("routes", "--journal", journal, "--limit", limit)
            #expect(refused.status == 64)
        }
    }

    @Test("routes shows taps, newest first, with what they were and what became of them")
    func routes() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.leftJournal(
            """
            INSERT INTO reminderRoute VALUES
                ('tap-1', \(Self.now), 'tap', '{"sort":"goal","id":"g1","part":"q2","isTest":true}', NULL,
                 'active', '“Drink” is in use.', \(Self.now + 5), 2, \(Self.now + 400)),
                ('tap-2', \(Self.now + 1), 'action', '{"sort":"goal","id":"g\\u001b2","isTest":false}', 'log',
                 'deleted', 'The store has a tombstone of it.', \(Self.now + 5), 1, NULL),
                ('tap-3', \(Self.now + 2), 'link', NULL, NULL, NULL, NULL, NULL, 0, NULL);
            """)
        let shown = try await Tool.run("routes", "--journal", journal)
        #expect(shown.status == 0, "\(shown.error)")
        #expect(shown.lines.count == 6)
        #expect(shown.lines[0].hasSuffix("link  leads nowhere"))
        #expect(shown.lines[1].contains("waits: The app's store has not been asked yet"))
        #expect(shown.lines[2].hasSuffix("action log  goal/g\\u{1b}2"))
        #expect(
            shown.lines[3].contains("deleted: The store has a tombstone of it. Dispatched, not"))
        #expect(shown.lines[4].hasSuffix("tap  goal/g1/q2 (test)"))
        #expect(shown.lines[5].contains("“Drink” is in use. Presented after 0.4 s."))
        for line in shown.lines { #expect(line.columns <= 80, "\(line)") }
        let listed = try await Tool.run("routes", "--journal", journal, "--json", "--limit", "1")
        #expect(listed.lines.count == 1 && listed.output.contains(#""resolution":null"#))
    }
}
