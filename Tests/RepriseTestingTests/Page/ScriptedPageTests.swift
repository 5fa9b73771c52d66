import Foundation
import RepriseCore
import RepriseForms
import RepriseTestSupport
import RepriseTesting
import Testing

/// The page of the test kit follows the vectors that hold the page in the browser, too.
@Suite("The scripted page", .timeLimit(.minutes(1)))
struct ScriptedPageTests {
    private struct Vector: Decodable {
        let name: String
        let predicate: JSONText?
        let predicates: JSONText?
        let properties: JSONText?
        let matches: Bool?
        let catalogue: JSONText?
        let valid: Bool?
        let pointer: String?
    }

    private static func vectors(_ name: String) throws -> [Vector] {
        let file = Command.root.appending(path: "docs/forms/vectors/\(name).json")
        return try JSONDecoder().decode([Vector].self, from: Data(contentsOf: file))
    }

    @Test("The page evaluates predicates as documented")
    func predicates() async throws {
        let vectors = try Self.vectors("predicates")
        #expect(vectors.count > 90)
        for vector in vectors {
            let host = try await ScriptedHost(
                #"""
                {"format":"forms/1","version":"1","predicates":\#(vector.predicates?.text ?? "{}"),
                "forms":[{"id":"v","title":"V","triggers":[{"event":"v","where":\#(vector.predicate?.text ?? "")}]}]}
                """#)
            try await host.happened("v", vector.properties?.text ?? "{}")
            let answer = try await host.says()
            #expect((answer.type == "showing") == vector.matches, "\(vector.name): \(answer)")
        }
    }

    @Test(
        "The page accepts the catalogues that the validator accepts, and names the place in others")
    func catalogues() async throws {
        for vector in try Self.vectors("catalogues") {
            let host = try await ScriptedHost(nil)
            let catalogue = try #require(vector.catalogue)
            let version = catalogue["version"]?.text ?? "1".quoted
            try await host.tell(
                #"{"type":"catalogue","version":\#(version),"catalogue":\#(catalogue.text)}"#)
            let answer = try await host.says()
            #expect((answer.type == "formsData") == vector.valid, "\(vector.name): \(answer)")
            if vector.valid == false {
                #expect(answer.members["path"] == vector.pointer, "\(vector.name)")
            }
        }
    }

    // MARK: Events

    private static func form(_ id: String, _ members: String = "") -> String {
        #"{"id":"\#(id)","title":"\#(id)","triggers":[{"event":"asked"}]\#(members)}"#
    }

    private static func catalogue(_ forms: String...) -> String {
        #"{"format":"forms/1","version":"1","forms":[\#(forms.joined(separator: ","))]}"#
    }

    @Test("The form with the highest priority asks first; at its cap the next may")
    func denied() async throws {
        let host = try await ScriptedHost(
            Self.catalogue(Self.form("low"), Self.form("high", #","priority":7"#)))
        try await host.happened("asked")
        #expect(try await host.says().members["form"] == "high")
        try await host.tell(
            #"{"type":"denied","event":"asked","form":"high","reason":"formFrequency"}"#)
        #expect(try await host.says().members["form"] == "low")
        try await host.tell(
            #"{"type":"denied","event":"asked","form":"low","reason":"overallFrequency"}"#)
        let handled = try await host.says()
        #expect(handled.events == ["asked suppressed low overallFrequency"])
    }

    @Test("An event without a form, out of its window or with malformed properties ends at once")
    func over() async throws {
        let host = try await ScriptedHost(
            Self.catalogue(Self.form("past", #","window":{"until":5}"#)))
        try await host.happened("asked")
        #expect(try await host.says().events == ["asked noMatch past window"])
        try await host.happened("other")
        #expect(try await host.says().events == ["other noMatch"])
        try await host.happened("odd", "7")
        #expect(try await host.says().events == ["odd error properties"])
    }

    @Test("A delay of up to five seconds is waited for here, a longer one by the host")
    func delays() async throws {
        let clock = ManualClock()
        let host = try await ScriptedHost(
            Self.catalogue(
                #"{"id":"soon","title":"S","triggers":[{"event":"soon","delay":5}]}"#,
                #"{"id":"late","title":"L","triggers":[{"event":"late","delay":6}]}"#),
            clock: clock)
        try await host.happened("soon")
        #expect(try await host.says().type == "waiting")
        try await host.happened("late")
        let later = try await host.says()
        #expect(later.type == "later" && later.members["at"] == "\(ScriptedHost.now + 6_000)")
        try await waitUntil("it waits") { clock.sleepers.count == 1 }
        clock.advance(by: .milliseconds(4_999))
        try await host.saysNothing()
        clock.advance(by: .milliseconds(1))
        #expect(try await host.says().members["form"] == "soon")
    }

    @Test("Seventeen wait for the screen, and the last with the lowest priority is suppressed")
    func queue() async throws {
        let host = try await ScriptedHost(Self.catalogue(Self.form("a")))
        for number in 0...17 { try await host.happened("asked", id: "e\(number)") }
        #expect(try await host.says().members["event"] == "e0")
        var suppressed: [String] = []
        while suppressed.isEmpty {
            let message = try await host.says()
            if message.type == "handled" { suppressed = message.events }
        }
        #expect(suppressed == ["e17 suppressed a queueFull"])
    }

    @Test("A malformed message of the host changes nothing and is answered with a fault")
    func faults() async throws {
        let host = try await ScriptedHost(Self.catalogue(Self.form("a")))
        for (message, reason) in [
            ("[1]", "malformed"), (#"{"type":"knock"}"#, "unknownType"),
            (#"{"type":"events","events":1}"#, "malformed"),
            (#"{"type":"granted","event":"x","form":"a"}"#, "notAsked"),
            (#"{"type":"recorded","id":"0"}"#, "notAsked"),
        ] {
            try await host.tell(message)
            let fault = try await host.says()
            #expect(fault.type == "fault" && fault.members["reason"] == reason)
        }
    }
}

extension String {
    fileprivate var quoted: String { "\"\(self)\"" }
}
