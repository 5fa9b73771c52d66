/// Any JSON value.
package enum DevToolsValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([DevToolsValue])
    case object([String: DevToolsValue])

    /// The text, or a number or truth as text; nil for anything else.
    package var text: String? {
        switch self {
        case .string(let text): text
        case .bool(let truth): String(truth)
        case .number(let number):
            number == number.rounded() && abs(number) < 1e15 ? String(Int(number)) : String(number)
        case .null, .array, .object: nil
        }
    }

    /// A member of an object.
    package subscript(_ name: String) -> DevToolsValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }
}

extension DevToolsValue: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([DevToolsValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: DevToolsValue].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension DevToolsValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int) { self = .number(Double(value)) }
    package init(floatLiteral value: Double) { self = .number(value) }
    package init(arrayLiteral elements: DevToolsValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, DevToolsValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}
