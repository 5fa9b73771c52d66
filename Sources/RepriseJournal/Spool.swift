public import Foundation
public import RepriseCore

/// Records entries for a journal that another process owns: from an app extension, a command line
/// tool.
///
/// ```swift
/// try Spool(at: sharedFolder).record(
///     NewEntry(id: id, kind: "push.shown", source: "extension", payload: body))
/// ```
///
/// One file a record, present whole or not at all. It never opens the journal: iOS kills a process
/// that is suspended while it holds a lock in a shared container.
public struct Spool: Sendable {
    /// The folder of the files, where no accounts share it.
    package let folder: URL
    private let place: URL
    private let timekeeper: any Timekeeper

    /// Names the spool of a journal.
    ///
    /// - Parameter folder: the journal's folder, or the shared folder that it was configured with.
    ///   Where accounts share it, each record goes to who is signed in then, or to the journal from
    ///   before the sign-in. The files are in `spool/` in it.
    public init(at folder: URL) { self.init(at: folder, timekeeper: SystemTimekeeper()) }

    package init(at folder: URL, timekeeper: any Timekeeper) {
        place = folder
        self.folder = Self.files(in: folder)
        self.timekeeper = timekeeper
    }

    static func files(in folder: URL) -> URL { folder.appendingPathComponent("spool") }

    /// Where a record goes now.
    private func current() throws -> URL {
        switch SharedAccount(in: place).current() {
        case .folder(let part, user: _): return Self.files(in: part)
        case .nobody:
            return Self.files(in: place.appendingPathComponent(SharedAccount.anonymous))
        case .unusable:
            throw RepriseError(
                .notWritable, "The shared folder does not say who is signed in.",
                remedy: "Record it again once the device has been unlocked.")
        }
    }

    /// Leaves an entry for the owner; returns once it is durable.
    ///
    /// The owner checks at the merge whether its kind is declared.
    ///
    /// - Parameter entry: a payload of at most 262,144 bytes.
    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge`; `.full` when 4,096 files wait;
    ///   `.diskFull`, `.notWritable`, `.diskFailed`.
    public func record(_ entry: NewEntry) throws {
        let folder = try current()
        try EntryCheck.check(entry)
        let now = timekeeper.wall()
        let bytes = [UInt8](try JSONEncoder().encode(SpoolRecord(entry, recordedAt: now)))
        guard bytes.count <= JournalLimits.spoolFileBytes else {
            throw RepriseError(.tooLarge, "The record is larger than a spool file may be.")
        }
        try DurableFile.makeFolder(folder)
        guard try names(in: folder).count < JournalLimits.spoolFiles else {
            throw RepriseError(
                .full, "\(JournalLimits.spoolFiles) files wait in the spool.",
                remedy: "Let the owner of the journal run.")
        }
        // Names sort by time, so that the owner merges in the order recorded.
        let digits = String(max(now.milliseconds, 0))
        let time = String(repeating: "0", count: max(0, 16 - digits.count)) + digits
        let name = "\(time)-\(EntryID.random().text).json"
        try DurableFile.write(bytes, to: folder.appendingPathComponent(name).path)
    }

    /// The names of the waiting files, oldest first.
    func names() throws -> [String] { try names(in: folder) }

    private func names(in folder: URL) throws -> [String] {
        guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
        do {
            let all = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            return all.filter { !$0.hasPrefix(DurableFile.temporaryPrefix) }.sorted()
        } catch {
            throw RepriseError(.diskFailed, "The spool cannot be listed.", cause: error)
        }
    }

    /// The payloads of a kind that still wait, for the extension that wrote them; oldest first.
    ///
    /// Skips unreadable files, because the owner judges them.
    ///
    /// - Parameters:
    ///   - kind: the name of a kind.
    ///   - count: the most files to read; the newest.
    /// - Returns: their payloads, oldest first.
    package func waiting(of kind: String, newest count: Int) -> [[UInt8]] {
        ((try? names()) ?? []).suffix(count).compactMap { name in
            guard let record = try? read(name), record.kind == kind else { return nil }
            return [UInt8](record.payload)
        }
    }

    /// Hands each record to `body`, oldest first, and removes it then; a kill in between repeats
    /// one.
    ///
    /// A bad file, and a record that `body` calls malformed, is moved to `aside/` beside the spool.
    ///
    /// - Throws: the first other error of `body`; the rest waits.
    package func drain(_ body: (NewEntry) async throws -> Void) async throws -> SpoolReport {
        var report = SpoolReport()
        for name in try names() {
            do {
                guard let record = try read(name) else { continue }
                try await body(try record.entry())
                unlink(folder.appendingPathComponent(name).path)
                report.accepted += 1
            } catch let error as RepriseError where error.isAboutSpoolFile {
                try setAside(name)
                report.rejected.append(.init(name: name, reason: error.description))
            }
        }
        return report
    }

    /// Moves the files of another spool here, left before there were accounts; what cannot be moved
    /// now waits there.
    func take(from other: Spool) {
        guard let names = try? other.names(), !names.isEmpty,
            (try? DurableFile.makeFolder(folder)) != nil
        else { return }
        for name in names {
            try? DurableFile.move(
                other.folder.appendingPathComponent(name).path,
                to: folder.appendingPathComponent(name).path)
        }
    }

    /// Lets the app write and read the spool before the device is unlocked for the first time.
    package func makeReadableWhileLocked() throws {
        try DurableFile.makeFolder(folder)
        DurableFile.protect(folder.path, .none)
    }

    /// Moves a bad file aside, so that it never blocks the rest.
    func setAside(_ name: String) throws {
        // In the spool's file system, or it could not be moved there.
        let aside = folder.deletingLastPathComponent().appendingPathComponent("aside")
        let path = folder.appendingPathComponent(name).path
        try DurableFile.makeFolder(aside)
        let taken = (try? FileManager.default.contentsOfDirectory(atPath: aside.path)) ?? []
        guard taken.count(where: { $0.hasPrefix("spool-") }) < JournalLimits.spoolFilesAside else {
            try? FileManager.default.removeItem(atPath: path)
            return
        }
        // A free name, within the 255 bytes that a file system allows: a file that cannot be moved
        // would block the rest.
        var target = "spool-" + String(decoding: name.utf8.prefix(200), as: UTF8.self)
        if taken.contains(target) { target += "-\(EntryID.random().text)" }
        try DurableFile.move(path, to: aside.appendingPathComponent(target).path)
    }

    /// Reads one file.
    ///
    /// - Returns: nil if it is gone.
    func read(_ name: String) throws -> SpoolRecord? {
        let path = folder.appendingPathComponent(name).path
        guard let bytes = try DurableFile.read(path, limit: JournalLimits.spoolFileBytes) else {
            return nil
        }
        do {
            return try ForeignJSON.decode(SpoolRecord.self, from: bytes)
        } catch {
            throw RepriseError(.malformed, "It is not a spool record.", cause: error)
        }
    }
}

/// The content of a spool file.
struct SpoolRecord: Codable, Sendable {
    static let version = 1

    var version: Int
    var id: String
    var kind: String
    var source: String
    var payload: Data
    var partitionKey: String?
    var delay: Int64?
    var recordedAt: Int64

    init(_ entry: NewEntry, recordedAt: WallTime) {
        version = Self.version
        id = entry.id.text
        kind = entry.kind
        source = entry.source
        payload = Data(entry.payload)
        partitionKey = entry.partitionKey
        delay = entry.delay?.milliseconds
        self.recordedAt = recordedAt.milliseconds
    }

    func entry() throws -> NewEntry {
        guard version == Self.version else {
            throw RepriseError(.malformed, "It has version \(version), which is not known here.")
        }
        let entry = NewEntry(
            id: try EntryID(id), kind: kind, source: source, payload: [UInt8](payload),
            partitionKey: partitionKey,
            delay: delay.map { .milliseconds($0) })
        try EntryCheck.check(entry)
        return entry
    }

    private enum CodingKeys: String, CodingKey {
        case version
        case id
        case kind
        case source
        case payload
        case partitionKey = "lane"
        case delay
        case recordedAt
    }
}
