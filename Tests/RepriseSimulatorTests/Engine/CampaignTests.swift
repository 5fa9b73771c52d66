import RepriseCore
import RepriseSimulator
import Synchronization
import Testing

@Suite("Campaign")
struct CampaignTests {
    @Test("a run repeats itself, line by line")
    func repeats() {
        let schedule = Relay().schedule(seed: 11)
        let once = Relay().run(schedule, isTracing: true)
        let again = Relay().run(schedule, isTracing: true)
        #expect(!once.lines.isEmpty)
        #expect(once.lines == again.lines && once.steps == again.steps)
        #expect(once.violation == nil)
    }

    @Test("a defect is found, shrunk to what it needs, and replayed from its options")
    func detection() throws {
        let found = try #require(
            Relay().detection(of: .acknowledgeBeforeCommit, seeds: 1..<100))
        #expect(found.violation.invariant == .recorded)
        #expect(found.shrunk.faults.count <= 1 && found.shrunk.devices == 1)
        #expect(found.shrunk.messages < found.whole.messages)
        #expect(found.lines.last?.what.contains("VIOLATED INVARIANT") == true)
        let options = found.shrunk.options(reducedFrom: found.whole)
        #expect(options.hasPrefix("--trace \(found.whole.seed) --devices 1 --messages"))
        let replayed = Relay().run(found.shrunk, mutation: .acknowledgeBeforeCommit)
        #expect(replayed.violation == found.violation)
    }

    @Test("all seeds are played once, on two threads, and what was met is counted")
    func campaign() async {
        let heard = Mutex(0)
        let report = await Campaign(workload: Relay(), seeds: 1..<101, jobs: 2).run { _ in
            heard.withLock { $0 += 1 }
        }
        #expect(report.schedules == 100 && report.failure == nil)
        #expect(heard.withLock { $0 } == 100)
        #expect(report.devices.least == 2 && report.messages.least >= 50)
        #expect(report.faults.least >= 3)
        #expect((report.schedulesWith[.killDevice] ?? 0) > 50)
        let alone = await Campaign(workload: Relay(), seeds: 1..<101).run()
        #expect(alone.steps == report.steps && alone.schedulesWith == report.schedulesWith)
    }

    @Test("a campaign ends with the first failure, and names the least seed")
    func failure() async throws {
        let report = await Campaign(
            workload: Relay(), seeds: 1..<10_001, mutation: .widenPrev, jobs: 2
        ).run()
        let failure = try #require(report.failure)
        #expect(report.schedules < 200)
        let alone = await Campaign(workload: Relay(), seeds: 1..<10_001, mutation: .widenPrev)
            .run()
        #expect(alone.failure?.schedule == failure.schedule)
    }

    @Test("a timeline fits into 80 columns")
    func timeline() {
        let line = TraceLine(
            at: .milliseconds(93_784_567), who: "device 1",
            what: (0..<40).map { "word\($0)" }.joined(separator: " "))
        let lines = [line].timeline()
        #expect(lines.count > 1 && lines.allSatisfy { $0.count <= 80 })
        #expect(lines[0].contains("1d 02:03:04.567  device 1  word0"))
    }
}
