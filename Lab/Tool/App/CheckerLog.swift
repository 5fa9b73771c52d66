import Foundation
import RepriseTesting

extension LineFile {
    /// What a process has done, read after it was killed: whatever a store reports.
    convenience init(effects path: String) throws { try self.init(path, length: 256) }
}

/// Reads a `LineFile` while it grows.
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
