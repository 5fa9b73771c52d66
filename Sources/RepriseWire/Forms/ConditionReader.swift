/// Reads the conditions of a form that the host decides: its past and its quiet time.
enum ConditionReader {
    typealias Value = JSONScanner.Value

    private static let bounds = ["atLeast", "atMost", "within", "notWithin"]

    static func past(_ json: inout CheckedJSON, _ value: Value) -> FormsPast? {
        guard let members = json.members(of: value) else { return nil }
        let subjects = ["form", "event"].filter { members.values[$0] != nil }
        guard let subject = subjects.first, subjects.count == 1 else {
            json.note("A condition on the past has one of: form, event.", at: value)
            return nil
        }
        let own = subject == "form" ? ["form", "was"] : ["event"]
        json.refuse(allBut: own + bounds, of: members)
        let form = json.member("form", of: members) { $0.id($1) }
        let was = json.member("was", of: members, isNeeded: subject == "form") {
            $0.word($1, of: FormsPast.Occasion.allCases.map(\.rawValue))
        }
        let event = json.member("event", of: members) { $0.event($1) }
        guard bounds.contains(where: { members.values[$0] != nil }) else {
            json.note("A condition on the past needs one of: \(bounds.listed).", at: value)
            return nil
        }
        func number(_ name: String, _ range: ClosedRange<Int64>) -> Int64? {
            json.member(name, of: members) { $0.integer($1, range) }
        }
        let atLeast = number("atLeast", 0...FormsLimits.capCount)
        let atMost = number("atMost", 0...FormsLimits.capCount)
        let within = number("within", 1...FormsLimits.capSeconds)
        let notWithin = number("notWithin", 1...FormsLimits.capSeconds)
        if let atLeast, let atMost, atLeast > atMost {
            json.note("This is never true: “atLeast” is more than “atMost”.", at: value)
        }
        let found: FormsPast.Subject? =
            if let form, let was = was.flatMap(FormsPast.Occasion.init(rawValue:)) {
                .form(form, was)
            } else { event.map(FormsPast.Subject.event) }
        return found.map {
            FormsPast(
                subject: $0, atLeast: atLeast, atMost: atMost, within: within, notWithin: notWithin)
        }
    }

    static func quiet(_ json: inout CheckedJSON, _ value: Value) -> FormsCatalogue.Quiet? {
        guard let members = json.members(of: value, known: ["from", "until"]) else { return nil }
        let from = json.member("from", of: members, isNeeded: true) { time(&$0, $1) }
        let until = json.member("until", of: members, isNeeded: true) { time(&$0, $1) }
        guard let from, let until else { return nil }
        if from == until {
            json.note("This time has no length: “from” and “until” have to differ.", at: value)
        }
        return FormsCatalogue.Quiet(from: from, until: until)
    }

    private static func time(_ json: inout CheckedJSON, _ value: Value) -> Int? {
        guard value.kind == .string, let minutes = json.text(value).flatMap(QuietHours.minutes)
        else {
            json.note("A time of day is expected, as in 22:00.", at: value)
            return nil
        }
        return minutes
    }
}
