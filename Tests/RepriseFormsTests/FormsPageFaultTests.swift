import RepriseCore
import RepriseForms
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Forms and bad pages")
struct FormsPageFaultTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func ready(_ host: StandInHost, _ feature: FormsFixture) async throws -> StandInView {
        try await eventually("the feature is ready") { feature.forms.state == .ready }
        return try #require(host.views.last)
    }

    @Test(
        "A page's message that is malformed, unknown or about a foreign event is counted, and changes nothing"
    )
    func strays() async throws {
        let host = StandInHost(.silent)
        let feature = try await FormsFixture(in: folder, host)
        let id = try await feature.forms.received(tap("a"))
        let view = try await ready(host, feature)
        try await eventually("the page has it") { view.told("events").count == 1 }
        view.raw("not JSON")
        view.raw(String(repeating: "[", count: 10_000))
        view.raw(["type": "handled", "session": "forged", "n": 1, "events": []])
        view.say("handled", ["events": "none"])
        view.say("sing", ["song": 1])
        view.say(
            "handled",
            [
                "events": [
                    ["id": id.text, "result": "noMatch"], ["id": id.text, "result": "error"],
                ]
            ])
        try await feature.ended(id, .applied, "noMatch")
        let tally = await feature.forms.diagnostics.tally
        #expect(tally.malformed == 3)
        #expect(tally.forged == 1)
        #expect(tally.unknown == 1)
        #expect(tally.late == 1)
        #expect(tally.replacements == 0)
        await feature.close()
    }

    @Test("A gap or a repetition in the page's numbers replaces the page", arguments: [1, 7])
    func order(number: Int) async throws {
        let host = StandInHost(.silent, .showing("welcome"))
        let feature = try await FormsFixture(in: folder, host)
        let id = try await feature.forms.received(tap("a"))
        let view = try await ready(host, feature)
        view.raw(["type": "log", "session": view.session, "n": number, "level": "a", "text": "b"])
        try await feature.ended(id, .applied, "shown welcome")
        #expect(await feature.forms.diagnostics.tally.outOfOrder == 1)
        await feature.close()
    }

    @Test(
        "A page with an unknown protocol version gets no events, and is told that it is incompatible"
    )
    func incompatible() async throws {
        var manner = StandInView.Manner()
        manner.protocols = [3]
        let host = StandInHost(manner)
        let feature = try await FormsFixture(in: folder, host)
        let id = try await feature.forms.received(tap("a"))
        try await eventually("it is seen") { feature.forms.state == .incompatible }
        try await eventually("the page is told") {
            host.views[0].told("incompatible").first?["protocols"] as? [Int] == [1, 2]
        }
        #expect(try await feature.outcome(of: id) == nil)
        await feature.close()
    }

    @Test(
        "A showing without a grant ends no event, and a form that is not in the catalogue is denied"
    )
    func unasked() async throws {
        var manner = StandInView.Manner()
        manner.answer = { view, event in
            view.say(
                "formDidAppear",
                ["event": event["id"] ?? "", "form": "welcome", "showing": "mine"])
            view.say("showing", ["event": event["id"] ?? "", "form": "nowhere"])
        }
        let host = StandInHost(manner)
        let feature = try await FormsFixture(in: folder, host)
        let id = try await feature.forms.received(tap("a"))
        try await eventually("it is denied") {
            host.views.first?.told("denied").first?["reason"] as? String == "unknownForm"
        }
        #expect(try await feature.outcome(of: id) == nil)
        #expect(await feature.forms.diagnostics.tally.late == 1)
        await feature.close()
    }

    @Test(
        "A page that refuses the catalogue keeps its readiness closed, and the event waits for a better one"
    )
    func refusedCatalogue() async throws {
        var manner = StandInView.Manner.showing("welcome")
        manner.takesCatalogue = false
        let host = StandInHost(manner)
        let versions = Seen<Int>()
        let server = StandInServer { _ in
            versions.add(1)
            let version = versions.all.count
            let text = FormsFixture.catalogue.replacing(
                #""version": "1""#, with: #""version": "\#(version)""#)
            return HTTPAnswer(
                status: 200, headers: ["etag": "\"\(version)\""], body: Array(text.utf8))
        }
        let feature = try await FormsFixture(
            in: folder, host, catalogue: CatalogueSource(server: "http://h", transport: server))
        let id = try await feature.forms.received(tap("a"))
        try await eventually("it is sent") {
            host.views.first?.told("catalogue").contains { $0["version"] as? String == "1" }
                ?? false
        }
        let view = host.views[0]
        view.say("catalogueRefused", ["version": "1", "reason": "no", "path": "/forms/0"])
        try await eventually("the next one comes") {
            view.told("catalogue").contains { $0["version"] as? String == "2" }
        }
        #expect(await feature.forms.diagnostics.tally.cataloguesRefused == 1)
        view.say("formsData", ["version": "2"])
        try await feature.ended(id, .applied, "shown welcome")
        await feature.close()
    }
}

/// Answers for a server.
struct StandInServer: HTTPTransport {
    let answer: @Sendable ([String: String]) throws -> HTTPAnswer

    init(_ answer: @escaping @Sendable ([String: String]) throws -> HTTPAnswer) {
        self.answer = answer
    }

    func exchange(
        _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let answer = try answer(request.headers)
        try await head(HTTPHead(status: answer.status, headers: answer.headers))
        try await chunk(answer.body)
    }
}
