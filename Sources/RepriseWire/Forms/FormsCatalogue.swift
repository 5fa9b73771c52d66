/// A catalogue of forms (`forms/1`) that follows all rules of `docs/forms.md`, and its original
/// bytes.
///
/// ```swift
/// #expect(FormsCatalogue.problems(in: json).isEmpty)      // in a test
/// let catalogue = try FormsCatalogue(Array(json.utf8))
/// print(catalogue.version, catalogue.forms.count)
/// ```
///
/// The server, the page and `reprise forms check` apply the same rules.
///
/// The page shows the forms, and reads the bytes. The properties here serve the host and the tool:
/// the caps to apply, and the forms to list.
public struct FormsCatalogue: Hashable, Sendable {
    /// A cap on how often a form may be shown.
    public struct Frequency: Hashable, Sendable {
        /// So many times.
        public let most: Int
        /// In any span of this length.
        public let seconds: Int64
    }

    /// The properties of a form that the host and the tool need.
    public struct Form: Hashable, Sendable {
        /// Unique in its catalogue.
        public let id: String
        /// Its title.
        public let title: String
        /// Higher is shown first.
        public let priority: Int
        /// The names of its triggers' events, in their order, each once.
        public let events: [String]
        /// The longest delay of a trigger after its event, in seconds.
        public let longestDelay: Int64
        /// How often it may be shown; nil for no cap of its own.
        public let frequency: Frequency?
        /// When it may be shown, in milliseconds since 1970; an end that is nil is open.
        public let from: Int64?
        /// See ``from``.
        public let until: Int64?
        /// A predicate on the person's attributes; nil: anybody.
        package let audience: CatalogueValue?
        /// All of them hold.
        package let past: [FormsPast]
        /// Its own quiet time, instead of the catalogue's.
        package let quiet: Quiet?
    }

    /// A time of each day, by the device's clock, in which no form is shown.
    package struct Quiet: Hashable, Sendable {
        /// Minutes after midnight.
        package let from: Int
        /// Minutes after midnight; before ``from`` on the next day.
        package let until: Int
    }

    /// The original bytes.
    public let bytes: [UInt8]
    /// The author's version.
    public let version: String
    /// How often any form may be shown; nil for no cap.
    public let frequency: Frequency?
    /// In the order of the catalogue.
    public let forms: [Form]
    /// Of all forms that have none of their own.
    package let quiet: Quiet?
    /// The named predicates that audiences use; empty without an audience.
    let predicates: [String: CatalogueValue]
    /// The longest of all forms' delays, in seconds.
    public let longestDelay: Int64

    /// Checks a catalogue.
    ///
    /// Takes time and memory in proportion to the bytes, whatever their content.
    ///
    /// - Parameter bytes: JSON text.
    /// - Throws: ``FormsCatalogueFailure``.
    public init(_ bytes: [UInt8]) throws(FormsCatalogueFailure) {
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
        quiet = content.quiet
        predicates = content.predicates
        longestDelay = forms.map(\.longestDelay).max() ?? 0
    }

    /// The problems of a catalogue: what the server and the page would refuse.
    ///
    /// - Parameter json: the catalogue.
    /// - Returns: each with its line, its JSON pointer and what to do, in the order of the text; at
    ///   most 20; none if it can be used.
    public static func problems(in json: String) -> [FormsProblem] {
        do {
            _ = try FormsCatalogue(Array(json.utf8))
            return []
        } catch { return error.problems }
    }

    /// The form of an id.
    public func form(_ id: String) -> Form? { forms.first { $0.id == id } }
}
