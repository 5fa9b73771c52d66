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
