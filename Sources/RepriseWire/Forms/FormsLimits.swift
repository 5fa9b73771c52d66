/// The bounds of a catalogue of forms; `docs/limits/forms.md` lists them.
///
/// Characters are Unicode code points.
package enum FormsLimits {
    /// The most bytes of a catalogue.
    package static let catalogueBytes = 1_048_576
    /// The most problems that one check reports.
    package static let problems = 20
    /// The most forms, and the most named predicates.
    package static let forms = 2_000
    /// The most triggers of a form.
    package static let triggers = 32
    /// The most fields of a form.
    package static let fields = 20
    /// The most options of a field.
    package static let options = 100
    /// The most buttons of a form.
    package static let buttons = 8
    /// The most actions of a button.
    package static let actions = 8
    /// The most characters of a visible text, and of a compared value.
    package static let textCharacters = 4_000
    /// The most characters of an id, a version, or the name of a predicate or a field.
    package static let idCharacters = 64
    /// The most characters of an event's name.
    package static let eventCharacters = 56
    /// The most characters of a path into an event's properties.
    package static let pathCharacters = 256
    /// The most characters of a URL; a picture that is a `data:` URL is bounded by the catalogue
    /// alone.
    package static let urlCharacters = 2_048
    /// The most bytes of an event's properties, as JSON text.
    package static let propertyBytes = 65_536
    /// How deep predicates may nest, `use` followed.
    package static let predicateDepth = 16
    /// The most predicates of a trigger, `use` followed.
    package static let predicateNodes = 256
    /// The most values in an `in` comparison.
    package static let choices = 256
    /// The longest delay, in seconds.
    package static let delaySeconds: Int64 = 86_400
    /// The greatest count of a cap.
    package static let capCount: Int64 = 1_000
    /// The longest period of a cap, in seconds: a leap year.
    package static let capSeconds: Int64 = 31_622_400
    /// The most conditions on a form's past.
    package static let past = 8
    /// The greatest priority; the least is its negative.
    package static let priority: Int64 = 1_000_000
}
