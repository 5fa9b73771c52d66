import Foundation
import RepriseCommandLine
import RepriseCore

/// The observer outside the journal: a file to which a handler appends a line for each dispatch.
///
/// A line is one write with O_APPEND, and a ``CheckerLine``: a killed process has written it whole
/// or not at all.
final class EffectFile: Sendable {
    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw CommandFailure(.cannotCreate, "\(path) cannot be created: \(reason).")
        }
    }

    deinit { close(descriptor) }

    func append(seq: Int64, id: EntryID, attempt: Int) throws {
        try FileOutput.write(CheckerLine.bytes("\(seq) \(id) \(attempt)"), to: descriptor)
    }
}

/// Reads an ``EffectFile`` while it grows.
struct EffectLog {
    private let path: String
    private var offset: UInt64 = 0
    private var rest: [UInt8] = []

    /// The ids dispatched at least once.
    private(set) var ids: Set<EntryID> = []
    /// The number of lines: one for each dispatch.
    private(set) var lines = 0
    /// The highest sequence; 0 without any line.
    private(set) var highest: Int64 = 0
    /// How many lines say that it was not the first time.
    private(set) var laterAttempts = 0

    init(_ path: String) { self.path = path }

    /// The number of repeated dispatches.
    var repeated: Int { lines - ids.count }

    /// Reads what has been added.
    mutating func update() throws {
        guard let file = FileHandle(forReadingAtPath: path) else { return }
        defer { try? file.close() }
        try file.seek(toOffset: offset)
        guard let data = try file.readToEnd(), !data.isEmpty else { return }
        offset += UInt64(data.count)
        rest += data
        guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { return }
        for line in rest[..<end].split(separator: UInt8(ascii: "\n")) { count(line) }
        rest.removeSubrange(...end)
    }

    private mutating func count(_ line: ArraySlice<UInt8>) {
        let words = line.split(separator: UInt8(ascii: " "))
        guard words.count == 3, let id = try? EntryID(String(decoding: words[1], as: UTF8.self))
        else { return }
        ids.insert(id)
        highest = max(highest, Int64(String(decoding: words[0], as: UTF8.self)) ?? 0)
        lines += 1
        if words[2] != [UInt8(ascii: "1")] { laterAttempts += 1 }
    }
}
