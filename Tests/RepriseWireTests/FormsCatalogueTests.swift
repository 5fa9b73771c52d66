import Foundation
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("A catalogue of forms")
struct FormsCatalogueTests {
    /// A case of docs/forms/vectors/catalogues.json, which the page is held to as well.
    struct Vector: Sendable, CustomTestStringConvertible {
        let name: String
        let catalogue: [UInt8]
        /// Where it is wrong; nil if it is right.
        let pointer: String?

        var testDescription: String { name }
    }

    static let vectors: [Vector] = {
        let file = Command.root.appending(path: "docs/forms/vectors/catalogues.json")
        guard let data = try? Data(contentsOf: file),
            let list = try? JSONSerialization.jsonObject(with: data) as? [[String: Any]]
        else { return [] }
        return list.map { vector in
            let bytes = try? JSONSerialization.data(
                withJSONObject: vector["catalogue"] ?? [:], options: .fragmentsAllowed)
            return Vector(
                name: vector["name"] as? String ?? "?", catalogue: Array(bytes ?? Data()),
                pointer: vector["valid"] as? Bool == true
                    ? nil : vector["pointer"] as? String ?? "?")
        }
    }()

    private static func problems(_ text: String) -> [FormsProblem] {
        problems(Array(text.utf8))
    }

    private static func problems(_ bytes: [UInt8]) -> [FormsProblem] {
        do {
            _ = try FormsCatalogue(bytes)
            return []
        } catch { return error.problems }
    }

    /// A catalogue of one form, with something more in it.
    private static func catalogue(form: String = "", more: String = "") -> String {
        #"{"format":"forms/1","version":"1","forms":[{"id":"a","title":"A","triggers":[{"event":"e"}]"#
            + form + "}]" + more + "}"
    }

    @Test(
        "is accepted or refused as the vectors say",
        .limit(
            "catalogues.parts", "catalogues.texts", "catalogues.names", "catalogues.predicates",
            "catalogues.delays"), arguments: vectors)
    func keepsVectors(_ vector: Vector) {
        let problems = Self.problems(vector.catalogue)
        #expect(problems.map(\.pointer) == (vector.pointer.map { [$0] } ?? []), "\(problems)")
    }

    @Test("the file of vectors is found, and has more than 100")
    func hasVectors() { #expect(Self.vectors.count > 100) }

    @Test("keeps its bytes, and gives what host and tool need")
    func tells() throws {
        let text = """
            {"format": "forms/1", "version": "7", "frequency": {"max": 3, "seconds": 60},
             "forms": [{"id": "a", "title": "Á", "priority": 4, "frequency": {"max": 1, "seconds": 9},
              "window": {"until": 5}, "triggers": [{"event": "x"}, {"event": "y"}, {"event": "x"}]}]}
            """
        let catalogue = try FormsCatalogue(Array(text.utf8))
        let form = try #require(catalogue.form("a"))
        #expect(catalogue.bytes == Array(text.utf8))
        #expect(catalogue.version == "7")
        #expect(catalogue.frequency?.most == 3)
        #expect(form.title == "Á")
        #expect(form.priority == 4)
        #expect(form.events == ["x", "y"])
        #expect(form.frequency?.seconds == 9)
        #expect(form.from == nil)
        #expect(form.until == 5)
        #expect(catalogue.form("b") == nil)
    }

    @Test(
        "tells the line, the place and what to do, for each of many problems in the order of the text"
    )
    func tellsWhere() {
        let text = """
            {
              "format": "forms/1",
              "version": "1 2",
              "forms": [
                {"id": "a", "title": "A",
                 "trigers": [], "triggers": [
                   {"event": "e", "where": {"use": "x/y"}}
                 ]},
                {"id": "a", "triggers": [{"event": "e"}], "title": 3}
              ]
            }
            """
        let found = Self.problems(text).map { "\($0.line) \($0.pointer)" }
        #expect(
            found == [
                "3 /version", "6 /forms/0/trigers", "7 /forms/0/triggers/0/where/use",
                "9 /forms/1/id", "9 /forms/1/title",
            ])
        #expect(
            Self.problems(text)[3].description
                == "9: Another form has this id: each needs its own. (/forms/1/id)")
    }

    @Test(
        "refuses a text that is not JSON with the line where reading ended",
        arguments: [
            ("", 1), ("{", 1), ("{\n\"a\": tru\n}", 2), ("{}\n{}", 2), ("\u{feff}{}", 1),
            ("{\"a\": \"\\ud800\"}", 1),
        ])
    func refusesOther(_ text: String, _ line: Int) {
        let problems = Self.problems(text)
        #expect(problems.map(\.line) == [line])
        #expect(problems.first?.message.hasPrefix("This cannot be read as JSON.") == true)
    }

    @Test("refuses bytes that are no UTF-8")
    func refusesBytes() {
        #expect(Self.problems([0x22, 0xff, 0x22]).count == 1)
    }

    @Test("refuses a member that is there twice, however it is spelled")
    func refusesTwice() {
        let problems = Self.problems(Self.catalogue(form: #","title":"B","\u0069d":"a""#))
        #expect(problems.map(\.pointer) == ["/forms/0/title", "/forms/0/id"])
    }

    @Test(
        "refuses unknown members, so that a misspelled one is noticed",
        arguments: [
            (catalogue(form: #","frequncy":{"max":1,"seconds":1}"#), "/forms/0/frequncy"),
            (catalogue(form: #","a/b~c":1"#), "/forms/0/a~1b~0c"),
            (catalogue(more: #","extra":1"#), "/extra"),
            (
                catalogue(form: #","fields":[{"name":"a","label":"A","type":"text","minimum":1}]"#),
                "/forms/0/fields/0/minimum"
            ),
            (
                catalogue(
                    form: #","buttons":[{"label":"A","actions":[{"type":"dismiss","url":"a:b"}]}]"#),
                "/forms/0/buttons/0/actions/0/url"
            ),
            (
                catalogue(more: #","predicates":{"a":{"property":"a","is":"exists","value":1}}"#),
                "/predicates/a/value"
            ),
        ])
    func refusesUnknown(_ text: String, _ pointer: String) {
        #expect(Self.problems(text).map(\.pointer) == [pointer])
    }

    @Test("may name its schema, for the sake of editors")
    func namesItsSchema() {
        #expect(Self.problems(Self.catalogue(more: #","$schema":"catalogue.schema.json""#)) == [])
    }

    @Test("refuses a number that is too large or not whole")
    func refusesNumbers() {
        for number in [
            "1e999", "1.5", "1e300", "9007199254740993", String(repeating: "9", count: 500),
        ] {
            #expect(
                Self.problems(Self.catalogue(form: #","priority":\#(number)"#)).map(\.pointer)
                    == ["/forms/0/priority"], "\(number)")
        }
        #expect(Self.problems(Self.catalogue(form: #","priority":1.0e1"#)) == [])
    }

    // MARK: Hostile

    @Test("refuses more than 1 MiB without looking at it", .limit("catalogues.bytes"))
    func refusesHuge() {
        let problems = Self.problems([UInt8](repeating: 0x20, count: 1_048_577))
        #expect(problems.count == 1)
        #expect(problems.first?.message.contains("1048576") == true)
    }

    @Test(
        "reports 20 problems at most", .limit("catalogues.problems", "catalogues.forms"),
        arguments: [20, 10_000])
    func reportsSome(_ count: Int) {
        let forms = Array(repeating: "1", count: count).joined(separator: ",")
        let text = #"{"format":"forms/1","version":"1","forms":[\#(forms)]}"#
        #expect(Self.problems(text).count == (count > 2_000 ? 1 : 20))
        let members = (0..<count).map { #""m\#($0)":1"# }.joined(separator: ",")
        #expect(Self.problems(Self.catalogue(more: "," + members)).count == 20)
    }

    /// One that must be judged in a time that grows with its bytes alone.
    static let hostile: [(String, String)] = {
        let deep = 10_000
        let nots =
            String(repeating: #"{"not":"#, count: deep) + "1" + String(repeating: "}", count: deep)
        let lists = String(repeating: "[", count: 500_000)
        let chain = (0..<20_000).map { #""p\#($0)":{"use":"p\#($0 + 1)"}"# }.joined(separator: ",")
        let ring = (0..<1_999).map { #""p\#($0)":{"use":"p\#(($0 + 1) % 1_999)"}"# }
            .joined(separator: ",")
        let doubled =
            (1..<1_999).map { #""p\#($0)":{"and":[{"use":"p\#($0 - 1)"},{"use":"p\#($0 - 1)"}]}"# }
            .joined(separator: ",") + #","p0":{"property":"a","is":"exists"}"#
        let wide = Array(repeating: #"{"use":"x"}"#, count: 80_000).joined(separator: ",")
        var nested = #"{"property":"a","is":"exists"}"#
        for _ in 0..<14 { nested = #"{"and":[\#(nested)]}"# }
        let many = Array(repeating: nested, count: 2_000).joined(separator: ",")
        return [
            ("10,000 deep", catalogue(more: #","predicates":{"a":\#(nots)}"#)),
            ("500,000 brackets", lists),
            ("a chain of 20,000", catalogue(more: #","predicates":{\#(chain)}"#)),
            ("a ring of 1,999", catalogue(more: #","predicates":{\#(ring)}"#)),
            ("doubled 2,000 times", catalogue(more: #","predicates":{\#(doubled)}"#)),
            ("80,000 in one list", catalogue(more: #","predicates":{"a":{"or":[\#(wide)]}}"#)),
            ("2,000 deep ones", catalogue(more: #","predicates":{"a":{"or":[\#(many)]}}"#)),
            (
                "a key of 500,000",
                catalogue(more: ",\"" + String(repeating: "/", count: 500_000) + "\":1")
            ),
            (
                "a number of 500,000",
                catalogue(form: ",\"priority\":" + String(repeating: "1", count: 500_000))
            ),
        ]
    }()

    @Test(
        "a hostile catalogue is refused within seconds, with at most 20 problems",
        arguments: hostile)
    func isJudgedSoon(_ name: String, _ text: String) {
        let start = ContinuousClock.now
        let problems = Self.problems(text)
        let time = ContinuousClock.now - start
        #expect(!problems.isEmpty)
        #expect(problems.count <= 20)
        #expect(
            problems.allSatisfy { $0.pointer.utf8.count < 4_096 && $0.message.utf8.count < 1_024 })
        // Unoptimised, on a machine that others use: what grows faster than its bytes takes
        // minutes.
        #expect(time < .seconds(10), "\(name): \(time)")
    }
}
