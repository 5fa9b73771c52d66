import RepriseCommandLine

/// A line of a file in which a process records its effects, read after the process was killed.
///
/// SIGKILL loses nothing that a write has returned from, but it may interrupt one between two pages
/// of the file and leave the first half. So all lines have one length, a divisor of a page's: none
/// crosses a page boundary.
enum CheckerLine {
    /// In bytes, with the line's end.
    static let length = 256

    /// - Throws: ``CommandFailure`` `.internal` if the text does not fit.
    static func bytes(_ text: String) throws -> [UInt8] {
        let text = Array(text.utf8)
        guard text.count < length else {
            throw CommandFailure(
                .internal, "A line of \(text.count) bytes is too long for a checker.")
        }
        let filler = Array(repeating: UInt8(ascii: " "), count: length - 1 - text.count)
        return text + filler + [UInt8(ascii: "\n")]
    }
}
