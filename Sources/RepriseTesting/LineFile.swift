import Foundation
import RepriseCore

/// The observer outside every database: a file of lines, each appended by one system call.
///
/// SIGKILL takes nothing away that a write has returned from, but it may stop one between two pages
/// of the file and leave the first half. So all lines of a file have one length, a part of a
/// page's: none crosses from one page into the next.
package final class LineFile: Sendable {
    private let descriptor: Int32
    /// Of a line, in bytes, with its end; nil where lines are as long as their text.
    private let length: Int?

    /// Opens a file whose lines have `length` bytes, with their ends.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.notWritable`.
    package init(_ path: String, length: Int = 64) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        self.length = length
        guard descriptor >= 0 else {
            throw RepriseError(.notWritable, "\(path): \(String(cString: strerror(errno))).")
        }
    }

    /// Standard output, on which a child says what it has done.
    package static let output = LineFile(descriptor: STDOUT_FILENO)

    private init(descriptor: Int32) {
        self.descriptor = descriptor
        length = nil
    }

    /// Appends a line; ends the process where that fails, as its effect would be counted as lost.
    package func append(_ text: String) {
        var bytes = Array(text.utf8)
        if let length {
            guard bytes.count < length else { exit(74) }
            bytes += Array(repeating: UInt8(ascii: " "), count: length - 1 - bytes.count)
        }
        bytes.append(UInt8(ascii: "\n"))
        guard write(descriptor, bytes, bytes.count) == bytes.count else { exit(74) }
    }

    /// The words of each line; none where there is no file yet.
    package static func read(_ path: String) -> [[Substring]] {
        let text = FileManager.default.contents(atPath: path) ?? Data()
        return String(decoding: text, as: UTF8.self).split(separator: "\n").map {
            $0.split(separator: " ")
        }
    }
}
