import RepriseCore
import RepriseWire

/// What the app knows of the person: audiences of forms are predicates on it.
///
/// ```swift
/// try await client.forms.setAttributes(["plan": "vip", "age": 34, "trial": nil])
/// ```
public enum FormsAttribute: Hashable, Sendable {
    /// At most 1,024 bytes.
    case text(String)
    /// A finite number.
    case number(Double)
    /// True or false.
    case flag(Bool)
}

extension FormsAttribute: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
    /// A text.
    public init(stringLiteral value: String) { self = .text(value) }
    /// A number.
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
    /// A number.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// True or false.
    public init(booleanLiteral value: Bool) { self = .flag(value) }
}

extension FormsAttribute {
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`.
    static func check(_ attributes: [String: FormsAttribute?]) throws {
        for (name, attribute) in attributes {
            guard FormsEvent.isName(name), !name.contains(".") else {
                throw RepriseError(
                    .malformed,
                    "An attribute's name has 1 to \(FormsLimits.eventCharacters) characters of "
                        + "A–Z a–z 0–9 _ -.")
            }
            switch attribute {
            case .text(let text):
                guard text.utf8.count <= FormsEngineLimits.attributeText else {
                    throw RepriseError(
                        .tooLarge,
                        "The attribute \(name) has \(text.utf8.count) bytes; a text has at most "
                            + "\(FormsEngineLimits.attributeText).")
                }
            case .number(let number):
                guard number.isFinite else {
                    throw RepriseError(.malformed, "The attribute \(name) is no finite number.")
                }
            case .flag, nil: break
            }
        }
    }

    /// A JSON text, number, true or false.
    var json: String {
        var writer = JSONWriter()
        switch self {
        case .text(let text): writer.string(text)
        case .number(let number): writer.raw(Array("\(number)".utf8))
        case .flag(let flag): writer.bool(flag)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    init?(_ value: CatalogueValue) {
        switch value {
        case .string(let text): self = .text(text)
        case .number(let number): self = .number(number)
        case .bool(let flag): self = .flag(flag)
        case .null, .array, .object: return nil
        }
    }
}
