/// A problem of a catalogue, with its place.
public struct FormsProblem: Hashable, Sendable, CustomStringConvertible {
    /// Counted from 1.
    public let line: Int
    /// A JSON pointer (RFC 6901); empty for the catalogue itself.
    public let pointer: String
    /// A sentence that says what to do.
    public let message: String

    /// In the format of a compiler's message, without the file.
    public var description: String {
        "\(line): \(message)" + (pointer.isEmpty ? "" : " (\(pointer))")
    }
}

/// A catalogue that cannot be used.
public struct FormsCatalogueFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// At least one and at most `FormsLimits.problems`, in the order of the text.
    public let problems: [FormsProblem]

    package init(_ problems: [FormsProblem]) { self.problems = problems }

    /// A line each.
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}
