/// Predicates: the only recursive part of a catalogue.
enum PredicateReader {
    typealias Value = JSONScanner.Value
    typealias Members = CheckedJSON.Members
    typealias Place = CheckedJSON.Place

    private static let operators = [
        "equals", "notEquals", "lessThan", "atMost", "greaterThan", "atLeast", "exists", "missing",
        "contains", "startsWith", "endsWith", "in",
    ]

    /// The `where` of a trigger, with the predicates that it uses.
    static func condition(_ json: inout CheckedJSON, _ value: Value, _ named: NamedPredicates)
        -> Void?
    {
        var shape = PredicateShape()
        predicate(&json, value, depth: 1, &shape)
        for use in shape.uses where !named.knows(use.name) { noteUnknown(&json, use) }
        let size = named.size(of: shape)
        if size.depth > FormsLimits.predicateDepth, !named.isTooDeep(shape) {
            json.note(Self.tooDeep, at: value)
        }
        if size.nodes > FormsLimits.predicateNodes {
            json.note(
                "With all that is used this has more than \(FormsLimits.predicateNodes) predicates; "
                    + "make it simpler.", at: value)
        }
        return ()
    }

    /// The predicates that others `use` by name.
    static func namedPredicates(_ json: inout CheckedJSON, _ value: Value) -> NamedPredicates? {
        guard let members = json.members(of: value) else { return nil }
        guard members.names.count <= FormsLimits.forms else {
            json.note(
                "There are \(members.names.count) predicates; there may be \(FormsLimits.forms).",
                at: value)
            return nil
        }
        var shapes: [(name: String, place: Place, shape: PredicateShape)] = []
        for name in members.names {
            guard let value = members.values[name] else { continue }
            json.within(.member(name)) { json in
                if !CheckedJSON.isID(name) {
                    json.note(
                        "A name has 1 to \(FormsLimits.idCharacters) letters, digits or . _ -.",
                        at: value)
                }
                var shape = PredicateShape()
                predicate(&json, value, depth: 1, &shape)
                shapes.append((name, json.place(of: value), shape))
            }
        }
        return judge(&json, shapes)
    }

    private static func judge(
        _ json: inout CheckedJSON, _ shapes: [(name: String, place: Place, shape: PredicateShape)]
    ) -> NamedPredicates {
        let named = NamedPredicates(shapes.map { ($0.name, $0.shape) })
        let places = Dictionary(shapes.map { ($0.name, $0.place) }) { first, _ in first }
        for (_, _, shape) in shapes {
            for use in shape.uses where !named.knows(use.name) { noteUnknown(&json, use) }
        }
        if let cycle = named.cycle, let first = cycle.first, let place = places[first] {
            let way = cycle.prefix(4).map(\.shortened) + (cycle.count > 4 ? ["…"] : []) + [first]
            json.note("This predicate uses itself: \(way.joined(separator: " → ")).", at: place)
        }
        for name in named.tooDeep {
            guard let place = places[name] else { continue }
            json.note(Self.tooDeep, at: place)
        }
        return named
    }

    private static let tooDeep =
        "Predicates nest \(FormsLimits.predicateDepth) deep at most, what they use included."

    private static func noteUnknown(_ json: inout CheckedJSON, _ use: PredicateShape.Use) {
        json.note(
            "No predicate is called “\(use.name.shortened)”: add it to “predicates”.", at: use.place
        )
    }

    // MARK: One predicate

    private static func predicate(
        _ json: inout CheckedJSON, _ value: Value, depth: Int, _ shape: inout PredicateShape
    ) {
        guard !json.isFull else { return }
        guard depth <= FormsLimits.predicateDepth else { return json.note(Self.tooDeep, at: value) }
        shape.add(depth)
        guard let members = json.members(of: value) else { return }
        let kinds = ["property", "and", "or", "not", "use"].filter { members.values[$0] != nil }
        guard let kind = kinds.first, kinds.count == 1 else {
            return json.note("A predicate has one of: property, and, or, not, use.", at: value)
        }
        guard kind != "property" else { return comparison(&json, members) }
        json.refuse(allBut: [kind], of: members)
        switch kind {
        case "use":
            _ = json.member("use", of: members) { json, value -> Void? in
                guard let name = json.id(value) else { return nil }
                shape.uses.append(
                    .init(name: name, depth: depth, place: json.place(of: value)))
                return nil
            }
        case "not":
            _ = json.member("not", of: members) { json, value -> Void? in
                predicate(&json, value, depth: depth + 1, &shape)
            }
        default:
            _ = json.list(kind, of: members, 1...FormsLimits.predicateNodes) {
                json, value -> Void? in
                predicate(&json, value, depth: depth + 1, &shape)
            }
        }
    }

    private static func comparison(_ json: inout CheckedJSON, _ members: Members) {
        _ = json.member("property", of: members) { propertyPath(&$0, $1) }
        let name = json.member("is", of: members, isNeeded: true) {
            $0.word($1, of: Self.operators)
        }
        guard let name else { return }
        let hasValue = name != "exists" && name != "missing"
        let known = ["property", "is"] + (hasValue ? ["value"] : [])
        json.refuse(allBut: known, of: members)
        guard hasValue else { return }
        _ = json.member("value", of: members, isNeeded: true) { json, value -> Void? in
            switch name {
            case "in": choices(&json, value)
            case "startsWith", "endsWith": operand(&json, value, [.string], "a text")
            case "lessThan", "atMost", "greaterThan", "atLeast":
                operand(&json, value, [.string, .number], "a number or a text")
            default: operand(&json, value, [.string, .number, .literal], Self.anything)
            }
            return nil
        }
    }

    private static let anything = "a text, a number, true or false"

    private static func choices(_ json: inout CheckedJSON, _ value: Value) {
        guard let elements = json.elements(of: value, 1...FormsLimits.choices, of: "values") else {
            return
        }
        for (index, element) in elements.enumerated() {
            json.within(.element(index)) {
                operand(&$0, element, [.string, .number, .literal], Self.anything)
            }
        }
    }

    private static func operand(
        _ json: inout CheckedJSON, _ value: Value, _ kinds: [Value.Kind], _ what: String
    ) {
        guard kinds.contains(value.kind), !json.isNull(value) else {
            return json.note("This is compared with \(what).", at: value)
        }
        switch value.kind {
        case .string: _ = json.text(value, 0...FormsLimits.textCharacters)
        case .number: _ = json.number(value)
        case .literal, .object, .array: break
        }
    }

    private static func propertyPath(_ json: inout CheckedJSON, _ value: Value) -> String? {
        guard let path = json.text(value, 1...FormsLimits.pathCharacters) else { return nil }
        guard !path.split(separator: ".", omittingEmptySubsequences: false).contains("") else {
            json.note("A path has names between its dots, as in cart.total.", at: value)
            return nil
        }
        return path
    }
}
