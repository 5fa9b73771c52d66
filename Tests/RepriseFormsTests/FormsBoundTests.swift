import Foundation
import GRDB
import RepriseCore
import RepriseForms
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Forms: bounds", .timeLimit(.minutes(1)))
struct FormsBoundTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(
        "A showing is kept as long as the longest cap counts, at least a day",
        .limit("forms.showings"),
        arguments: [(3_600, 86_400), (172_800, 172_800)])
    func showings(_ cap: Int, _ kept: Int) async throws {
        let time = ManualClock()
        let catalogue = """
            {"format": "forms/1", "version": "1", "forms": [
                {"id": "welcome", "triggers": [{"event": "opened_push"}], "title": "Welcome",
                 "frequency": {"max": 9, "seconds": \(cap)}}]}
            """
        var manner = StandInView.Manner.showing("welcome")
        manner.granted = { view, message in
            view.say("formDidAppear", message)
            view.say(
                "formDidDismiss",
                ["form": "welcome", "showing": message["showing"] ?? "", "how": "close"])
        }
        let feature = try await FormsFixture(
            in: folder, StandInHost(manner), catalogue: CatalogueSource(catalogue: catalogue),
            timekeeper: time)
        let first = try await feature.forms.received(tap("a"))
        try await feature.ended(first, .applied, "shown welcome")
        time.advance(by: .seconds(kept - 7_200))
        let second = try await feature.forms.received(tap("b"))
        try await feature.ended(second, .applied, "shown welcome")
        #expect(try await feature.count("SELECT COUNT(*) FROM formsShowing") == 2)
        time.advance(by: .seconds(3_600))  // an hourly look finds nothing
        let third = try await feature.forms.received(tap("c"))
        try await feature.ended(third, .applied, "shown welcome")
        #expect(try await feature.count("SELECT COUNT(*) FROM formsShowing") == 3)
        time.advance(by: .seconds(7_200))
        try await eventually("the first has left") {
            try await feature.count("SELECT COUNT(*) FROM formsShowing") == 2
        }
        #expect(
            try await feature.count(
                "SELECT COUNT(*) FROM formsShowing WHERE entry = '\(first.text)'") == 0)
        await feature.close()
    }

    /// It says nothing of a form that it may show either, while all that may wait waits.
    private static var mute: StandInView.Manner {
        var manner = StandInView.Manner.silent
        manner.granted = { _, _ in }
        return manner
    }

    /// Has a page say so many messages while the feature waits for the screen.
    private func sing(
        _ count: Int, _ view: StandInView, of id: EntryID, _ stuck: StuckHost
    ) async throws {
        stuck.stick()
        view.say("showing", ["event": id.text, "form": "welcome"])
        try await eventually("the feature waits for the screen") { stuck.waiting == 1 }
        for number in 1...count { view.say("sing", ["song": number]) }
        // With its hello and its catalogue's version three came before; asked for more is who has
        // put the last one down.
        try await eventually("all of it has come, or too much") {
            stuck.asked == count + 4 || !stuck.isRead
        }
        #expect(stuck.isRead == (count == 1_024))
        stuck.letGo()
    }

    @Test(
        "At most 1,024 messages of a page wait to be read; with one more it is replaced",
        .limit("forms.pageMessages"),
        arguments: [1_024, 1_025])
    func talkativePage(_ count: Int) async throws {
        let host = StandInHost(Self.mute)
        let stuck = StuckHost(host, at: .showing)
        let feature = try await FormsFixture(in: folder, stuck)
        let id = try await feature.forms.received(tap("a"))
        try await eventually("the page has it") {
            host.views.first?.told("events").count == 1
        }
        try await sing(count, try #require(host.views.first), of: id, stuck)
        if count > 1_024 {
            try await eventually("there is another page") { host.views.count == 2 }
        } else {
            try await eventually("it is heard out") {
                await feature.forms.diagnostics.tally.unknown == count
            }
            let fault = await feature.forms.diagnostics.tally.lastFault
            #expect(fault == nil)
        }
        await feature.close()
    }

    @Test(
        "After a page that said too much, 1,024 messages of the next one may wait as well",
        .limit("forms.pageMessages"))
    func pageAfterTalkativeOne() async throws {
        let host = StandInHost(Self.mute)
        let stuck = StuckHost(host, at: .showing)
        let feature = try await FormsFixture(in: folder, stuck)
        let id = try await feature.forms.received(tap("a"))
        for (index, count) in [1_025, 1_024].enumerated() {
            try await eventually("the page has it, and the former one is closed") {
                host.views.dropFirst(index).first?.told("events").count == 1
                    && host.views.prefix(index).allSatisfy(\.isClosed)
            }
            try await sing(count, host.views[index], of: id, stuck)
        }
        try await eventually("what waited is heard out") {
            await feature.forms.diagnostics.tally.unknown == 2_048
        }
        #expect(await feature.forms.diagnostics.tally.replacements == 1)
        await feature.close()
    }

    @Test("A page for which 1,025 messages wait is replaced", .limit("forms.pageMessages"))
    func deafPage() async throws {
        let host = StandInHost(.silent)
        let stuck = StuckHost(host, at: .sending)
        let feature = try await FormsFixture(in: folder, stuck)
        _ = try await feature.forms.received(tap("a"))
        try await eventually("the page has it") {
            host.views.first?.told("events").count == 1
        }
        let view = try #require(host.views.first)
        stuck.stick()
        let id = String(repeating: "c", count: 32)
        // Each is refused, in small numbers: as many as that may wait to be read. One answer is on
        // its way, 1,024 wait.
        for number in 1...1_025 {
            view.say("submit", ["form": "welcome", "showing": "no", "id": id, "answers": [:]])
            guard number.isMultiple(of: 205) else { continue }
            view.say("sing", ["song": number])
            try await eventually("they are read") {
                await feature.forms.diagnostics.tally.unknown == number / 205
            }
        }
        #expect(await feature.forms.diagnostics.tally.replacements == 0)
        view.say("submit", ["form": "welcome", "showing": "no", "id": id, "answers": [:]])
        try await eventually("there is another page") { host.views.count == 2 }
        stuck.letGo()
        await feature.close()
    }

    @Test("A page that does not close keeps the end of a run for 5 s", .limit("forms.close"))
    func pageThatStays() async throws {
        let time = ManualClock()
        let host = StandInHost(.silent)
        let stuck = StuckHost(host, at: .closing)
        let feature = try await FormsFixture(
            in: folder, stuck, timekeeper: time, isJournalTimed: false)
        _ = try await feature.forms.received(tap("a"))
        try await eventually("the page has it") {
            host.views.first?.told("events").count == 1
        }
        stuck.stick()
        let due = time.uptime() + .seconds(5)
        let ending = Task { await feature.close() }
        try await eventually("it waits for the page") {
            stuck.waiting == 1 && time.sleepers.contains(due)
        }
        time.advance(by: .seconds(5))
        await ending.value
        stuck.letGo()
    }

    @Test(
        "The catalogue is asked for at the start and hourly, and after a failure with waits that double up to five minutes",
        .limit("forms.refresh")
    )
    func asking() async throws {
        let time = ManualClock()
        let asked = Mutex<(moments: [Duration], fails: Bool)>(([], true))
        let server = StandInServer { _ in
            let fails = asked.withLock { asked in
                asked.moments.append(time.uptime())
                return asked.fails
            }
            if fails { throw RepriseError(.unreachable, "Slow.") }
            return HTTPAnswer(status: 200, headers: [:], body: Array(FormsFixture.catalogue.utf8))
        }
        let feature = try await FormsFixture(
            in: folder, StandInHost(),
            catalogue: CatalogueSource(server: "http://h", transport: server), timekeeper: time,
            isJournalTimed: false, jitter: { 1 - .ulpOfOne })
        try await eventually("it is asked for at the start") {
            asked.withLock { $0.moments.count } == 1
        }
        let expected: [Int64] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 3_600, 3_600]
        for (index, wait) in expected.enumerated() {
            if index == 10 { asked.withLock { $0.fails = false } }
            let due = time.uptime() + .seconds(wait)
            // Drawn from all that is less, by a hair.
            try await eventually("it waits for \(wait) s") {
                time.sleepers.contains { $0 <= due && $0 > due - .milliseconds(1) }
            }
            #expect(asked.withLock { $0.moments.count } == index + 1)
            time.advance(by: .seconds(wait))
            try await eventually("it is asked for again after \(wait) s") {
                asked.withLock { $0.moments.count } == index + 2
            }
        }
        await feature.close()
    }
}
