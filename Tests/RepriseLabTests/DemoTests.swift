import Foundation
import RepriseCore
import RepriseSimulator
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseLab

@Suite("demo")
struct DemoTests {
    @Test("a short one ends with nothing lost and nothing repeated")
    func short() async throws {
        let result = try await LabTool.run(
            ["demo", "kill", "--messages", "1200", "--kills", "3", "--seed", "5", "--json"],
            limit: 90)
        #expect(result.status == 0, "\(result.error) \(result.output)")
        let report = try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
        #expect(report["acknowledged"] as? Int == 1_200)
        #expect(report["passed"] as? Bool == true)
        let sink = try #require(report["transaction"] as? [String: Int])
        #expect(sink == ["applied": 1_200, "repeated": 0, "lost": 0])
    }

    @Test("the demo's output fits into 80 columns and has no colours in a pipe")
    func columns() async throws {
        let result = try await LabTool.run(
            ["demo", "kill", "--messages", "600", "--kills", "2", "--seed", "5"], limit: 90)
        #expect(result.status == 0, "\(result.error) \(result.output)")
        #expect(!result.output.contains("\u{1b}"))
        for line in result.output.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }

    @Test(
        "a message not acknowledged, lost in the file, lost or repeated in the table: each fails",
        arguments: [
            (0, 0, 0, 0, true), (1, 0, 0, 0, false), (0, 1, 0, 0, false), (0, 0, 1, 0, false),
            (0, 0, 0, 1, false),
        ])
    func expectations(missing: Int, lost: Int, sunk: Int, again: Int, isKept: Bool) {
        let demo = KillDemo(seed: 1, messages: 9, kills: 2, settings: DemoSettings())
        let evidence = KillDemo.Evidence(
            published: 9, acknowledged: 9 - missing, ours: DeviceEvidence(again: 3, lost: lost),
            naive: DeviceEvidence(lost: 9), sink: DeviceEvidence(again: again, lost: sunk))
        #expect(demo.report(evidence, perSecond: 1, took: .zero).hasPassed == isKept)
    }

    @Test("Ctrl-C ends it, and leaves neither processes nor files behind")
    func interrupted() async throws {
        let folder = try TemporaryFolder()
        let tool = try RunningTool(
            ["demo", "kill", "--kills", "12"], program: .lab,
            environment: ["TMPDIR": folder.url.path])
        try await tool.wait("the first kill") { $0.contains("1 of 12") }
        tool.signal(SIGINT)
        #expect(await tool.end() == 1)
        #expect(tool.error.contains("Interrupted"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == [])
    }

    @Test("the same seed draws the same kills, another seed others")
    func schedule() {
        func schedule(_ seed: UInt64) -> KillSchedule {
            var generator = SeededGenerator(seed: seed)
            return KillSchedule(messages: 20_000, deviceKills: 12, using: &generator)
        }
        #expect(schedule(1) == schedule(1))
        #expect(schedule(1) != schedule(2))
        for seed in 0..<200 as Range<UInt64> {
            let bursts = schedule(seed).bursts
            #expect(bursts.map(\.messages).reduce(0, +) == 20_000)
            #expect(bursts.count { if case .devices = $0.kill { true } else { false } } == 12)
            #expect(bursts.count { if case .server = $0.kill { true } else { false } } == 1)
            #expect(bursts.last?.kill == nil)
        }
    }

    @Test(
        "the naive device loses what case-catch-up says it loses: 200 comes live before 180, and 180 is gone"
    )
    func naiveLosesHoles() {
        var naive = OriginalSyncState(highest: 0)
        naive.enableCatchUpMode()
        let early = naive.accepts(156)
        naive.disableCatchUpMode()
        let live = naive.accepts(200)
        let late = naive.accepts(180)
        #expect([early, live, late] == [true, true, false])
        #expect(naive.highest == 200, "it never asks for it again")
    }

    @Test(
        "the naive device is no straw man: while it catches up it takes everything in any order, once"
    )
    func naiveCatchesUp() {
        var naive = OriginalSyncState(highest: 0)
        naive.enableCatchUpMode()
        let accepted = [156, 200, 180, 155, 190, 180].map { naive.accepts($0) }
        #expect(accepted == [true, true, true, true, true, false])
    }

    @Test(
        "the observer counts distinct messages, repetitions and attempts, whatever piece it reads")
    func effectLog() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("effects")
        let file = try LineFile(effects: path)
        var log = EffectLog(path)
        let a = try EntryID("a")
        file.append(seq: 1, id: a, attempt: 1)
        try log.update()
        file.append(seq: 1, id: a, attempt: 2)
        file.append(seq: 2, id: try EntryID("b"), attempt: 1)
        try log.update()
        try log.update()
        #expect(log.ids.count == 2)
        #expect(log.repeated == 1)
        #expect(log.laterAttempts == 1)
    }
}
