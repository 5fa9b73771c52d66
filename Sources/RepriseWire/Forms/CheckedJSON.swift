import Foundation
import RepriseCore

/// A JSON text of an author, read from the top down: notes all problems with their places, up to
/// the bound.
///
/// The text is checked as JSON first, so that only valid values are read. Who reads descends by the
/// structure that is expected, never into unknown members, so no input can exhaust the stack.
struct CheckedJSON {
    typealias Value = JSONScanner.Value

    /// One step of a pointer.
    enum Step {
        case member(String)
        case element(Int)
    }

    /// A place in the text that may turn out to be wrong later.
    struct Place {
        let offset: Int
        let pointer: String
    }

    /// The members of an object by their names.
    struct Members {
        let place: Value
        var values: [String: Value] = [:]
        /// In the order of the text.
        var names: [String] = []
    }

    private let scanner: JSONScanner
    private var path: [Step] = []
    private var found: [(offset: Int, problem: FormsProblem)] = []

    private init(_ bytes: UnsafeBufferPointer<UInt8>) { scanner = JSONScanner(bytes) }

    /// Reads a text, and hands on its one value.
    ///
    /// - Throws: ``FormsCatalogueFailure`` with all problems, in the order of the text.
    static func read<Content>(
        _ bytes: UnsafeBufferPointer<UInt8>, _ body: (inout CheckedJSON, Value) -> Content,
        otherwise empty: Content
    ) throws(FormsCatalogueFailure) -> Content {
        var json = CheckedJSON(bytes)
        let content = json.wholeText().map { body(&json, $0) } ?? empty
        guard json.found.isEmpty else {
            // Named predicates are checked after the triggers: a person reads from the top.
            throw FormsCatalogueFailure(json.found.sorted { $0.offset < $1.offset }.map(\.problem))
        }
        return content
    }

    /// The one value of the text; nil if it is not JSON.
    private mutating func wholeText() -> Value? {
        var walker = scanner
        do {
            let value = try walker.value()
            try walker.end()
            return value
        } catch {
            let reason = (error as? RepriseError)?.message ?? "\(error)"
            note("This cannot be read as JSON. \(reason)", at: walker.index)
            return nil
        }
    }

    // MARK: Problems

    /// Whether the list of problems is full; then nothing more is checked.
    var isFull: Bool { found.count >= FormsLimits.problems }

    /// Notes a problem of the value at the current path.
    mutating func note(_ message: String, at value: Value) {
        note(message, at: value.range.lowerBound)
    }

    /// Notes a problem of an earlier place.
    mutating func note(_ message: String, at place: Place) {
        guard !isFull else { return }
        found.append(
            (
                place.offset,
                FormsProblem(
                    line: line(of: place.offset), pointer: place.pointer, message: message)
            ))
    }

    private mutating func note(_ message: String, at offset: Int) {
        note(message, at: Place(offset: offset, pointer: pointer))
    }

    /// The place of a value at the current path.
    func place(of value: Value) -> Place {
        Place(offset: value.range.lowerBound, pointer: pointer)
    }

    private func line(of offset: Int) -> Int {
        scanner.bytes[..<min(offset, scanner.bytes.count)].reduce(1) { $0 + ($1 == 0x0a ? 1 : 0) }
    }

    private var pointer: String {
        path.map { step in
            switch step {
            case .member(let name):
                "/" + name.shortened.replacing("~", with: "~0").replacing("/", with: "~1")
            case .element(let index): "/\(index)"
            }
        }.joined()
    }

    // MARK: Descending

    /// Calls `body` one step further down.
    mutating func within<Result>(
        _ step: Step, _ body: (inout CheckedJSON) -> Result
    ) -> Result {
        path.append(step)
        defer { path.removeLast() }
        return body(&self)
    }

    /// The members of an object; notes a value that is not an object, and duplicate members.
    mutating func members(of value: Value) -> Members? {
        guard value.kind == .object else {
            note("An object is expected: {…}.", at: value)
            return nil
        }
        var members = Members(place: value)
        var walker = scanner.at(value)
        // The text was checked, so nothing is thrown.
        try? walker.object { key, value in
            guard !isFull, let name = try? scanner.string(key) else { return }
            guard members.values.updateValue(value, forKey: name) == nil else {
                return within(.member(name)) { $0.note("This is there twice: keep one.", at: key) }
            }
            members.names.append(name)
        }
        return members
    }

    /// The members of an object with these known names; notes all others.
    mutating func members(of value: Value, known: [String]) -> Members? {
        guard let members = members(of: value) else { return nil }
        refuse(allBut: known, of: members)
        return members
    }

    /// Notes unknown members: probably a mistake, which would silently change the form.
    mutating func refuse(allBut known: [String], of members: Members) {
        for name in members.names where !known.contains(name) {
            guard let value = members.values[name] else { continue }
            within(.member(name)) {
                $0.note(
                    "“\(name.shortened)” is not known here; there may be \(known.listed).",
                    at: value)
            }
        }
    }

    /// The elements of a list of such a length.
    mutating func elements(of value: Value, _ count: ClosedRange<Int>, of what: String) -> [Value]?
    {
        guard value.kind == .array else {
            note("A list is expected: […].", at: value)
            return nil
        }
        var elements: [Value] = []
        var walker = scanner.at(value)
        try? walker.array { elements.append($0) }
        guard count.contains(elements.count) else {
            note("There are \(elements.count) \(what); there may be \(count.said).", at: value)
            return nil
        }
        return elements
    }

    /// Reads a member; notes a required one that is missing.
    mutating func member<Result>(
        _ name: String, of members: Members, isNeeded: Bool = false,
        _ read: (inout CheckedJSON, Value) -> Result?
    ) -> Result? {
        guard let value = members.values[name] else {
            if isNeeded { note("“\(name)” is missing.", at: members.place) }
            return nil
        }
        return within(.member(name)) { read(&$0, value) }
    }

    /// Reads each element of a member that is a list.
    mutating func list<Element>(
        _ name: String, of members: Members, _ count: ClosedRange<Int>, isNeeded: Bool = false,
        _ read: (inout CheckedJSON, Value) -> Element?
    ) -> [Element] {
        member(name, of: members, isNeeded: isNeeded) { reader, value in
            guard let elements = reader.elements(of: value, count, of: name) else { return nil }
            return elements.enumerated().compactMap { index, element in
                reader.within(.element(index)) { $0.isFull ? nil : read(&$0, element) }
            }
        } ?? []
    }

    // MARK: Values; each notes a problem and is nil for an invalid one

    /// A text of so many characters.
    mutating func text(
        _ value: Value, _ count: ClosedRange<Int> = 1...FormsLimits.textCharacters
    ) -> String? {
        guard value.kind == .string, let text = try? scanner.string(value) else {
            note("A text is expected: \"…\".", at: value)
            return nil
        }
        let length = text.unicodeScalars.count
        guard count.contains(length) else {
            note(
                length == 0
                    ? "This text must not be empty."
                    : "This has \(length) characters; there may be \(count.upperBound).", at: value)
            return nil
        }
        return text
    }

    /// An id, a version, or a name by the same rule.
    mutating func id(_ value: Value, atMost most: Int = FormsLimits.idCharacters) -> String? {
        guard value.kind == .string, let text = try? scanner.string(value) else {
            note("A name is expected: \"…\".", at: value)
            return nil
        }
        guard Self.isID(text, atMost: most) else {
            note("A name has 1 to \(most) letters, digits or . _ -.", at: value)
            return nil
        }
        return text
    }

    /// The rule for ids: `[A-Za-z0-9._-]`.
    static func isID(_ text: String, atMost most: Int = FormsLimits.idCharacters) -> Bool {
        (1...most).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// The name of an event.
    mutating func event(_ value: Value) -> String? {
        id(value, atMost: FormsLimits.eventCharacters)
    }

    /// One of the given words.
    mutating func word(_ value: Value, of words: [String]) -> String? {
        guard value.kind == .string, let text = try? scanner.string(value), words.contains(text)
        else {
            note("This is one of: \(words.listed).", at: value)
            return nil
        }
        return text
    }

    /// A double has 17 significant digits: a number with hundreds is an error.
    private static let numberBytes = 400

    /// A number that a program of any language can hold.
    mutating func number(_ value: Value) -> Double? {
        guard value.kind == .number else {
            note("A number is expected.", at: value)
            return nil
        }
        guard value.range.count <= Self.numberBytes,
            let number = Double(String(decoding: scanner.raw(value), as: UTF8.self)),
            number.isFinite
        else {
            note("This number is too large.", at: value)
            return nil
        }
        return number
    }

    /// A whole number, as JavaScript understands it: 1.0 is one.
    mutating func integer(_ value: Value, _ range: ClosedRange<Int64>) -> Int64? {
        guard value.kind == .number, value.range.count <= Self.numberBytes,
            let number = Double(String(decoding: scanner.raw(value), as: UTF8.self)),
            number == number.rounded(), abs(number) <= Double(WireLimits.greatestSequence),
            range.contains(Int64(number))
        else {
            note(
                "A whole number from \(range.lowerBound) to \(range.upperBound) is expected.",
                at: value)
            return nil
        }
        return Int64(number)
    }

    /// Whether a value is null.
    func isNull(_ value: Value) -> Bool {
        value.kind == .literal && scanner.raw(value).first == UInt8(ascii: "n")
    }

    mutating func bool(_ value: Value) -> Bool? {
        let word = scanner.raw(value).first
        guard value.kind == .literal, word != UInt8(ascii: "n") else {
            note("true or false is expected.", at: value)
            return nil
        }
        return word == UInt8(ascii: "t")
    }

    /// A value that was checked, as it is; null if it cannot be held.
    func decoded(_ value: Value) -> CatalogueValue {
        (try? JSONDecoder().decode(CatalogueValue.self, from: Data(scanner.raw(value)))) ?? .null
    }

    /// Properties of an event, of which only the size is checked.
    mutating func properties(_ value: Value) -> Bool? {
        guard value.kind == .object else {
            note("Properties are an object: {…}.", at: value)
            return nil
        }
        guard value.range.count <= FormsLimits.propertyBytes else {
            note(
                "These properties have \(value.range.count) bytes; there may be "
                    + "\(FormsLimits.propertyBytes).", at: value)
            return nil
        }
        return true
    }
}

extension String {
    /// For messages: the beginning of an author's text.
    var shortened: String {
        unicodeScalars.count <= FormsLimits.idCharacters
            ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(61))) + "…"
    }
}

extension [String] {
    var listed: String { joined(separator: ", ") }
}

extension ClosedRange<Int> {
    fileprivate var said: String {
        lowerBound == 0 ? "\(upperBound) at most" : "\(lowerBound) to \(upperBound)"
    }
}
