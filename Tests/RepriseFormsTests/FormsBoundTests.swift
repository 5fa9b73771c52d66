import Foundation
import GRDB
import RepriseCore
import RepriseForms
import RepriseJournal
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Forms: bounds", .timeLimit(.minutes(1)))
struct FormsBoundTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(
        "A page of which 1,024 messages wait is heard; one that says more is replaced",
        arguments: [(1_000, 1), (1_100, 2)])
    func pageMessages(_ messages: Int, _ pages: Int) async throws {
        let host = StandInHost(.silent)
        let door = try await Door(in: folder, host)
        try await eventually("it is ready") { door.forms.state == .ready }
        let id = try await door.forms.received(tap("a"))
        try await eventually("the page has it") { host.views[0].told("events").count == 1 }
        // While the disk is slow nothing is read of what the page says: it asks for leave first.
        let (holds, goesOn) = (Seen<Bool>(), DispatchSemaphore(value: 0))
        let writing = Task { [journal = door.journal] in
            try await journal.write { _ in
                holds.add(true)
                goesOn.wait()
            }
        }
        try await eventually("the disk is busy") { !holds.all.isEmpty }
        let view = host.views[0]
        view.say("showing", ["event": id.text, "form": "welcome"])
        try await Task.sleep(for: .milliseconds(100))
        for number in 0..<messages { view.say("log", ["level": "info", "text": "\(number)"]) }
        try await Task.sleep(for: .milliseconds(100))
        goesOn.signal()
        try await writing.value
        if pages == 1 {
            try await door.ended(id, .applied, "shown welcome")
        } else {
            try await eventually("another page is made") { host.views.count == pages }
        }
        #expect(host.views.count == pages)
        await door.close()
    }

    @Test(
        "The catalogue is asked for at once, after failures with backoff to 5 minutes, then hourly")
    func catalogue() async throws {
        let time = ManualTimekeeper()
        let asked = Mutex(0)
        let fails = Mutex(true)
        let server = StandInServer { _ in
            asked.withLock { $0 += 1 }
            if fails.withLock({ $0 }) { throw RepriseError(.unreachable, "No network.") }
            return HTTPAnswer(status: 200, headers: [:], body: Array(Door.catalogue.utf8))
        }
        let door = try await Door(
            in: folder, StandInHost(),
            catalogue: CatalogueSource(server: "http://h", fetcher: server), timekeeper: time,
            jitter: { 1 })
        // What happens at the start may be a reason to ask again: from then on it is counted.
        try await eventually("it is asked") { asked.withLock { $0 } > 0 }
        try await Task.sleep(for: .milliseconds(300))
        var count = asked.withLock { $0 } - 1
        func waits(_ seconds: Int64) async throws {
            count += 1
            try await eventually("it is asked \(count) times, then waits \(seconds) s") {
                asked.withLock { $0 } == count
                    && time.sleepers.contains(time.uptime() + .seconds(seconds))
            }
        }
        while count < 12 {
            let wait = min(1 << Int64(count), 300) as Int64
            try await waits(wait)
            time.advance(by: .seconds(wait))
        }
        fails.withLock { $0 = false }
        try await waits(300)
        time.advance(by: .seconds(300))
        for _ in 0..<3 {
            try await waits(3_600)
            time.advance(by: .seconds(3_600))
        }
        try await waits(3_600)
        door.forms.refresh()
        try await waits(3_600)
        await door.close()
    }

    @Test(
        "A showing is kept as long as the longest cap counts, at least a day",
        arguments: [(3_600, 86_400), (172_800, 172_800)])
    func showings(_ cap: Int, _ kept: Int) async throws {
        let time = ManualTimekeeper()
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
        let door = try await Door(
            in: folder, StandInHost(manner), catalogue: CatalogueSource(catalogue: catalogue),
            timekeeper: time)
        let first = try await door.forms.received(tap("a"))
        try await door.ended(first, .applied, "shown welcome")
        time.advance(by: .seconds(kept - 7_200))
        let second = try await door.forms.received(tap("b"))
        try await door.ended(second, .applied, "shown welcome")
        #expect(try await door.count("SELECT COUNT(*) FROM formsShowing") == 2)
        time.advance(by: .seconds(3_600))  // an hourly look finds nothing
        let third = try await door.forms.received(tap("c"))
        try await door.ended(third, .applied, "shown welcome")
        #expect(try await door.count("SELECT COUNT(*) FROM formsShowing") == 3)
        time.advance(by: .seconds(7_200))
        try await eventually("the first has left") {
            try await door.count("SELECT COUNT(*) FROM formsShowing") == 2
        }
        #expect(
            try await door.count(
                "SELECT COUNT(*) FROM formsShowing WHERE entry = '\(first.text)'") == 0)
        await door.close()
    }
}
