/// A problem of a catalogue, with its place.
package struct FormsProblem: Hashable, Sendable, CustomStringConvertible {
    /// Counted from 1.
    package let line: Int
    /// A JSON pointer (RFC 6901); empty for the catalogue itself.
    package let pointer: String
    /// A sentence that says what to do.
    package let message: String

    /// In the format of a compiler's message, without the file.
    package var description: String {
        "\(line): \(message)" + (pointer.isEmpty ? "" : " (\(pointer))")
    }
}

/// A catalogue that cannot be used.
package struct FormsCatalogueFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// At least one and at most ``FormsLimits/problems``, in the order of the text.
    package let problems: [FormsProblem]

    package init(_ problems: [FormsProblem]) { self.problems = problems }

    /// A line each.
    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
