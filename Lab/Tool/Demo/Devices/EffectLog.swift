import RepriseCore
import RepriseTesting

/// The messages that a device has handled, by the file that its handler writes for a channel: the
/// observer outside the journal.
struct EffectLog: Sendable {
    private var file: CheckerLog

    /// The ids dispatched at least once.
    private(set) var ids: Set<EntryID> = []
    /// The number of lines: one for each dispatch.
    private(set) var lines = 0
    /// The highest sequence; 0 without any line.
    private(set) var highest: Int64 = 0
    /// How many lines say that it was not the first time.
    private(set) var laterAttempts = 0

    init(_ path: String) { file = CheckerLog(path) }

    /// The number of repeated dispatches.
    var repeated: Int { lines - ids.count }

    /// Reads what has been added.
    mutating func update() throws {
        for words in try file.next() {
            guard words.count == 3, let id = try? EntryID(String(words[1])) else { continue }
            ids.insert(id)
            highest = max(highest, Int64(words[0]) ?? 0)
            lines += 1
            if words[2] != "1" { laterAttempts += 1 }
        }
    }
}

extension LineFile {
    /// Appends the line of a dispatch.
    func append(seq: Int64, id: EntryID, attempt: Int) {
        append("\(seq) \(id) \(attempt)")
    }
}
