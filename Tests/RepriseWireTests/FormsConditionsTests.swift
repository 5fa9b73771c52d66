import Foundation
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Conditions of forms")
struct FormsConditionsTests {
    /// A case of docs/forms/vectors/conditions.json.
    struct Vector: Decodable, Sendable, CustomTestStringConvertible {
        struct Past: Decodable, Sendable {
            let form: String?
            let was: String?
            let event: String?
            let count: Int64
            let last: Int64
        }

        struct Grant: Decodable, Sendable {
            let form: String
            let at: Int64
        }

        let what: String
        let form: CatalogueValue
        let catalogue: CatalogueValue
        let now: Int64
        let zone: String
        let attributes: CatalogueValue
        let past: [Past]
        let granted: [Grant]
        /// A word, or an object with the end of the quiet time.
        let decision: CatalogueValue

        var testDescription: String { what }
    }

    private struct Facts: FormsFacts {
        let vector: Vector

        func attributes() -> CatalogueValue { vector.attributes }

        func past(_ subject: FormsPast.Subject) -> FormsPast.Count? {
            let found = vector.past.first { past in
                switch subject {
                case .event(let name): past.event == name
                case .form(let form, let was): past.form == form && past.was == was.rawValue
                }
            }
            return found.map {
                FormsPast.Count(count: $0.count, last: WallTime(milliseconds: $0.last))
            }
        }

        func granted(_ form: String?, after moment: WallTime) -> Int {
            vector.granted.count {
                ($0.form == form || form == nil) && $0.at > moment.milliseconds
            }
        }
    }

    static let vectors: [Vector] = {
        let file = Command.root.appending(path: "docs/forms/vectors/conditions.json")
        guard let data = try? Data(contentsOf: file) else { return [] }
        return (try? JSONDecoder().decode([Vector].self, from: data)) ?? []
    }()

    @Test("the file of vectors is found, and has more than 40")
    func hasVectors() { #expect(Self.vectors.count > 40) }

    @Test("are decided as the vectors say", .limit("catalogues.conditions"), arguments: vectors)
    func keepsVectors(_ vector: Vector) throws {
        var form: [String: CatalogueValue] = [
            "id": .string("this"), "title": .string("This"),
            "triggers": .array([.object(["event": .string("e")])]),
        ]
        if case .object(let more) = vector.form { form.merge(more) { $1 } }
        var whole: [String: CatalogueValue] = [
            "format": .string("forms/1"), "version": .string("1"), "forms": .array([.object(form)]),
        ]
        if case .object(let more) = vector.catalogue { whole.merge(more) { $1 } }
        let catalogue = try FormsCatalogue(
            Array(try JSONEncoder().encode(CatalogueValue.object(whole))))
        let zone = try #require(TimeZone(identifier: vector.zone))
        let decision = try catalogue.decision(
            on: try #require(catalogue.form("this")), Facts(vector: vector),
            at: WallTime(milliseconds: vector.now), in: zone)
        switch decision {
        case .allowed: #expect(vector.decision.text == "allowed")
        case .denied(let reason): #expect(vector.decision.text == reason.rawValue)
        case .quiet(let until):
            #expect(vector.decision["quiet"]?.number == Double(until.milliseconds))
        }
    }

    @Test("a predicate is true of the same properties in the host as in the page")
    func predicates() throws {
        let file = Command.root.appending(path: "docs/forms/vectors/predicates.json")
        let vectors = try JSONDecoder().decode(
            [CatalogueValue].self, from: Data(contentsOf: file))
        #expect(vectors.count > 90)
        for vector in vectors {
            var names: [String: CatalogueValue] = [:]
            if case .object(let found) = vector["predicates"] { names = found }
            let predicate = CataloguePredicate(
                node: try #require(vector["predicate"]), named: names)
            let isTrue = predicate.holds(try #require(vector["properties"]))
            #expect(vector["matches"] == .bool(isTrue), "\(vector["name"]?.text ?? "")")
        }
    }
}
