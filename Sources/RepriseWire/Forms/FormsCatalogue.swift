/// A catalogue of forms (`forms/1`) that follows all rules of `docs/forms.md`, and its original
/// bytes.
///
/// ```swift
/// do {
///     let catalogue = try FormsCatalogue(bytes)
///     print(catalogue.version, catalogue.forms.count)
/// } catch let failure as FormsCatalogueFailure {
///     for problem in failure.problems { print("\(file):\(problem)") }
/// }
/// ```
///
/// The page shows the forms, and reads the bytes. The properties here serve the host and the tool:
/// the caps to apply, and the forms to list.
package struct FormsCatalogue: Hashable, Sendable {
    /// A cap on how often a form may be shown.
    package struct Frequency: Hashable, Sendable {
        /// So many times.
        package let most: Int
        /// In any span of this length.
        package let seconds: Int64
    }

    /// The properties of a form that the host and the tool need.
    package struct Form: Hashable, Sendable {
        /// Unique in its catalogue.
        package let id: String
        /// Its title.
        package let title: String
        /// Higher is shown first.
        package let priority: Int
        /// The names of its triggers' events, in their order, each once.
        package let events: [String]
        /// The longest delay of a trigger after its event, in seconds.
        package let longestDelay: Int64
        /// How often it may be shown; nil for no cap of its own.
        package let frequency: Frequency?
        /// When it may be shown, in milliseconds since 1970; an end that is nil is open.
        package let from: Int64?
        /// See ``from``.
        package let until: Int64?
    }

    /// The original bytes.
    package let bytes: [UInt8]
    /// The author's version.
    package let version: String
    /// How often any form may be shown; nil for no cap.
    package let frequency: Frequency?
    /// In the order of the catalogue.
    package let forms: [Form]
    /// The longest of all forms' delays, in seconds.
    package let longestDelay: Int64

    /// Checks a catalogue.
    ///
    /// Takes time and memory in proportion to the bytes, whatever their content.
    ///
    /// - Parameter bytes: JSON text.
    /// - Throws: ``FormsCatalogueFailure``.
    package init(_ bytes: [UInt8]) throws(FormsCatalogueFailure) {
        guard bytes.count <= FormsLimits.catalogueBytes else {
            throw FormsCatalogueFailure([
                FormsProblem(
                    line: 1, pointer: "",
                    message: "This has \(bytes.count) bytes; a catalogue has at most "
                        + "\(FormsLimits.catalogueBytes).")
            ])
        }
        let result = bytes.withUnsafeBufferPointer { text in
            Result { () throws(FormsCatalogueFailure) in try CatalogueReader.read(text) }
        }
        let content = try result.get()
        self.bytes = bytes
        version = content.version
        frequency = content.frequency
        forms = content.forms
        longestDelay = forms.map(\.longestDelay).max() ?? 0
    }

    /// The form of an id.
    package func form(_ id: String) -> Form? { forms.first { $0.id == id } }
}
