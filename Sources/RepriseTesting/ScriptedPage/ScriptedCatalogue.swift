import Foundation
import RepriseWire

/// A catalogue as the page needs it.
struct ScriptedCatalogue: Sendable {
    struct Trigger: Decodable, Sendable {
        var event: String
        var `where`: CatalogueValue?
        var delay: Double?
    }

    struct Window: Decodable, Sendable {
        var from: Double?
        var until: Double?
    }

    struct Image: Decodable, Sendable {
        var url: String
        var alt: String
    }

    struct Option: Decodable, Sendable {
        var value: String
        var label: String
    }

    struct Field: Decodable, Sendable {
        var name: String
        var label: String
        var type: String
        var required: Bool?
        var hint: String?
        var minimum: Double?
        var maximum: Double?
        var maximumLength: Int?
        var options: [Option]?
    }

    struct Action: Decodable, Sendable {
        var type: String
        var url: String?
        var name: String?
        var properties: CatalogueValue?
    }

    struct Button: Decodable, Sendable {
        var label: String
        var style: String?
        var actions: [Action]
    }

    struct Form: Decodable, Sendable {
        var id: String
        var priority: Int?
        var triggers: [Trigger]
        var window: Window?
        var title: String
        var text: String?
        var image: Image?
        var fields: [Field]?
        var buttons: [Button]?
    }

    private struct Content: Decodable {
        var version: String
        var predicates: [String: CatalogueValue]?
        var forms: [Form]
    }

    /// A form that an event may show.
    struct Candidate: Sendable {
        var form: Form
        var trigger: Trigger
    }

    /// Why it is refused, and where.
    struct Refusal: Error {
        var pointer: String
        var reason: String
    }

    let version: String
    let predicates: [String: CatalogueValue]
    private let byEvent: [String: [Candidate]]

    /// - Throws: ``Refusal``.
    init(_ value: CatalogueValue, version: String?) throws {
        let bytes = Array(try JSONEncoder().encode(value))
        do {
            _ = try FormsCatalogue(bytes)
        } catch {
            let first = error.problems.first
            throw Refusal(pointer: first?.pointer ?? "", reason: first?.message ?? "")
        }
        let content = try JSONDecoder().decode(Content.self, from: Data(bytes))
        guard content.version == version else {
            throw Refusal(pointer: "/version", reason: "is not the announced one")
        }
        self.version = content.version
        predicates = content.predicates ?? [:]
        var byEvent: [String: [Candidate]] = [:]
        for form in content.forms {
            for trigger in form.triggers {
                byEvent[trigger.event, default: []].append(Candidate(form: form, trigger: trigger))
            }
        }
        // By priority, then the catalogue's order.
        self.byEvent = byEvent.mapValues { candidates in
            candidates.enumerated().sorted { left, right in
                let priorities = (left.element.form.priority ?? 0, right.element.form.priority ?? 0)
                return priorities.0 == priorities.1
                    ? left.offset < right.offset : priorities.0 > priorities.1
            }.map(\.element)
        }
    }

    func candidates(for event: String) -> [Candidate] { byEvent[event] ?? [] }

    func matches(_ trigger: Trigger, _ properties: CatalogueValue) -> Bool {
        guard let node = trigger.where else { return true }
        return CataloguePredicate(node: node, named: predicates).holds(properties)
    }
}
