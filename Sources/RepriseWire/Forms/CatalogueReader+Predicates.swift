/// Predicates: the only recursive part of a catalogue.
extension CatalogueReader {
    private static let operators = [
        "equals", "notEquals", "lessThan", "atMost", "greaterThan", "atLeast", "exists", "missing",
        "contains", "startsWith", "endsWith", "in",
    ]

    /// The `where` of a trigger, with the predicates that it uses.
    mutating func condition(_ value: Value, _ named: NamedPredicates) -> Void? {
        var shape = PredicateShape()
        predicate(value, depth: 1, &shape)
        for use in shape.uses where !named.knows(use.name) { noteUnknown(use) }
        let size = named.size(of: shape)
        if size.depth > FormsLimits.predicateDepth, !named.isTooDeep(shape) {
            note(Self.tooDeep, at: value)
        }
        if size.nodes > FormsLimits.predicateNodes {
            note(
                "With all that is used this has more than \(FormsLimits.predicateNodes) predicates; "
                    + "make it simpler.", at: value)
        }
        return ()
    }

    /// The predicates that others `use` by name.
    mutating func namedPredicates(_ value: Value) -> NamedPredicates? {
        guard let members = members(of: value) else { return nil }
        guard members.names.count <= FormsLimits.forms else {
            note(
                "There are \(members.names.count) predicates; there may be \(FormsLimits.forms).",
                at: value)
            return nil
        }
        var shapes: [(name: String, place: Place, shape: PredicateShape)] = []
        for name in members.names {
            guard let value = members.values[name] else { continue }
            within(.member(name)) { reader in
                if !Self.isID(name) {
                    reader.note(
                        "A name has 1 to \(FormsLimits.idCharacters) letters, digits or . _ -.",
                        at: value)
                }
                var shape = PredicateShape()
                reader.predicate(value, depth: 1, &shape)
                shapes.append((name, reader.place(of: value), shape))
            }
        }
        return judge(shapes)
    }

    private mutating func judge(
        _ shapes: [(name: String, place: Place, shape: PredicateShape)]
    ) -> NamedPredicates {
        let named = NamedPredicates(shapes.map { ($0.name, $0.shape) })
        let places = Dictionary(shapes.map { ($0.name, $0.place) }) { first, _ in first }
        for (_, _, shape) in shapes {
            for use in shape.uses where !named.knows(use.name) { noteUnknown(use) }
        }
        if let cycle = named.cycle, let first = cycle.first, let place = places[first] {
            let way = cycle.prefix(4).map(\.shortened) + (cycle.count > 4 ? ["…"] : []) + [first]
            note("This predicate uses itself: \(way.joined(separator: " → ")).", at: place)
        }
        for name in named.tooDeep {
            guard let place = places[name] else { continue }
            note(Self.tooDeep, at: place)
        }
        return named
    }

    private static let tooDeep =
        "Predicates nest \(FormsLimits.predicateDepth) deep at most, what they use included."

    private mutating func noteUnknown(_ use: PredicateShape.Use) {
        note(
            "No predicate is called “\(use.name.shortened)”: add it to “predicates”.", at: use.place
        )
    }

    // MARK: One predicate

    private mutating func predicate(_ value: Value, depth: Int, _ shape: inout PredicateShape) {
        guard !isFull else { return }
        guard depth <= FormsLimits.predicateDepth else { return note(Self.tooDeep, at: value) }
        shape.add(depth)
        guard let members = members(of: value) else { return }
        let kinds = ["property", "and", "or", "not", "use"].filter { members.values[$0] != nil }
        guard let kind = kinds.first, kinds.count == 1 else {
            return note("A predicate has one of: property, and, or, not, use.", at: value)
        }
        guard kind != "property" else { return comparison(members) }
        refuse(allBut: [kind], of: members)
        switch kind {
        case "use":
            _ = member("use", of: members) { reader, value -> Void? in
                guard let name = reader.id(value) else { return nil }
                shape.uses.append(
                    .init(name: name, depth: depth, place: reader.place(of: value)))
                return nil
            }
        case "not":
            _ = member("not", of: members) { reader, value -> Void? in
                reader.predicate(value, depth: depth + 1, &shape)
            }
        default:
            _ = list(kind, of: members, 1...FormsLimits.predicateNodes) { reader, value -> Void? in
                reader.predicate(value, depth: depth + 1, &shape)
            }
        }
    }

    private mutating func comparison(_ members: Members) {
        _ = member("property", of: members) { $0.propertyPath($1) }
        let name = member("is", of: members, isNeeded: true) { $0.word($1, of: Self.operators) }
        guard let name else { return }
        let hasValue = name != "exists" && name != "missing"
        let known = ["property", "is"] + (hasValue ? ["value"] : [])
        refuse(allBut: known, of: members)
        guard hasValue else { return }
        _ = member("value", of: members, isNeeded: true) { reader, value -> Void? in
            switch name {
            case "in": reader.choices(value)
            case "startsWith", "endsWith": reader.operand(value, [.string], "a text")
            case "lessThan", "atMost", "greaterThan", "atLeast":
                reader.operand(value, [.string, .number], "a number or a text")
            default: reader.operand(value, [.string, .number, .literal], Self.anything)
            }
            return nil
        }
    }

    private static let anything = "a text, a number, true or false"

    private mutating func choices(_ value: Value) {
        guard let elements = elements(of: value, 1...FormsLimits.choices, of: "values") else {
            return
        }
        for (index, element) in elements.enumerated() {
            within(.element(index)) {
                $0.operand(element, [.string, .number, .literal], Self.anything)
            }
        }
    }

    private mutating func operand(_ value: Value, _ kinds: [Value.Kind], _ what: String) {
        let isNull = value.kind == .literal && scanner.raw(value).first == UInt8(ascii: "n")
        guard kinds.contains(value.kind), !isNull else {
            return note("This is compared with \(what).", at: value)
        }
        switch value.kind {
        case .string: _ = text(value, 0...FormsLimits.textCharacters)
        case .number: _ = number(value)
        case .literal, .object, .array: break
        }
    }

    private mutating func propertyPath(_ value: Value) -> String? {
        guard let path = text(value, 1...FormsLimits.pathCharacters) else { return nil }
        guard !path.split(separator: ".", omittingEmptySubsequences: false).contains("") else {
            note("A path has names between its dots, as in cart.total.", at: value)
            return nil
        }
        return path
    }
}
