import Foundation
import RepriseForms
import ReprisePhone
import Testing

/// The page and the Swift validator are held by the same files.
@Suite("Page: vectors", .serialized)
struct PageVectorsTests {
    private static func json(_ value: DevToolsValue?) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys  // the first of several faults is the first by name
        return String(decoding: try encoder.encode(value ?? .null), as: UTF8.self)
    }

    @Test("the page evaluates predicates as documented")
    func predicates() async throws {
        let vectors = try Vectors.read("predicates")
        #expect(vectors.count > 90)
        // One catalogue for each set of names, so that most stand in one.
        for (names, group) in Dictionary(grouping: vectors, by: { $0["predicates"] }) {
            try await evaluate(group, names: try names.map { try Self.json($0) } ?? "{}")
        }
    }

    private func evaluate(_ vectors: [DevToolsValue], names: String) async throws {
        let forms = try vectors.enumerated().map { index, vector in
            #"{"id":"v\#(index)","title":"V","triggers":[{"event":"v\#(index)","where":\#(try Self.json(vector["predicate"]))}]}"#
        }
        let stage = try await PageFixture(forms, predicates: names)
        for (index, vector) in vectors.enumerated() {
            try await stage.happened(
                "v\(index)", properties: try Self.json(vector["properties"]))
            let message: DevToolsValue
            if vector["matches"] == true {
                message = try await stage.says("showing")
                try await stage.tell(
                    #"{"type":"denied","event":"e-v\#(index)","form":"v\#(index)","reason":"settled"}"#
                )
            } else {
                message = try await stage.says("handled")
            }
            let isMatch = message["type"]?.text == "showing"
            #expect(.bool(isMatch) == vector["matches"], "\(vector["name"]?.text ?? "")")
        }
        await stage.close()
    }

    @Test(
        "the page takes the catalogues that the validator takes, and names the same place in others"
    )
    func catalogues() async throws {
        let vectors = try Vectors.read("catalogues")
        #expect(vectors.count > 100)
        let stage = try await PageFixture([])
        for vector in vectors {
            let version = try Self.json(vector["catalogue"]?["version"] ?? "1")
            try await stage.tell(
                #"{"type":"catalogue","version":\#(version),"catalogue":\#(try Self.json(vector["catalogue"]))}"#
            )
            let name = vector["name"]?.text ?? ""
            let isValid = vector["valid"] == true
            let answer = try await stage.says(isValid ? "formsData" : "catalogueRefused")
            if !isValid { #expect(answer["path"] == vector["pointer"], "\(name): \(answer)") }
        }
        await stage.close()
    }

    @Test("a predicate that nests 10,000 deep, or properties that do, are refused at once")
    func deep() async throws {
        let stage = try await PageFixture([PageFixture.form("a")])
        let deep =
            String(repeating: #"{"not":"#, count: 10_000) + "{}"
            + String(repeating: "}", count: 10_000)
        for form in [
            #"{"id":"a","title":"A","triggers":[{"event":"a","where":\#(deep)}]}"#,
            #"{"id":"a","title":"A","triggers":[{"event":"a"}],"buttons":[{"label":"B","actions":[{"type":"emit","name":"e","properties":\#(deep)}]}]}"#,
        ] {
            try await stage.tell(PageFixture.catalogue([form], version: "2"))
            _ = try await stage.says("catalogueRefused")
        }
        try await stage.show("a")
        await stage.close()
    }
}
