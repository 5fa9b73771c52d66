import Foundation
import RepriseCommandLine

/// A file in which a process records its effects, read after the process was killed: what it says
/// has happened, whatever a store reports.
///
/// SIGKILL loses nothing that a write has returned from, but it may interrupt one between two pages
/// of the file and leave the first half. So each line is one write with O_APPEND, and all have one
/// length, a divisor of a page's: none crosses a page boundary.
final class CheckerFile: Sendable {
    /// Of a line, in bytes, with its end.
    static let lineLength = 256

    private let descriptor: Int32

    /// - Throws: ``CommandFailure`` `.cannotCreate`.
    init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw CommandFailure(.cannotCreate, "\(path) cannot be created: \(reason).")
        }
    }

    deinit { close(descriptor) }

    /// - Throws: ``CommandFailure`` `.internal` if the text is too long, `.diskFailed`.
    func append(_ text: String) throws {
        let text = Array(text.utf8)
        let room = Self.lineLength - 1 - text.count
        guard room >= 0 else {
            throw CommandFailure(
                .internal, "A line of \(text.count) bytes is too long for a checker.")
        }
        let filler = Array(repeating: UInt8(ascii: " "), count: room)
        try FileOutput.write(text + filler + [UInt8(ascii: "\n")], to: descriptor)
    }
}

/// Reads a ``CheckerFile`` while it grows.
struct CheckerLog: Sendable {
    private let path: String
    /// Up to here it was read: behind a line.
    private var offset: UInt64 = 0

    init(_ path: String) { self.path = path }

    /// The words of each line that was added since; none without a file.
    mutating func next() throws -> [[Substring]] {
        guard let file = FileHandle(forReadingAtPath: path) else { return [] }
        defer { try? file.close() }
        try file.seek(toOffset: offset)
        guard let new = try file.readToEnd(), let end = new.lastIndex(of: UInt8(ascii: "\n")) else {
            return []
        }
        let whole = new[...end]
        offset += UInt64(whole.count)
        return String(decoding: whole, as: UTF8.self).split(separator: "\n")
            .map { $0.split(separator: " ") }
    }
}
