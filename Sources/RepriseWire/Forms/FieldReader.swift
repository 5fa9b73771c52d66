/// The fields of a form.
enum FieldReader {
    typealias Value = JSONScanner.Value
    typealias Members = CheckedJSON.Members

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
    static func field(_ json: inout CheckedJSON, _ value: Value, _ names: inout Set<String>)
        -> Void?
    {
        guard let members = json.members(of: value) else { return nil }
        let type = json.member("type", of: members, isNeeded: true) { $0.word($1, of: Self.types) }
        guard let type else { return nil }
        let known =
            ["name", "label", "type", "required", "hint"] + Self.settings[type, default: []]
        json.refuse(allBut: known, of: members)
        _ = json.member("name", of: members, isNeeded: true) { json, value -> Void? in
            guard let name = json.id(value) else { return nil }
            if !names.insert(name).inserted {
                json.note("Another field has this name: each needs its own.", at: value)
            }
            return nil
        }
        _ = json.member("label", of: members, isNeeded: true) { $0.text($1) }
        _ = json.member("required", of: members) { $0.bool($1) }
        _ = json.member("hint", of: members) { $0.text($1, 0...FormsLimits.textCharacters) }
        if known.contains("maximumLength") { length(&json, members) }
        if type == "number" { range(&json, members) }
        if known.contains("options") { options(&json, members) }
        return ()
    }

    private static func length(_ json: inout CheckedJSON, _ members: Members) {
        _ = json.member("maximumLength", of: members) {
            $0.integer($1, 1...Int64(FormsLimits.textCharacters))
        }
    }

    private static func range(_ json: inout CheckedJSON, _ members: Members) {
        let minimum = json.member("minimum", of: members) { $0.number($1) }
        let maximum = json.member("maximum", of: members) { $0.number($1) }
        if let minimum, let maximum, minimum > maximum {
            json.note("No number fits: “minimum” is greater than “maximum”.", at: members.place)
        }
    }

    private static func options(_ json: inout CheckedJSON, _ members: Members) {
        var values: Set<String> = []
        _ = json.list("options", of: members, 1...FormsLimits.options, isNeeded: true) {
            option(&$0, $1, &values)
        }
    }

    private static func option(
        _ json: inout CheckedJSON, _ value: Value, _ values: inout Set<String>
    )
        -> Void?
    {
        guard let members = json.members(of: value, known: ["value", "label"]) else { return nil }
        _ = json.member("value", of: members, isNeeded: true) { json, value -> Void? in
            guard let text = json.text(value) else { return nil }
            if !values.insert(text).inserted {
                json.note("Another option has this value: each needs its own.", at: value)
            }
            return nil
        }
        _ = json.member("label", of: members, isNeeded: true) { $0.text($1) }
        return ()
    }
}
