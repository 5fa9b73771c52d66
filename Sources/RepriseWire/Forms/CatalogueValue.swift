import Foundation

/// A JSON value, compared as JavaScript's `===` does.
package enum CatalogueValue: Hashable, Sendable, Codable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([CatalogueValue])
    case object([String: CatalogueValue])

    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if let array = try? value.decode([CatalogueValue].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: CatalogueValue].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .null: try value.encodeNil()
        case .bool(let bool): try value.encode(bool)
        case .number(let number): try value.encode(number)
        case .string(let string): try value.encode(string)
        case .array(let array): try value.encode(array)
        case .object(let object): try value.encode(object)
        }
    }

    package subscript(_ name: String) -> CatalogueValue? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    package var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    package var number: Double? {
        guard case .number(let number) = self else { return nil }
        return number
    }

    package var array: [CatalogueValue]? {
        guard case .array(let values) = self else { return nil }
        return values
    }

    /// Of scalars alone; Swift's `==` takes two spellings of a letter for the same text.
    func isSame(_ other: CatalogueValue) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        default: false
        }
    }

    /// Whether it comes before, as numbers or by code points; nil where there is no order.
    func precedes(_ other: CatalogueValue) -> Bool? {
        switch (self, other) {
        case (.number(let left), .number(let right)): left < right
        case (.string(let left), .string(let right)):
            left.utf8.lexicographicallyPrecedes(right.utf8)
        default: nil
        }
    }
}

/// A predicate of a catalogue that was checked; see `docs/forms.md`.
package struct CataloguePredicate: Hashable, Sendable {
    let node: CatalogueValue
    let named: [String: CatalogueValue]

    package init(node: CatalogueValue, named: [String: CatalogueValue]) {
        (self.node, self.named) = (node, named)
    }

    /// Whether it is true of these properties, an object.
    package func holds(_ properties: CatalogueValue) -> Bool { holds(node, properties) }

    private func holds(_ node: CatalogueValue, _ properties: CatalogueValue) -> Bool {
        if let parts = node["and"]?.array { return parts.allSatisfy { holds($0, properties) } }
        if let parts = node["or"]?.array { return parts.contains { holds($0, properties) } }
        if let part = node["not"] { return !holds(part, properties) }
        if let name = node["use"]?.text {
            return named[name].map { holds($0, properties) } ?? false
        }
        guard let path = node["property"]?.text, let name = node["is"]?.text else { return false }
        var found: CatalogueValue? = properties
        for step in path.split(separator: ".") { found = found?[String(step)] }
        guard let found else { return name == "missing" || name == "notEquals" }
        return compare(found, name, node["value"] ?? .null)
    }

    private func compare(_ found: CatalogueValue, _ name: String, _ value: CatalogueValue) -> Bool {
        switch name {
        case "equals": found.isSame(value)
        case "notEquals": !found.isSame(value)
        case "lessThan": found.precedes(value) ?? false
        case "atMost": value.precedes(found).map { !$0 } ?? false
        case "greaterThan": value.precedes(found) ?? false
        case "atLeast": found.precedes(value).map { !$0 } ?? false
        case "exists": true
        case "contains":
            if let elements = found.array {
                elements.contains { $0.isSame(value) }
            } else if let found = found.text, let value = value.text {
                value.isEmpty || found.utf8.contains(value.utf8)
            } else {
                false
            }
        case "startsWith":
            found.text.flatMap { found in value.text.map { found.utf8.starts(with: $0.utf8) } }
                ?? false
        case "endsWith":
            found.text.flatMap { found in
                value.text.map { found.utf8.reversed().starts(with: $0.utf8.reversed()) }
            } ?? false
        case "in": value.array?.contains { $0.isSame(found) } ?? false
        default: false
        }
    }
}
