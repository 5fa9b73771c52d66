import Foundation
import RepriseCore

@testable import RepriseJournal

/// Files that other processes leave: the spool and the mirror.
enum FileProperties {
    /// One folder a process, removed at its exit; in memory where the system has that.
    private static let folder: URL = {
        let memory = URL(fileURLWithPath: "/dev/shm")
        let parent =
            FileManager.default.isWritableFile(atPath: memory.path)
            ? memory : FileManager.default.temporaryDirectory
        let name = "reprise-fuzz-\(ProcessInfo.processInfo.processIdentifier)"
        let folder = parent.appendingPathComponent(name)
        try? FileManager.default.createDirectory(
            at: folder.appendingPathComponent("spool"), withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(at: FileProperties.folder) }
        return folder
    }()

    /// A file that holds `bytes` while `body` runs.
    static func with<Result>(
        _ bytes: [UInt8], in name: String, _ body: (URL) throws -> Result
    ) throws -> Result {
        let file = folder.appendingPathComponent(name)
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try body(file)
    }

    static func spool(_ bytes: [UInt8]) throws {
        try with(bytes, in: "spool/file") { _ in
            do {
                guard let record = try Spool(at: folder).read("file") else {
                    throw BrokenProperty(description: "the file is not seen")
                }
                try check(try record.entry())
            } catch let error as RepriseError {
                let known: [RepriseError.Code] = [.malformed, .tooLarge, .badID]
                try hold(known.contains(error.code), "refused with \(error)")
            }
        }
    }

    private static func check(_ entry: NewEntry) throws {
        _ = try EntryID(entry.id.text)
        for (text, most) in [
            (entry.kind, JournalLimits.nameBytes), (entry.source, JournalLimits.nameBytes),
            (entry.partitionKey ?? "", JournalLimits.partitionKeyBytes),
        ] {
            try hold(text.utf8.count <= most, "a name of \(text.utf8.count) bytes")
            try hold(!text.utf8.contains(0), "a name that SQLite would cut")
        }
        let time = WallTime(milliseconds: 7)
        let coder = (JSONEncoder(), JSONDecoder())
        let again = try coder.1.decode(
            SpoolRecord.self, from: try coder.0.encode(SpoolRecord(entry, recordedAt: time)))
        let second = try again.entry()
        try hold(
            second.id == entry.id && second.kind == entry.kind && second.source == entry.source
                && second.payload == entry.payload && second.partitionKey == entry.partitionKey
                && second.delay == entry.delay && again.recordedAt == 7,
            "decode, encode, decode gives another entry")
    }

    static func mirror(_ bytes: [UInt8]) throws {
        try with(bytes, in: "mirror.json") { _ in
            let mirror = Mirror<[String: Int64]>(in: folder, version: 2)
            do {
                guard let content = try mirror.read() else {
                    throw BrokenProperty(description: "the file is not seen")
                }
                try hold(content.version <= 2, "a mirror of version \(content.version)")
            } catch let error as RepriseError {
                let known: [RepriseError.Code] = [.malformed, .tooLarge, .journalNewer]
                try hold(known.contains(error.code), "refused with \(error)")
            }
        }
    }
}
