import RepriseCore

/// Reads a catalogue, from the top down: its forms and their visible content.
///
/// Predicates, the only recursive part, are bounded: no input can exhaust the stack.
enum CatalogueReader {
    typealias Value = JSONScanner.Value
    typealias Members = CheckedJSON.Members

    /// The content of a valid catalogue.
    struct Content {
        var version = ""
        var frequency: FormsCatalogue.Frequency?
        var forms: [FormsCatalogue.Form] = []
        var quiet: FormsCatalogue.Quiet?
        var predicates: [String: CatalogueValue] = [:]
    }

    static func read(
        _ bytes: UnsafeBufferPointer<UInt8>
    ) throws(FormsCatalogueFailure) -> Content {
        try CheckedJSON.read(bytes, { catalogue(&$0, $1) }, otherwise: Content())
    }

    private static func catalogue(_ json: inout CheckedJSON, _ value: Value) -> Content {
        var content = Content()
        let known = ["$schema", "format", "version", "frequency", "quiet", "predicates", "forms"]
        // A catalogue of another format cannot be checked further.
        guard let members = json.members(of: value) else { return content }
        guard
            json.member("format", of: members, isNeeded: true, { $0.word($1, of: ["forms/1"]) })
                != nil
        else { return content }
        json.refuse(allBut: known, of: members)
        content.version = json.member("version", of: members, isNeeded: true) { $0.id($1) } ?? ""
        content.frequency = json.member("frequency", of: members) { Self.frequency(&$0, $1) }
        content.quiet = json.member("quiet", of: members) { ConditionReader.quiet(&$0, $1) }
        let named =
            json.member("predicates", of: members) { PredicateReader.namedPredicates(&$0, $1) }
            ?? NamedPredicates()
        var ids: Set<String> = []
        content.forms = json.list("forms", of: members, 0...FormsLimits.forms, isNeeded: true) {
            form(&$0, $1, named, &ids)
        }
        if content.forms.contains(where: { $0.audience != nil }),
            let value = members.values["predicates"], case .object(let found) = json.decoded(value)
        {
            content.predicates = found
        }
        return content
    }

    private static func frequency(_ json: inout CheckedJSON, _ value: Value) -> FormsCatalogue
        .Frequency?
    {
        guard let members = json.members(of: value, known: ["max", "seconds"]) else { return nil }
        let most = json.member("max", of: members, isNeeded: true) {
            $0.integer($1, 1...FormsLimits.capCount)
        }
        let seconds = json.member("seconds", of: members, isNeeded: true) {
            $0.integer($1, 1...FormsLimits.capSeconds)
        }
        guard let most, let seconds else { return nil }
        return FormsCatalogue.Frequency(most: Int(most), seconds: seconds)
    }

    private static func form(
        _ json: inout CheckedJSON, _ value: Value, _ named: NamedPredicates,
        _ ids: inout Set<String>
    ) -> FormsCatalogue.Form? {
        let known = [
            "id", "priority", "triggers", "audience", "past", "quiet", "window", "frequency",
            "title", "text", "image", "fields", "buttons",
        ]
        guard let members = json.members(of: value, known: known) else { return nil }
        let id = json.member("id", of: members, isNeeded: true) { json, value -> String? in
            guard let id = json.id(value) else { return nil }
            if !ids.insert(id).inserted {
                json.note("Another form has this id: each needs its own.", at: value)
            }
            return id
        }
        let priority = json.member("priority", of: members) {
            $0.integer($1, -FormsLimits.priority...FormsLimits.priority)
        }
        let triggers = json.list("triggers", of: members, 1...FormsLimits.triggers, isNeeded: true)
        {
            trigger(&$0, $1, named)
        }
        let audience = json.member("audience", of: members) { json, value -> CatalogueValue? in
            _ = PredicateReader.condition(&json, value, named)
            return json.decoded(value)
        }
        let past = json.list("past", of: members, 0...FormsLimits.past) {
            ConditionReader.past(&$0, $1)
        }
        let quiet = json.member("quiet", of: members) { ConditionReader.quiet(&$0, $1) }
        let window = json.member("window", of: members) { Self.window(&$0, $1) }
        let frequency = json.member("frequency", of: members) { Self.frequency(&$0, $1) }
        let title = json.member("title", of: members, isNeeded: true) { $0.text($1) }
        look(&json, of: members)
        var names: Set<String> = []
        return FormsCatalogue.Form(
            id: id ?? "", title: title ?? "", priority: Int(priority ?? 0),
            events: triggers.map(\.event).filter { names.insert($0).inserted },
            longestDelay: triggers.map(\.delay).max() ?? 0, frequency: frequency,
            from: window?.from, until: window?.until, audience: audience, past: past, quiet: quiet)
    }

    private static func window(_ json: inout CheckedJSON, _ value: Value) -> (
        from: Int64?, until: Int64?
    )? {
        guard let members = json.members(of: value, known: ["from", "until"]) else { return nil }
        let times = 0...WireLimits.greatestSequence
        let from = json.member("from", of: members) { $0.integer($1, times) }
        let until = json.member("until", of: members) { $0.integer($1, times) }
        if let from, let until, from >= until {
            json.note("This window is never open: “from” has to be less than “until”.", at: value)
        }
        return (from, until)
    }

    private static func trigger(
        _ json: inout CheckedJSON, _ value: Value, _ named: NamedPredicates
    ) -> (event: String, delay: Int64)? {
        guard let members = json.members(of: value, known: ["event", "where", "delay"]) else {
            return nil
        }
        _ = json.member("where", of: members) { PredicateReader.condition(&$0, $1, named) }
        let delay = json.member("delay", of: members) {
            $0.integer($1, 0...FormsLimits.delaySeconds)
        }
        let event = json.member("event", of: members, isNeeded: true) { $0.event($1) }
        return event.map { ($0, delay ?? 0) }
    }

    // MARK: Visible content

    private static func look(_ json: inout CheckedJSON, of members: Members) {
        _ = json.member("text", of: members) { $0.text($1, 0...FormsLimits.textCharacters) }
        _ = json.member("image", of: members) { image(&$0, $1) }
        var names: Set<String> = []
        _ = json.list("fields", of: members, 0...FormsLimits.fields) {
            FieldReader.field(&$0, $1, &names)
        }
        _ = json.list("buttons", of: members, 0...FormsLimits.buttons) { button(&$0, $1) }
    }

    private static func image(_ json: inout CheckedJSON, _ value: Value) -> Void? {
        guard let members = json.members(of: value, known: ["url", "alt"]) else { return nil }
        _ = json.member("url", of: members, isNeeded: true) { CatalogueURL.picture(&$0, $1) }
        // Empty for a decorative picture.
        _ = json.member("alt", of: members, isNeeded: true) {
            $0.text($1, 0...FormsLimits.textCharacters)
        }
        return ()
    }

    private static func button(_ json: inout CheckedJSON, _ value: Value) -> Void? {
        guard let members = json.members(of: value, known: ["label", "style", "actions"]) else {
            return nil
        }
        _ = json.member("label", of: members, isNeeded: true) { $0.text($1) }
        _ = json.member("style", of: members) { $0.word($1, of: ["primary", "plain"]) }
        _ = json.list("actions", of: members, 1...FormsLimits.actions, isNeeded: true) {
            action(&$0, $1)
        }
        return ()
    }

    private static func action(_ json: inout CheckedJSON, _ value: Value) -> Void? {
        guard let members = json.members(of: value) else { return nil }
        let type = json.member("type", of: members, isNeeded: true) {
            $0.word($1, of: ["submit", "dismiss", "deepLink", "emit"])
        }
        guard let type else { return nil }
        let own = ["deepLink": ["url"], "emit": ["name", "properties"]]
        json.refuse(allBut: ["type"] + own[type, default: []], of: members)
        if type == "deepLink" {
            _ = json.member("url", of: members, isNeeded: true) { CatalogueURL.deepLink(&$0, $1) }
        } else if type == "emit" {
            _ = json.member("name", of: members, isNeeded: true) { $0.event($1) }
            _ = json.member("properties", of: members) { $0.properties($1) }
        }
        return ()
    }
}
