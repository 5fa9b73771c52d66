import Foundation
import RepriseWire

/// A form on the screen of ``ScriptedWebViews``, as a person sees it.
public struct ScriptedForm: Hashable, Sendable {
    /// One of its inputs.
    public struct Field: Hashable, Sendable {
        /// Its label.
        public let label: String
        /// Its type, as in the catalogue.
        public let type: String
        /// Whether it must be answered.
        public let isRequired: Bool
        /// The labels of its options; empty for a field without.
        public let options: [String]
        /// The typed text, or the values of the chosen options.
        public internal(set) var value: [String] = []
        /// What is wrong with the answer; empty if nothing.
        public internal(set) var error = ""
    }

    /// Its id in the catalogue.
    public let id: String
    /// Its heading.
    public let title: String
    /// Its text; empty if it has none.
    public let text: String
    /// Its inputs, from top to bottom.
    public internal(set) var fields: [Field]
    /// The labels of its buttons; every form has "Close", too.
    public let buttons: [String]
    /// What it says below the inputs: "Sending…", why something did not work; empty if nothing.
    public internal(set) var status = ""
    /// Whether a button was pressed whose actions are not recorded yet.
    public internal(set) var isBusy = false
    /// The label of what has the keyboard's focus; nil: the form itself.
    public internal(set) var focus: String?

    /// The field with this label.
    public func field(_ label: String) -> Field? { fields.first { $0.label == label } }
}

/// The state of a form on the screen, by the rules of `Web/forms.js`.
struct ScriptedScreen {
    let form: ScriptedCatalogue.Form
    private(set) var shown: ScriptedForm
    private var focus: Int?

    /// What can have the focus, in the order of Tab.
    private enum Stop {
        case close
        case field(Int)
        case button(Int)
    }

    /// What a person's act leads to.
    enum Effect {
        case nothing
        case press(button: Int)
        case end(how: String)
    }

    init(_ form: ScriptedCatalogue.Form) {
        self.form = form
        shown = ScriptedForm(
            id: form.id, title: form.title, text: form.text ?? "",
            fields: (form.fields ?? []).map { field in
                ScriptedForm.Field(
                    label: field.label, type: field.type, isRequired: field.required ?? false,
                    options: (field.options ?? []).map(\.label))
            }, buttons: (form.buttons ?? []).map(\.label))
    }

    private var fields: [ScriptedCatalogue.Field] { form.fields ?? [] }
    private var buttons: [ScriptedCatalogue.Button] { form.buttons ?? [] }

    private var stops: [(label: String, stop: Stop)] {
        [("Close", .close)] + fields.indices.map { (fields[$0].label, .field($0)) }
            + buttons.indices.map { (buttons[$0].label, .button($0)) }
    }

    /// The labels of everything that can be clicked.
    var labels: [String] {
        stops.map(\.label) + fields.flatMap { ($0.options ?? []).map(\.label) }
    }

    // MARK: A person

    /// Nil if nothing has this label.
    mutating func click(_ label: String) -> Effect? {
        // Buttons first: a person who says “Send” means the button.
        let order = stops.indices.filter { !isField($0) } + stops.indices.filter(isField)
        if let index = order.first(where: { matches($0, label) }) {
            setFocus(index)
            switch stops[index].stop {
            case .close: return .end(how: "close")
            case .button(let button): return .press(button: button)
            case .field(let field):
                if fields[field].type == "checkbox" { toggle(field, "true") }
                return .nothing
            }
        }
        for (place, field) in fields.enumerated() {
            guard let option = field.options?.first(where: { $0.label == label }) else { continue }
            setFocus(place + 1)
            choose(option.value, place)
            return .nothing
        }
        return nil
    }

    private func isField(_ index: Int) -> Bool {
        if case .field = stops[index].stop { true } else { false }
    }

    private func matches(_ index: Int, _ label: String) -> Bool {
        stops[index].label == label
            || isField(index) && label == stops[index].label + " optional"
    }

    private mutating func setFocus(_ index: Int?) {
        focus = index
        shown.focus = index.map { stops[$0].label }
    }

    private var focusedField: Int? {
        guard let focus, case .field(let field) = stops[focus].stop else { return nil }
        return field
    }

    /// False if no field for text has the focus.
    mutating func type(_ text: String) -> Bool {
        guard let field = focusedField,
            !["choice", "choices", "checkbox"].contains(fields[field].type)
        else { return false }
        // Only these have more than one line.
        let typed = fields[field].type == "multiline" ? text : text.filter { !$0.isNewline }
        shown.fields[field].value = [(shown.fields[field].value.first ?? "") + typed]
        changed(field)
        return true
    }

    mutating func clear(_ field: Int) {
        shown.fields[field].value = []
        changed(field)
    }

    func index(ofField label: String) -> Int? { fields.firstIndex { $0.label == label } }

    mutating func choose(_ value: String, _ field: Int) {
        if fields[field].type == "choices" {
            toggle(field, value)
        } else {
            shown.fields[field].value = [value]
            changed(field)
        }
    }

    private mutating func toggle(_ field: Int, _ value: String) {
        var chosen = Set(shown.fields[field].value)
        if chosen.remove(value) == nil { chosen.insert(value) }
        let order = fields[field].options?.map(\.value) ?? ["true"]
        shown.fields[field].value = order.filter(chosen.contains)
        changed(field)
    }

    /// Nil for a key that does nothing here.
    mutating func press(_ key: String, isShifted: Bool) -> Effect? {
        switch key {
        case "Escape": return .end(how: "escape")
        case "Tab":
            let count = stops.count
            let next = isShifted ? (focus ?? 0) - 1 : (focus ?? -1) + 1
            setFocus((next + count) % count)
            return .nothing
        case "Enter", " ":
            guard let focus else { return nil }
            switch stops[focus].stop {
            case .close: return .end(how: "close")
            case .button(let button): return .press(button: button)
            case .field(let field):
                if key == " ", fields[field].type == "checkbox" {
                    toggle(field, "true")
                    return .nothing
                }
                guard key == "Enter" else { return typed(" ") }
                if fields[field].type == "multiline" { return typed("\n") }
                let submit = buttons.firstIndex { $0.actions.contains { $0.type == "submit" } }
                return submit.map { .press(button: $0) } ?? .nothing
            }
        default: return key.count == 1 ? typed(key) : nil
        }
    }

    private mutating func typed(_ text: String) -> Effect? { type(text) ? .nothing : nil }

    // MARK: Answers

    private func answer(_ field: Int) -> CatalogueValue? {
        let value = shown.fields[field].value
        let text = value.first ?? ""
        switch fields[field].type {
        case "checkbox": return .bool(!value.isEmpty)
        case "choices": return value.isEmpty ? nil : .array(value.map { .string($0) })
        case "number": return Double(text).flatMap { $0.isFinite ? .number($0) : nil }
        case "email", "text":
            let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
            return trimmed.isEmpty ? nil : .string(trimmed)
        default: return text.isEmpty ? nil : .string(text)
        }
    }

    var answers: CatalogueValue {
        var answers: [String: CatalogueValue] = [:]
        for (place, field) in fields.enumerated() { answers[field.name] = answer(place) }
        return .object(answers)
    }

    private func problem(_ place: Int) -> String {
        let field = fields[place]
        let text = shown.fields[place].value.first ?? ""
        let answer = answer(place)
        switch field.type {
        case "number" where !text.isEmpty && answer == nil: return "Please enter a number."
        case "date" where !text.isEmpty && !Self.isDate(text): return "Please enter a date."
        case "email":
            if let address = answer?.text, !Self.isAddress(address) {
                return "Please enter an e-mail address, like ada@example.org."
            }
        default: break
        }
        guard let answer else { return field.required == true ? "Please answer this." : "" }
        if case .bool(false) = answer { return field.required == true ? "Please answer this." : "" }
        if let number = answer.number {
            if let minimum = field.minimum, number < minimum {
                return "Please enter at least \(Self.text(minimum))."
            }
            if let maximum = field.maximum, number > maximum {
                return "Please enter at most \(Self.text(maximum))."
            }
        }
        let most = field.maximumLength ?? 4_000
        if field.type != "choice", let text = answer.text, text.unicodeScalars.count > most {
            return "Please use at most \(Self.text(Double(most))) characters."
        }
        return ""
    }

    private static func text(_ number: Double) -> String {
        number.formatted(
            .number.precision(.significantDigits(1...15)).locale(Locale(identifier: "en_US")))
    }

    private static func isDate(_ text: String) -> Bool {
        guard let parts = text.wholeMatch(of: /(\d{4,})-(\d{2})-(\d{2})/)?.output,
            let year = Int(parts.1), let month = Int(parts.2), let day = Int(parts.3)
        else { return false }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let components = DateComponents(year: year, month: month, day: day)
        return components.isValidDate(in: calendar)
    }

    /// As browsers judge `<input type=email>` (WHATWG HTML, valid e-mail address).
    private static func isAddress(_ text: String) -> Bool {
        let label = #"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"#
        let pattern = #"^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@"# + "\(label)(?:\\.\(label))*$"
        return text.range(of: pattern, options: .regularExpression) != nil
    }

    /// An answer has changed: only where something was wrong it is checked at once.
    private mutating func changed(_ field: Int) {
        if !shown.fields[field].error.isEmpty { shown.fields[field].error = problem(field) }
    }

    /// Whether all answers can be sent; if not, says so and leads to the first that cannot.
    mutating func check() -> Bool {
        for place in fields.indices { shown.fields[place].error = problem(place) }
        let wrong = fields.indices.filter { !shown.fields[$0].error.isEmpty }
        guard let first = wrong.first else { return true }
        shown.status = wrong.map { "\(fields[$0].label): \(shown.fields[$0].error)" }
            .joined(separator: "\n")
        setFocus(first + 1)
        return false
    }

    mutating func report(_ status: String, isBusy: Bool) {
        shown.status = status
        shown.isBusy = isBusy
    }

    func actions(of button: Int) -> [ScriptedCatalogue.Action] { buttons[button].actions }
}
