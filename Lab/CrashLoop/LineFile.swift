import Foundation

/// The observer outside every database: a file of lines, each appended by one system call.
///
/// SIGKILL takes nothing away that a write has returned from, but it may stop one between two pages
/// of the file and leave the first half. So all lines of a file have one length, a part of a
/// page's: none crosses from one page into the next.
final class LineFile: Sendable {
    /// Of a line in a file, in bytes, with its end.
    static let length = 64

    private let descriptor: Int32
    private let isFile: Bool

    init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw ProcessFailure("\(path): \(String(cString: strerror(errno)))")
        }
        isFile = true
    }

    /// Standard output, on which a child says what it has done.
    static let output = LineFile(descriptor: STDOUT_FILENO)

    private init(descriptor: Int32) {
        self.descriptor = descriptor
        isFile = false
    }

    func append(_ text: String) {
        var bytes = Array(text.utf8)
        if isFile {
            guard bytes.count < Self.length else { exit(74) }
            bytes += Array(repeating: UInt8(ascii: " "), count: Self.length - 1 - bytes.count)
        }
        bytes.append(UInt8(ascii: "\n"))
        // Whoever cannot tell the observer must not go on: its effect would be counted as lost.
        guard write(descriptor, bytes, bytes.count) == bytes.count else { exit(74) }
    }

    /// The words of each line; none where there is no file yet.
    static func read(_ path: String) -> [[Substring]] {
        let text = FileManager.default.contents(atPath: path) ?? Data()
        return String(decoding: text, as: UTF8.self).split(separator: "\n").map {
            $0.split(separator: " ")
        }
    }
}

/// Something around the test failed, not what is tested.
struct ProcessFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// What every child does first: its complaints go to a file, and it ends when the one who started
/// it does.
enum ChildStart {
    static func begin(log: String) {
        let file = open(log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        if file >= 0 { dup2(file, STDERR_FILENO) }
        Thread {
            var byte: UInt8 = 0
            while read(STDIN_FILENO, &byte, 1) > 0 {}
            exit(0)
        }.start()
    }
}
