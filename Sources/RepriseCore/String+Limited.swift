extension String {
    /// The beginning: at most so many bytes of UTF-8, ending at a whole scalar.
    package func limited(to bytes: Int) -> String {
        guard utf8.count > bytes else { return self }
        // A slice ends before the scalar that its end lies in.
        return String(self[..<utf8.index(startIndex, offsetBy: max(bytes, 0))])
    }

    /// A peer's text within a message: its beginning in quotes, without control characters.
    package var excerpt: String {
        let start = limited(to: 40)
        return "“\(start.printable)\(start.utf8.count < utf8.count ? "…" : "")”"
    }
}
