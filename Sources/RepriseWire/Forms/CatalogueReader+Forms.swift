/// The parts of a catalogue, from the top down.
extension CatalogueReader {
    mutating func catalogue(_ value: Value) -> Content {
        var content = Content()
        let known = ["$schema", "format", "version", "frequency", "predicates", "forms"]
        // A catalogue of another format cannot be checked further.
        guard let members = members(of: value) else { return content }
        guard
            member("format", of: members, isNeeded: true, { $0.word($1, of: ["forms/1"]) }) != nil
        else { return content }
        refuse(allBut: known, of: members)
        content.version = member("version", of: members, isNeeded: true) { $0.id($1) } ?? ""
        content.frequency = member("frequency", of: members) { $0.frequency($1) }
        let named =
            member("predicates", of: members) { $0.namedPredicates($1) } ?? NamedPredicates()
        var ids: Set<String> = []
        content.forms = list("forms", of: members, 0...FormsLimits.forms, isNeeded: true) {
            $0.form($1, named, &ids)
        }
        return content
    }

    private mutating func frequency(_ value: Value) -> FormsCatalogue.Frequency? {
        guard let members = members(of: value, known: ["max", "seconds"]) else { return nil }
        let most = member("max", of: members, isNeeded: true) {
            $0.integer($1, 1...FormsLimits.capCount)
        }
        let seconds = member("seconds", of: members, isNeeded: true) {
            $0.integer($1, 1...FormsLimits.capSeconds)
        }
        guard let most, let seconds else { return nil }
        return FormsCatalogue.Frequency(most: Int(most), seconds: seconds)
    }

    private mutating func form(
        _ value: Value, _ named: NamedPredicates, _ ids: inout Set<String>
    ) -> FormsCatalogue.Form? {
        let known = [
            "id", "priority", "triggers", "window", "frequency", "title", "text", "image",
            "fields", "buttons",
        ]
        guard let members = members(of: value, known: known) else { return nil }
        let id = member("id", of: members, isNeeded: true) { reader, value -> String? in
            guard let id = reader.id(value) else { return nil }
            if !ids.insert(id).inserted {
                reader.note("Another form has this id: each needs its own.", at: value)
            }
            return id
        }
        let priority = member("priority", of: members) {
            $0.integer($1, -FormsLimits.priority...FormsLimits.priority)
        }
        let triggers = list("triggers", of: members, 1...FormsLimits.triggers, isNeeded: true) {
            $0.trigger($1, named)
        }
        let window = member("window", of: members) { $0.window($1) }
        let frequency = member("frequency", of: members) { $0.frequency($1) }
        let title = member("title", of: members, isNeeded: true) { $0.text($1) }
        look(of: members)
        var names: Set<String> = []
        return FormsCatalogue.Form(
            id: id ?? "", title: title ?? "", priority: Int(priority ?? 0),
            events: triggers.map(\.event).filter { names.insert($0).inserted },
            longestDelay: triggers.map(\.delay).max() ?? 0, frequency: frequency,
            from: window?.from, until: window?.until)
    }

    private mutating func window(_ value: Value) -> (from: Int64?, until: Int64?)? {
        guard let members = members(of: value, known: ["from", "until"]) else { return nil }
        let times = 0...WireLimits.greatestSequence
        let from = member("from", of: members) { $0.integer($1, times) }
        let until = member("until", of: members) { $0.integer($1, times) }
        if let from, let until, from >= until {
            note("This window is never open: “from” has to be less than “until”.", at: value)
        }
        return (from, until)
    }

    private mutating func trigger(
        _ value: Value, _ named: NamedPredicates
    ) -> (event: String, delay: Int64)? {
        guard let members = members(of: value, known: ["event", "where", "delay"]) else {
            return nil
        }
        _ = member("where", of: members) { $0.condition($1, named) }
        let delay = member("delay", of: members) { $0.integer($1, 0...FormsLimits.delaySeconds) }
        let event = member("event", of: members, isNeeded: true) { $0.event($1) }
        return event.map { ($0, delay ?? 0) }
    }

    // MARK: Visible content

    private mutating func look(of members: Members) {
        _ = member("text", of: members) { $0.text($1, 0...FormsLimits.textCharacters) }
        _ = member("image", of: members) { $0.image($1) }
        var names: Set<String> = []
        _ = list("fields", of: members, 0...FormsLimits.fields) { $0.field($1, &names) }
        _ = list("buttons", of: members, 0...FormsLimits.buttons) { $0.button($1) }
    }

    private mutating func image(_ value: Value) -> Void? {
        guard let members = members(of: value, known: ["url", "alt"]) else { return nil }
        _ = member("url", of: members, isNeeded: true) { $0.picture($1) }
        // Empty for a decorative picture.
        _ = member("alt", of: members, isNeeded: true) {
            $0.text($1, 0...FormsLimits.textCharacters)
        }
        return ()
    }

    private mutating func button(_ value: Value) -> Void? {
        guard let members = members(of: value, known: ["label", "style", "actions"]) else {
            return nil
        }
        _ = member("label", of: members, isNeeded: true) { $0.text($1) }
        _ = member("style", of: members) { $0.word($1, of: ["primary", "plain"]) }
        _ = list("actions", of: members, 1...FormsLimits.actions, isNeeded: true) {
            $0.action($1)
        }
        return ()
    }

    private mutating func action(_ value: Value) -> Void? {
        guard let members = members(of: value) else { return nil }
        let type = member("type", of: members, isNeeded: true) {
            $0.word($1, of: ["submit", "dismiss", "deepLink", "emit"])
        }
        guard let type else { return nil }
        let own = ["deepLink": ["url"], "emit": ["name", "properties"]]
        refuse(allBut: ["type"] + own[type, default: []], of: members)
        if type == "deepLink" {
            _ = member("url", of: members, isNeeded: true) { $0.deepLink($1) }
        } else if type == "emit" {
            _ = member("name", of: members, isNeeded: true) { $0.event($1) }
            _ = member("properties", of: members) { $0.properties($1) }
        }
        return ()
    }
}
