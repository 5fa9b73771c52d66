import RepriseCore

/// Reads a catalogue and notes all problems, up to the bound.
///
/// The text is checked as JSON first, so that only valid values are read. It descends by the
/// format's own structure, never into unknown members, and predicates, the only recursive part, are
/// bounded: no input can exhaust the stack.
struct CatalogueReader {
    typealias Value = JSONScanner.Value

    /// The content of a valid catalogue.
    struct Content {
        var version = ""
        var frequency: FormsCatalogue.Frequency?
        var forms: [FormsCatalogue.Form] = []
    }

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

    let scanner: JSONScanner
    private var path: [Step] = []
    private var found: [(offset: Int, problem: FormsProblem)] = []

    private init(_ bytes: UnsafeBufferPointer<UInt8>) { scanner = JSONScanner(bytes) }

    static func read(
        _ bytes: UnsafeBufferPointer<UInt8>
    ) throws(FormsCatalogueFailure) -> Content {
        var reader = CatalogueReader(bytes)
        let content = reader.wholeText().map { reader.catalogue($0) } ?? Content()
        guard reader.found.isEmpty else {
            // Named predicates are checked after the triggers: a person reads from the top.
            throw FormsCatalogueFailure(
                reader.found.sorted { $0.offset < $1.offset }.map(\.problem))
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
        _ step: Step, _ body: (inout CatalogueReader) -> Result
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
        _ read: (inout CatalogueReader, Value) -> Result?
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
        _ read: (inout CatalogueReader, Value) -> Element?
    ) -> [Element] {
        member(name, of: members, isNeeded: isNeeded) { reader, value in
            guard let elements = reader.elements(of: value, count, of: name) else { return nil }
            return elements.enumerated().compactMap { index, element in
                reader.within(.element(index)) { $0.isFull ? nil : read(&$0, element) }
            }
        } ?? []
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

/// The fields of a form.
extension CatalogueReader {
    /// The settings of each type, besides those of all fields.
    private static let settings: [String: [String]] = [
        "email": ["maximumLength"], "text": ["maximumLength"], "multiline": ["maximumLength"],
        "number": ["minimum", "maximum"], "choice": ["options"], "choices": ["options"],
        "checkbox": [], "date": [],
    ]
    private static let types = [
        "email", "text", "multiline", "number", "choice", "choices", "checkbox", "date",
    ]

    /// One field; `names` are those of the fields before it.
    mutating func field(_ value: Value, _ names: inout Set<String>) -> Void? {
        guard let members = members(of: value) else { return nil }
        let type = member("type", of: members, isNeeded: true) { $0.word($1, of: Self.types) }
        guard let type else { return nil }
        let known =
            ["name", "label", "type", "required", "hint"] + Self.settings[type, default: []]
        refuse(allBut: known, of: members)
        _ = member("name", of: members, isNeeded: true) { reader, value -> Void? in
            guard let name = reader.id(value) else { return nil }
            if !names.insert(name).inserted {
                reader.note("Another field has this name: each needs its own.", at: value)
            }
            return nil
        }
        _ = member("label", of: members, isNeeded: true) { $0.text($1) }
        _ = member("required", of: members) { $0.bool($1) }
        _ = member("hint", of: members) { $0.text($1, 0...FormsLimits.textCharacters) }
        if known.contains("maximumLength") { length(members) }
        if type == "number" { range(members) }
        if known.contains("options") { options(members) }
        return ()
    }

    private mutating func length(_ members: Members) {
        _ = member("maximumLength", of: members) {
            $0.integer($1, 1...Int64(FormsLimits.textCharacters))
        }
    }

    private mutating func range(_ members: Members) {
        let minimum = member("minimum", of: members) { $0.number($1) }
        let maximum = member("maximum", of: members) { $0.number($1) }
        if let minimum, let maximum, minimum > maximum {
            note("No number fits: “minimum” is greater than “maximum”.", at: members.place)
        }
    }

    private mutating func options(_ members: Members) {
        var values: Set<String> = []
        _ = list("options", of: members, 1...FormsLimits.options, isNeeded: true) {
            $0.option($1, &values)
        }
    }

    private mutating func option(_ value: Value, _ values: inout Set<String>) -> Void? {
        guard let members = members(of: value, known: ["value", "label"]) else { return nil }
        _ = member("value", of: members, isNeeded: true) { reader, value -> Void? in
            guard let text = reader.text(value) else { return nil }
            if !values.insert(text).inserted {
                reader.note("Another option has this value: each needs its own.", at: value)
            }
            return nil
        }
        _ = member("label", of: members, isNeeded: true) { $0.text($1) }
        return ()
    }
}
