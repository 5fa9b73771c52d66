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
