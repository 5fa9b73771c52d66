/// The outcome of a request for a catalogue of forms.
package enum FormsOutcome: String, Sendable, CaseIterable {
    case sent, unchanged, missing, stored, refused
}
