import Foundation
import GRDB
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Periodic chains", .timeLimit(.minutes(1)))
struct ChainScheduleTests {
    private static let tidy = Chain<String>("tidy") { line in
        Work("a", Say.self) { _ in .init(line: line) }
    }
    private static let long = Chain<Bool>("long") { hangs in
        Work("a", Say.self) { _ in .init(line: "a", hangs: hangs) }
    }
    private static let hourly = ChainSchedule.every(.seconds(3_600))
    private static let nightly = ChainSchedule.calendar(
        Schedule(.daily, at: [TimeOfDay(3, 0)]))

    /// Lets almost so much time pass, then more until a condition holds.
    private func pass(
        _ wait: Duration, _ fixture: EngineFixture, until condition: () async throws -> Bool
    ) async throws {
        let time = try #require(fixture.time)
        time.advance(by: wait - .seconds(30))
        try await time.advance(by: .seconds(20), until: condition)
    }

    private func only(_ chains: Chains) async throws -> ChainScheduleStatus {
        let schedules = try await chains.schedules()
        #expect(schedules.count == 1)
        return try #require(schedules.first)
    }

    /// When the journal will dispatch the command of the schedule.
    private func due(_ fixture: EngineFixture) async throws -> WallTime? {
        let journal = try #require(fixture.journal)
        let due = try await journal.read { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT e.due FROM entry AS e JOIN chainSchedule AS s ON s.entry = e.id
                    WHERE e.state = 2
                    """)
        }
        return due.map { WallTime(milliseconds: $0) }
    }

    @Test(
        "A schedule that is set again is kept; another input or rule changes it, and the next time is returned"
    )
    func again() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        let chains = try await fixture.open([Self.tidy])
        func say(_ input: String, _ rule: ChainSchedule) async throws -> ChainScheduleChange {
            try await chains.schedule(Self.tidy, input: input, name: "tidy-up", runs: rule)
        }
        let start = time.now
        #expect(try await say("a", Self.hourly) == .added)
        time.advance(by: .seconds(600))
        #expect(try await say("a", Self.hourly) == .kept)
        #expect(try await say("b", Self.hourly) == .updated)
        #expect(try await only(chains).next == start.advanced(by: .seconds(3_600)))
        #expect(try await say("b", .every(.seconds(7_200))) == .updated)
        var status = try await only(chains)
        #expect(status.next == start.advanced(by: .seconds(7_200)))
        #expect(status.lastRun == nil && status.lastState == nil && status.reason == nil)
        #expect(status.schedule == .every(.seconds(7_200)) && status.definition == "tidy")

        try await pass(.seconds(6_600), fixture) { try await !chains.list().isEmpty }
        let run = try #require(try await chains.list().first)
        #expect(run.name == "tidy-up" && run.definition == "tidy")
        try await chains.wait(run.id, for: .succeeded)
        #expect(fixture.checker.all == ["b 1"])
        status = try await only(chains)
        #expect(status.lastRun == run.id && status.lastState == .succeeded)
        #expect(status.lastStartedAt == run.startedAt)
        #expect(status.next == run.startedAt.advanced(by: .seconds(7_200)))
        // Its result stays when the run has left.
        try await chains.delete(run.id)
        #expect(try await only(chains).lastState == .succeeded)
        await fixture.close()
    }

    @Test("One run makes up for all times that were missed while the app was dead")
    func missed() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        var chains = try await fixture.open([Self.tidy])
        try await chains.schedule(Self.tidy, input: "a", name: "tidy-up", runs: Self.hourly)
        await fixture.close()
        time.advance(by: .seconds(36_000))
        chains = try await fixture.open([Self.tidy])
        try await eventually("it ran") { try await chains.list().first?.state == .succeeded }
        // No time passes any more.
        let status = try await only(chains)
        #expect(status.lastStartedAt == time.now && status.skipped == 0)
        #expect(status.next == time.now.advanced(by: .seconds(3_600)))
        #expect(try await chains.list().count == 1)
        await fixture.close()
    }

    @Test(
        "While a run is under way no other begins: its time is skipped, and counted",
        .limit("chains.schedules"))
    func overlap() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let chains = try await fixture.open([Self.long])
        try await chains.schedule(Self.long, input: true, name: "long", runs: Self.hourly)
        try await pass(.seconds(3_600), fixture) { fixture.checker.count == 1 }
        try await pass(.seconds(3_600), fixture) { try await only(chains).skipped > 0 }
        let runs = try await chains.list()
        #expect(runs.count == 1 && runs.first?.state == .running)
        let run = try #require(runs.first?.id)
        #expect(try await only(chains).lastRun == run)
        try await chains.cancel(run)
        try await chains.wait(run, for: .cancelled)
        #expect(try await only(chains).lastState == .cancelled)
        try await pass(.seconds(3_600), fixture) { try await chains.list().count == 2 }
        await fixture.close()
    }

    @Test("A calendar that is set back does not lengthen an interval")
    func intervalSetBack() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        let chains = try await fixture.open([Self.tidy])
        try await chains.schedule(Self.tidy, input: "a", name: "tidy-up", runs: Self.hourly)
        let start = time.uptime()
        time.advance(by: .seconds(1_800))
        time.jumpWall(by: .seconds(-7_200))
        try await pass(.seconds(1_800), fixture) { try await !chains.list().isEmpty }
        #expect(time.uptime() - start < .seconds(5_400))
        #expect(try await chains.list().count == 1)
        await fixture.close()
    }

    @Test("A time of day that a set clock passes comes at once, and not again when it is set back")
    func calendarSet() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        // 08:00 in London, in winter.
        time.setWall(milliseconds: 1_800_000_000_000)
        let chains = try await fixture.open([Self.tidy]) { $0.zone = { .gmt } }
        func say() async throws -> ChainScheduleChange {
            try await chains.schedule(Self.tidy, input: "a", name: "tidy-up", runs: Self.nightly)
        }
        #expect(try await say() == .added)
        let first = time.now.advanced(by: .seconds(19 * 3_600))
        #expect(try await due(fixture) == first)
        time.jumpWall(by: .seconds(20 * 3_600))
        // A transaction notices it.
        #expect(try await say() == .kept)
        try await eventually("it ran") { try await chains.list().first?.state == .succeeded }
        let next = first.advanced(by: .seconds(86_400))
        #expect(try await only(chains).next == next)

        time.jumpWall(by: .seconds(-2 * 3_600))
        #expect(try await say() == .kept)
        try await eventually("it waits for the next night") { try await due(fixture) == next }
        #expect(try await chains.list().count == 1)
        await fixture.close()
    }

    @Test(
        "A time of day that a set clock passes comes within an hour, also where nothing is written",
        .limit("journal.clocks"))
    func calendarSetUnseen() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        time.setWall(milliseconds: 1_800_000_000_000)
        let chains = try await fixture.open([Self.tidy]) { $0.zone = { .gmt } }
        try await chains.schedule(Self.tidy, input: "a", name: "tidy-up", runs: Self.nightly)
        let start = time.uptime()
        time.jumpWall(by: .seconds(20 * 3_600))
        try await pass(.seconds(3_600), fixture) { try await !chains.list().isEmpty }
        #expect(time.uptime() - start < .seconds(3_700))
        await fixture.close()
    }

    /// Lets no schedule be written.
    private static let noRoom = """
        CREATE TRIGGER noRoom BEFORE UPDATE ON chainSchedule
        BEGIN SELECT RAISE(ABORT, 'full'); END
        """

    @Test(
        "Times that cannot be corrected on a full disk are corrected once there is room",
        .limit("chains.review"))
    func fullDisk() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        time.setWall(milliseconds: 1_800_000_000_000)
        let failures = Seen<Bool>()
        let chains = try await fixture.open([Self.tidy]) {
            $0.zone = { .gmt }
            // Drawn for the wait after each.
            $0.jitter = {
                failures.add(true)
                return 1
            }
        }
        try await chains.schedule(Self.tidy, input: "a", name: "tidy-up", runs: Self.nightly)
        let journal = try #require(fixture.journal)
        // A start that cannot correct them ends the run.
        try await eventually("chains run") { journal.isOpen(Chains.readiness) }
        try await journal.write { try $0.execute(sql: Self.noRoom) }
        time.jumpWall(by: .seconds(20 * 3_600))
        // A transaction notices it.
        try await journal.write { _ in }
        try await eventually("the correction fails") { failures.count == 1 }
        let start = time.uptime()
        try await time.advance(by: .seconds(1)) { failures.count == 8 }
        #expect(time.uptime() - start > .seconds(30), "the waits become longer")
        try await journal.write { try $0.execute(sql: "DROP TRIGGER noRoom") }
        try await time.advance(by: .seconds(1)) {
            try await chains.list().first?.state == .succeeded
        }
        #expect(time.uptime() - start < .seconds(100))
        #expect(try await chains.list().count == 1)
        await fixture.close()
    }

    @Test("The zone of a device that travels counts when the app comes to the foreground")
    func zone() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        time.setWall(milliseconds: 1_800_000_000_000)
        let zones = Seen<TimeZone>()
        zones.add(.gmt)
        let chains = try await fixture.open([Self.tidy]) {
            $0.zone = { zones.all.last ?? .gmt }
        }
        try await chains.schedule(Self.tidy, input: "a", name: "tidy-up", runs: Self.nightly)
        let first = time.now.advanced(by: .seconds(19 * 3_600))
        #expect(try await only(chains).next == first)
        zones.add(try #require(TimeZone(secondsFromGMT: 2 * 3_600)))
        await chains.foreground()
        #expect(try await only(chains).next == first.advanced(by: .seconds(-2 * 3_600)))
        #expect(try await due(fixture) == first.advanced(by: .seconds(-2 * 3_600)))
        await fixture.close()
    }

    @Test("A run that cannot be written waits for its next time in the time zone of that moment")
    func zoneOfAnotherTry() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        time.setWall(milliseconds: 1_800_000_000_000)
        let zones = Seen<TimeZone>()
        zones.add(.gmt)
        let failures = Seen<Bool>()
        let chains = try await fixture.open([Self.tidy]) {
            $0.zone = { zones.all.last ?? .gmt }
        } journal: {
            // Drawn for the wait after each.
            $0.jitter = {
                failures.add(true)
                return 1
            }
        }
        try await chains.schedule(Self.tidy, input: "a", name: "tidy-up", runs: Self.nightly)
        let first = time.now.advanced(by: .seconds(19 * 3_600))
        let journal = try #require(fixture.journal)
        try await journal.write { try $0.execute(sql: Self.noRoom) }
        try await pass(.seconds(19 * 3_600), fixture) { failures.count > 0 }
        zones.add(try #require(TimeZone(secondsFromGMT: 2 * 3_600)))
        try await journal.write { try $0.execute(sql: "DROP TRIGGER noRoom") }
        try await time.advance(by: .seconds(1)) { try await !chains.list().isEmpty }
        #expect(try await only(chains).next == first.advanced(by: .seconds(22 * 3_600)))
        await fixture.close()
    }

    @Test("Another time of day counts from now on: one that is over today comes tomorrow")
    func otherTime() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        time.setWall(milliseconds: 1_800_000_000_000)
        let chains = try await fixture.open([Self.tidy]) { $0.zone = { .gmt } }
        try await chains.schedule(Self.tidy, input: "a", name: "tidy-up", runs: Self.nightly)
        time.advance(by: .seconds(3_600))
        let morning = ChainSchedule.calendar(Schedule(.daily, at: [TimeOfDay(8, 30)]))
        let change = try await chains.schedule(
            Self.tidy, input: "a", name: "tidy-up", runs: morning)
        #expect(change == .updated)
        let tomorrow = WallTime(milliseconds: 1_800_000_000_000).advanced(
            by: .seconds(86_400 + 1_800))
        #expect(try await only(chains).next == tomorrow)
        await fixture.close()
    }

    @Test("A rule of another kind counts from now, also after the clock was set forward")
    func otherKind() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        // 08:00 in London, in winter.
        time.setWall(milliseconds: 1_800_000_000_000)
        let chains = try await fixture.open([Self.tidy]) { $0.zone = { .gmt } }
        func say(_ rule: ChainSchedule) async throws -> ChainScheduleChange {
            try await chains.schedule(Self.tidy, input: "a", name: "tidy-up", runs: rule)
        }
        #expect(try await say(Self.nightly) == .added)
        time.jumpWall(by: .seconds(10 * 3_600))
        #expect(try await say(Self.hourly) == .updated)
        let anHour = time.now.advanced(by: .seconds(3_600))
        #expect(try await only(chains).next == anHour)
        #expect(try await due(fixture) == anHour)

        // 20 hours ahead a night comes; the clock is right again before an interval becomes a
        // calendar rule.
        let night = WallTime(milliseconds: 1_800_000_000_000 + 19 * 3_600_000)
        #expect(try await say(Self.nightly) == .updated)
        time.jumpWall(by: .seconds(10 * 3_600))
        #expect(try await say(Self.nightly) == .kept)
        try await eventually("it ran") { try await chains.list().first?.state == .succeeded }
        #expect(try await say(Self.hourly) == .updated)
        time.jumpWall(by: .seconds(-20 * 3_600))
        #expect(try await say(Self.nightly) == .updated)
        #expect(try await due(fixture) == night)
        #expect(try await chains.list().count == 1)
        await fixture.close()
    }

    @Test(
        "A run with an input that was replaced before its start does not begin, and the next has the new input"
    )
    func formerInput() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        let chains = try await fixture.open([Self.tidy], runs: false)
        func say(_ input: String) async throws {
            try await chains.schedule(Self.tidy, input: input, name: "tidy-up", runs: Self.hourly)
        }
        func made() async throws -> (entry: EntryID, run: Result<NewChain, any Error>) {
            let journal = try #require(fixture.journal)
            let found = try await journal.read { try ScheduleRow.read("tidy-up", $0) }
            let row = try #require(found)
            let entry = EntryID(unchecked: try #require(row.entry))
            return (entry, Result { try row.newRun(Self.tidy) { _ in true } })
        }
        func came(_ made: (entry: EntryID, run: Result<NewChain, any Error>)) async throws {
            let journal = try #require(fixture.journal)
            try await journal.write { db in
                try ChainSchedules.came(
                    made.entry, of: "tidy-up", made.run, in: .gmt, db, journal)
            }
        }
        try await say("a")
        let next = try await only(chains).next
        time.advance(by: .seconds(3_600))
        let former = try await made()
        try await say("b")
        #expect(try await only(chains).next == next)
        try await came(former)
        #expect(try await chains.list().isEmpty)
        try await came(try await made())
        #expect(try await chains.list().count == 1)
        await fixture.close()
    }

    @Test(
        "A slot that waits for a due time is complete once that time is removed or replaced",
        arguments: [false, true])
    func slotAndRemoval(isChanged: Bool) async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        let chains = try await fixture.open([Self.tidy], runs: false)
        let journal = try #require(fixture.journal)
        try await chains.schedule(Self.tidy, input: "a", name: "tidy-up", runs: Self.hourly)
        time.advance(by: .seconds(3_600))
        let slot = MemorySlot("reprise.chains")
        async let used: Void = chains.slot(slot)
        // Nobody takes the command: the slot waits.
        for _ in 0..<100 { try await journal.write { _ in } }
        #expect(slot.completed.isEmpty)
        if isChanged {
            try await chains.schedule(
                Self.tidy, input: "a", name: "tidy-up", runs: .every(.seconds(7_200)))
        } else {
            try await chains.unschedule("tidy-up")
        }
        await used
        #expect(slot.completed == [true])
        await fixture.close()
    }

    @Test(
        "A schedule without its definition is suspended, and runs once when the app registers it again"
    )
    func definitionGone() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        var chains = try await fixture.open([Self.tidy])
        try await chains.schedule(Self.tidy, input: "a", name: "tidy-up", runs: Self.hourly)
        await fixture.close()
        time.advance(by: .seconds(7_200))
        chains = try await fixture.open([Self.long])
        try await eventually("it is suspended") { try await only(chains).reason != nil }
        let status = try await only(chains)
        #expect(status.reason?.contains("No chain named tidy") == true && status.next == nil)
        #expect(try await chains.list().isEmpty)
        await fixture.close()
        chains = try await fixture.open([Self.tidy])
        try await eventually("it ran") { try await chains.list().first?.state == .succeeded }
        #expect(try await chains.list().count == 1)
        #expect(try await only(chains).reason == nil)
        await fixture.close()
    }

    @Test("A time whose command is a dead letter is given up, and the next one comes")
    func deadLetter() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        var chains = try await fixture.open([Self.tidy])
        try await chains.schedule(Self.tidy, input: "a", name: "tidy-up", runs: Self.hourly)
        await fixture.close()
        // As if the process had died each time that the run was to begin.
        try fixture.sqlite(
            """
            UPDATE entry SET state = 13, due = NULL
            WHERE id = (SELECT entry FROM chainSchedule)
            """)
        time.advance(by: .seconds(7_200))
        chains = try await fixture.open([Self.tidy])
        let next = time.now.advanced(by: .seconds(3_600))
        try await eventually("it waits for the next time") { try await due(fixture) == next }
        #expect(try await only(chains).next == next)
        #expect(try await chains.list().isEmpty)
        try await pass(.seconds(3_600), fixture) { try await chains.list().count == 1 }
        await fixture.close()
    }

    @Test("A schedule whose last time is damaged runs at once, and then by its rule")
    func damagedTime() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        var chains = try await fixture.open([Self.tidy])
        try await chains.schedule(Self.tidy, input: "a", name: "tidy-up", runs: Self.hourly)
        await fixture.close()
        try fixture.sqlite("UPDATE chainSchedule SET since = -9223372036854775808")
        chains = try await fixture.open([Self.tidy])
        try await eventually("it ran") { try await chains.list().first?.state == .succeeded }
        #expect(try await only(chains).next == time.now.advanced(by: .seconds(3_600)))
        await fixture.close()
    }

    @Test("A removed schedule starts no run, and a run under way goes on; it can be added again")
    func removed() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let chains = try await fixture.open([Self.long])
        try await chains.schedule(Self.long, input: true, name: "long", runs: Self.hourly)
        try await pass(.seconds(3_600), fixture) { fixture.checker.count == 1 }
        #expect(try await chains.unschedule("long"))
        #expect(try await !chains.unschedule("long"))
        #expect(try await chains.schedules().isEmpty)
        let run = try #require(try await chains.list().first)
        #expect(run.state == .running)
        let journal = try #require(fixture.journal)
        let delayed = try await journal.read { db in
            try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM entry WHERE state = 2")
        }
        #expect(delayed == 0)
        try await chains.cancel(run.id)
        try await chains.wait(run.id, for: .cancelled)
        let change = try await chains.schedule(
            Self.long, input: false, name: "long", runs: Self.hourly)
        #expect(change == .added)
        try await pass(.seconds(3_600), fixture) { try await chains.list().count == 2 }
        await fixture.close()
    }

    @Test("The system is asked for time when the next run is due, and a slot then has it")
    func background() async throws {
        let fixture = try EngineFixture(manualTime: true)
        let time = try #require(fixture.time)
        let scheduler = MemoryScheduler(clock: time)
        let chains = try await fixture.open([Self.tidy], scheduler: scheduler)
        try await chains.schedule(
            Self.tidy, input: "a", name: "tidy-up", runs: Self.hourly,
            constraints: ChainConstraints(unmetered: true))
        let next = try #require(try await only(chains).next)
        await chains.background(granted: .seconds(5))
        let asked = try #require(scheduler.asked.last)
        #expect(asked.earliest == next)
        #expect(asked.kind == .processing(needsNetwork: true, needsPower: false))
        #expect(throws: RepriseError.self) { _ = try scheduler.grant("reprise.chains") }

        time.advance(by: .seconds(3_600))
        let slot = try scheduler.grant("reprise.chains")
        async let used: Void = chains.slot(slot)
        // The journal's timer may be set only now.
        try await time.advance(by: .seconds(60)) { slot.completed == [true] }
        await used
        let states = try await chains.list().map { $0.state }
        #expect(states == [.succeeded])
        let again = try await only(chains).next
        #expect(again != next && scheduler.asked.last?.earliest == again)
        await fixture.close()
    }

    @Test(
        "An interval has 15 minutes at least, a name 64 bytes, and there are 100 schedules at most",
        .limit("chains.schedules", "chains.interval"))
    func limits() async throws {
        let fixture = try EngineFixture()
        let chains = try await fixture.open([Self.tidy], runs: false)
        func say(_ name: String, _ rule: ChainSchedule) async throws {
            try await chains.schedule(Self.tidy, input: "a", name: name, runs: rule)
        }
        for rule in [
            ChainSchedule.every(.milliseconds(899_999)), .every(.seconds(-1)),
            .every(.seconds(3_650 * 86_400 + 1)), .calendar(Schedule(.daily, at: [])),
            .calendar(Schedule(.daily, at: (0..<25).map { TimeOfDay($0 % 24, $0) })),
        ] {
            await expectError(.malformed) { try await say("a", rule) }
        }
        for name in ["", String(repeating: "n", count: 65)] {
            await expectError(.malformed) { try await say(name, Self.hourly) }
        }
        await expectError(.badConfiguration) {
            try await chains.schedule(Self.long, input: true, name: "a", runs: Self.hourly)
        }
        #expect(try await chains.schedules().isEmpty)
        for number in 1...100 { try await say("n\(number)", .every(.seconds(900))) }
        await expectError(.full) { try await say("n101", Self.hourly) }
        // One that is there can be changed.
        try await say("n100", Self.hourly)
        #expect(try await chains.schedules().count == 100)
        await fixture.close()
    }
}
