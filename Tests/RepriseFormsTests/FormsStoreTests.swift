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

@Suite("Forms: catalogues, identity and answers")
struct FormsStoreTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("A cold start without a network shows the form of the catalogue that was there last")
    func offline() async throws {
        let online = StandInServer { headers in
            HTTPAnswer(
                status: headers["if-none-match"] == nil ? 200 : 304,
                headers: ["etag": "\"1\""], body: Array(FormsFixture.catalogue.utf8))
        }
        let first = try await FormsFixture(
            in: folder, StandInHost(),
            catalogue: CatalogueSource(server: "http://h", transport: online))
        try await eventually("it is kept") {
            try await first.count("SELECT COUNT(*) FROM formsCatalogue WHERE etag = '\"1\"'") == 1
        }
        await first.close()
        let offline = StandInServer { _ in throw RepriseError(.unreachable, "No network.") }
        let feature = try await FormsFixture(
            in: folder, StandInHost(.showing("welcome")),
            catalogue: CatalogueSource(server: "http://h", transport: offline))
        let id = try await feature.forms.received(tap("a"))
        try await feature.ended(id, .applied, "shown welcome")
        try await eventually("it says why") {
            await feature.forms.diagnostics.catalogueFault != nil
        }
        await feature.close()
    }

    @Test("Without any catalogue events wait, and go when it comes")
    func catalogueAfter() async throws {
        let isThere = Mutex(false)
        let server = StandInServer { _ in
            guard isThere.withLock({ $0 }) else { throw RepriseError(.unreachable, "Slow.") }
            return HTTPAnswer(status: 200, headers: [:], body: Array(FormsFixture.catalogue.utf8))
        }
        let host = StandInHost(.showing("welcome"))
        let feature = try await FormsFixture(
            in: folder, host, catalogue: CatalogueSource(server: "http://h", transport: server))
        let id = try await feature.forms.received(tap("a"))
        try await eventually("it waits") { feature.forms.state == .waitingForCatalogue }
        #expect(host.views[0].told("events").isEmpty)
        isThere.withLock { $0 = true }
        feature.forms.refresh()
        try await feature.ended(id, .applied, "shown welcome")
        await feature.close()
    }

    @Test(
        "A calendar that is set just before a showing is written down makes no cap last for years",
        arguments: [-3, 3])
    func calendarBeforeCommit(years: Int64) async throws {
        let time = ManualClock()
        let feature = try await FormsFixture(in: folder, nil, timekeeper: time)
        let catalogue = try FormsCatalogue(
            Array(FormsFixture.catalogue.replacing("\"max\": 2", with: "\"max\": 1").utf8))
        let events = [
            try await feature.forms.received(tap("a")), try await feature.forms.received(tap("b")),
        ]
        let store = FormsStore(journal: feature.journal)
        func isGranted(_ event: EntryID) async throws -> Bool {
            let leave = try await store.leave(for: event, form: "welcome", in: catalogue)
            if case .granted = leave { return true }
            return false
        }
        time.jumpWallAfterLook(by: .seconds(years * 365 * 86_400))
        #expect(try await isGranted(events[0]))
        time.advance(by: .seconds(1_800))
        #expect(try await !isGranted(events[1]), "within its cap")
        time.advance(by: .seconds(1_801))
        #expect(try await isGranted(events[1]), "its cap is over")
        await feature.close()
    }

    @Test("While there is no network it is asked for once a pause, after the first pause too")
    func pauses() async throws {
        let asked = Mutex(0)
        let server = StandInServer { _ in
            asked.withLock { $0 += 1 }
            throw RepriseError(.unreachable, "No network.")
        }
        let time = ManualClock()
        let feature = try await FormsFixture(
            in: folder, StandInHost(),
            catalogue: CatalogueSource(server: "http://h", transport: server), timekeeper: time,
            jitter: { 0.9 })
        var advances = 0
        try await eventually("it was asked for four times") {
            time.advance(by: .seconds(1))
            advances += 1
            return asked.withLock { $0 } >= 4
        }
        // Time stands still: only what has begun may still come.
        for _ in 0..<1_000 { await Task.yield() }
        #expect(asked.withLock { $0 } <= advances + 2)
        await feature.close()
    }

    @Test(
        "A catalogue that cannot be read is refused with a reason, and the former one stays",
        arguments: [
            "", "[]", #"{"format": "forms/2", "version": "2", "forms": []}"#,
            #"{"format": "forms/1", "forms": []}"#,
            String(repeating: "[", count: 10_000),
            #"{"format": "forms/1", "version": "\#(String(repeating: "v", count: 1_048_576))"}"#,
        ])
    func badCatalogue(text: String) async throws {
        #expect(throws: FormsCatalogueFailure.self) { try FormsCatalogue(Array(text.utf8)) }
    }

    @Test("Logging out ends the user's events, forgets the shown forms, and closes the page")
    func logOut() async throws {
        var manner = StandInView.Manner.silent
        manner.answer = { view, event in
            guard event["name"] as? String == "opened_push" else { return }
            view.say("showing", ["event": event["id"] ?? "", "form": "welcome"])
        }
        let host = StandInHost(manner, .silent)
        let feature = try await FormsFixture(in: folder, host)
        try await feature.forms.identify("ada")
        let shown = try await feature.forms.received(tap("a"))
        try await feature.ended(shown, .applied, "shown welcome")
        let waits = try await feature.forms.record("other")
        try await eventually("the page has it") {
            (host.views.first?.told("events").count ?? 0) == 2
        }
        try await feature.forms.logOut()
        #expect(try await feature.outcome(of: waits) == .dead)
        #expect(try await feature.reason(of: waits) == "loggedOut")
        #expect(try await feature.count("SELECT COUNT(*) FROM formsShowing") == 0)
        try await eventually("the page is another one") { host.views.count == 2 }
        try await eventually("the former is closed") { host.views[0].isClosed }
        // What the former page says now is heard by nobody.
        host.views[0].handled(waits.text, "error")
        let next = try await feature.forms.record("other")
        try await eventually("the new page has it") { host.views[1].told("events").count == 1 }
        host.views[1].handled(next.text, "noMatch")
        try await feature.ended(next, .applied, "noMatch")
        #expect(try await feature.journal.ledger().isBalanced)
        await feature.close()
    }

    @Test("Another user's identification ends waiting events; the first identification keeps them")
    func identify() async throws {
        let feature = try await FormsFixture(in: folder, nil)
        let anonymous = try await feature.forms.record("other")
        try await feature.forms.identify("ada")
        try await feature.forms.identify("ada")
        #expect(try await feature.outcome(of: anonymous) == nil)
        try await feature.forms.identify("bob")
        #expect(try await feature.reason(of: anonymous) == "loggedOut")
        await feature.close()
    }

    @Test(
        "Another company has its own catalogue, and events waiting for the former are superseded",
        .limit("forms.catalogues"))
    func company() async throws {
        let asked = Seen<String>()
        let server = CompanyServer(asked: asked)
        let host = StandInHost(.silent)
        let feature = try await FormsFixture(
            in: folder, host, catalogue: CatalogueSource(server: "http://h", transport: server))
        let id = try await feature.forms.record("other")
        try await eventually("the page has it") { host.views.first?.told("events").count == 1 }
        try await feature.forms.use(company: "acme")
        #expect(try await feature.outcome(of: id) == .superseded)
        try await eventually("it uses the other's") {
            await feature.forms.diagnostics.catalogue == "of-acme"
        }
        #expect(
            try await feature.count("SELECT COUNT(*) FROM formsCatalogue WHERE company <> 'acme'")
                == 0)
        await feature.close()
        let again = try await FormsFixture(
            in: folder, StandInHost(.silent),
            catalogue: CatalogueSource(server: "http://h", transport: server))
        try await eventually("it is remembered") {
            await again.forms.diagnostics.catalogue == "of-acme"
        }
        await again.close()
    }

    @Test(
        "Sixteen deep links are ahead of the loop that reads them, the others wait in the journal",
        .limit("forms.linksAhead"))
    func linksAhead() async throws {
        let feature = try await FormsFixture(in: folder, nil)
        for number in 0..<20 {
            try await feature.journal.record(
                NewEntry(
                    id: try EntryID("link-\(number)"), kind: FormsEvent.link, source: "form",
                    payload: Array(#"{"url":"app://\#(number)","form":"welcome"}"#.utf8)))
        }
        var links = feature.forms.deepLinks.makeAsyncIterator()
        #expect(await links.next()?.url == "app://0")
        let inFlight = "SELECT COUNT(*) FROM entry WHERE state = 3"
        try await eventually("as many as may be are in flight") {
            try await feature.count(inFlight) == FormsEngineLimits.deepLinksAhead
        }
        #expect(try await feature.count("SELECT COUNT(*) FROM entry WHERE state = 0") == 4)
        for number in 1..<20 { #expect(await links.next()?.url == "app://\(number)") }
        await feature.close()
    }

    @Test(
        "A deep link is durable before the page hears of it, recorded once, and comes again until the loop asks for more",
        .limit("forms.link")
    )
    func links() async throws {
        let host = StandInHost(.showing("welcome"))
        let first = try await FormsFixture(in: folder, host)
        let event = try await first.forms.received(tap("a"))
        try await first.ended(event, .applied, "shown welcome")
        let view = host.views[0]
        let showing = try #require(view.told("granted").first?["showing"])
        func press(_ url: String, _ id: String) {
            view.say(
                "action",
                [
                    "form": "welcome", "showing": showing, "id": id,
                    "action": ["type": "deepLink", "url": url],
                ])
        }
        press("app://cart", String(repeating: "a", count: 32))
        press("app://cart", String(repeating: "a", count: 32))
        press("javascript:alert(1)", String(repeating: "b", count: 32))
        let long = "app://" + String(repeating: "x", count: FormsEngineLimits.deepLink - 5)
        press(long, String(repeating: "c", count: 32))
        try await eventually("they are answered") {
            view.told("recorded").count == 2 && view.told("refused").count == 2
        }
        var links = first.forms.deepLinks.makeAsyncIterator()
        let link = await links.next()
        #expect(link?.url == "app://cart")
        try await first.kill()
        let feature = try await FormsFixture(in: folder, nil)
        var again = feature.forms.deepLinks.makeAsyncIterator()
        #expect(await again.next()?.id == link?.id)
        let waiting = Task { [again] in
            var again = again
            return await again.next()
        }
        try await eventually("it is done with") {
            try await feature.journal.ledger().outcomes[.applied] == 2
        }
        waiting.cancel()
        #expect(await waiting.value == nil)
        await feature.close()
    }

    @Test(
        "Answers are recorded in the transaction of their showing's end, once, and only of the form on the screen"
    )
    func submits() async throws {
        let taken = Seen<String>()
        let host = StandInHost(.showing("welcome"))
        let feature = try await FormsFixture(
            in: folder, host,
            answers: { json, id, _ in taken.add("\(id) \(String(decoding: json, as: UTF8.self))") })
        let event = try await feature.forms.received(tap("a"))
        try await feature.ended(event, .applied, "shown welcome")
        let view = host.views[0]
        let showing = try #require(view.told("granted").first?["showing"] as? String)
        let id = String(repeating: "c", count: 32)
        view.say(
            "submit",
            ["form": "welcome", "showing": "no", "id": id, "answers": ["email": "a@b.c"]])
        view.say(
            "submit",
            ["form": "welcome", "showing": showing, "id": id, "answers": ["email": "a@b.c"]])
        try await eventually("both are answered") {
            view.told("recorded").count == 1 && view.told("refused").count == 1
        }
        #expect(
            taken.all == [
                "forms-\(id) "
                    + #"{"form":"welcome","catalogue":"1","event":"\#(event)","showing":"\#(showing)","#
                    + #""answers":{"email":"a@b.c"}}"#
            ])
        #expect(
            try await feature.count("SELECT COUNT(*) FROM formsShowing WHERE how = 'submitted'")
                == 1)
        await feature.close()
    }

    @Test("An event that a form emits is recorded like any other")
    func emits() async throws {
        let host = StandInHost(.showing("welcome"))
        let feature = try await FormsFixture(in: folder, host)
        try await feature.ended(
            try await feature.forms.received(tap("a")), .applied, "shown welcome")
        let view = host.views[0]
        view.say(
            "action",
            [
                "form": "welcome", "showing": view.told("granted")[0]["showing"] ?? "",
                "id": String(repeating: "d", count: 32),
                "action": ["type": "emit", "name": "voted", "properties": ["stars": 5]],
            ])
        try await eventually("the page gets it back as an event") {
            view.told("events").contains {
                ($0["events"] as? [[String: Any]])?.first?["name"] as? String == "voted"
            }
        }
        await feature.close()
    }

    @Test(
        "An emitted event may have 65,536 bytes of properties, and is refused with one more",
        .limit("forms.fromPage", "catalogues.properties"))
    func largeEmits() async throws {
        // No form for what is emitted: it would take the place of the one that acts.
        var manner = StandInView.Manner.silent
        manner.answer = { view, event in
            guard event["name"] as? String == "opened_push" else { return }
            view.say("showing", ["event": event["id"] ?? "", "form": "welcome"])
        }
        let host = StandInHost(manner)
        let feature = try await FormsFixture(in: folder, host)
        try await feature.ended(
            try await feature.forms.received(tap("a")), .applied, "shown welcome")
        let view = host.views[0]
        for (id, count) in [("e", 65_536), ("f", 65_537)] {
            let text = String(repeating: "x", count: count - #"{"p":""}"#.utf8.count)
            view.say(
                "action",
                [
                    "form": "welcome", "showing": view.told("granted")[0]["showing"] ?? "",
                    "id": String(repeating: id, count: 32),
                    "action": ["type": "emit", "name": "large", "properties": ["p": text]],
                ])
        }
        try await eventually("one is recorded and one refused") {
            view.told("recorded").count == 1 && view.told("refused").count == 1
        }
        #expect(view.told("refused")[0]["reason"] as? String == "tooLarge")
        #expect(host.views.count == 1)
        #expect(
            try await feature.count("SELECT COUNT(*) FROM entry WHERE id LIKE 'forms-%'") == 1)
        await feature.close()
    }

    @Test("The newest version of the tables is the last one that this suite knows")
    func migrations() async throws {
        let feature = try await FormsFixture(in: folder, nil)
        let names = try await feature.journal.read { db in
            try String.fetchAll(
                db, sql: "SELECT identifier FROM grdb_migrations WHERE identifier LIKE 'forms/%'")
        }
        #expect(names == ["forms/1", "forms/2"])
        await feature.close()
    }
}

/// A server that has a catalogue for every company.
private struct CompanyServer: HTTPTransport {
    let asked: Seen<String>

    func exchange(
        _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        asked.add(request.url)
        let company = request.url.split(separator: "=").last ?? ""
        let text = FormsFixture.catalogue.replacing(
            #""version": "1""#, with: #""version": "of-\#(company)""#)
        try await head(HTTPHead(status: 200, headers: [:]))
        try await chunk(Array(text.utf8))
    }
}
