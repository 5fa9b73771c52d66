import Foundation
import GRDB
public import RepriseCore

/// The result of merging the spool.
public struct SpoolReport: Hashable, Sendable {
    /// A file that was moved to `aside/`.
    public struct Rejected: Hashable, Sendable {
        /// Its name in the spool.
        public let name: String
        /// The defect.
        public let reason: String
    }

    /// Records that became entries.
    public internal(set) var accepted = 0
    /// Records that were duplicates.
    public internal(set) var duplicates = 0
    /// Bad files that were moved aside.
    public internal(set) var rejected: [Rejected] = []
    /// Why files were left for the next merge, if any were: the journal is full, or a file cannot
    /// be read now.
    public internal(set) var stopped: RepriseError?

    /// An empty report.
    public init() {}
}

/// Merges the spool: a file's name is recorded in the transaction that records its entry, and only
/// then the file is removed.
///
/// After a kill at any moment, the next merge knows which files are done.
struct SpoolMerge: Sendable {
    private let writer: GroupWriter
    private let store: EntryStore
    /// That of extensions, and the journal's own, into which a tool writes.
    private let spools: [Spool]

    /// Files a transaction.
    private static let page = 64

    init(of folder: JournalFolder, writer: GroupWriter, store: EntryStore) {
        self.writer = writer
        self.store = store
        let folders = folder.shared == folder.url ? [folder.url] : [folder.shared, folder.url]
        spools = folders.map { Spool(at: $0) }
    }

    func run() async throws -> SpoolReport {
        var report = SpoolReport()
        for spool in spools { try await merge(spool, into: &report) }
        try await forget()
        return report
    }

    private func merge(_ spool: Spool, into report: inout SpoolReport) async throws {
        DurableFile.sweep(spool.folder, prefixes: [DurableFile.temporaryPrefix])
        let names = try spool.names()
        var start = names.startIndex
        while start < names.endIndex, report.stopped?.code != .full {
            let end = min(start + Self.page, names.endIndex)
            try await merge(Array(names[start..<end]), of: spool, into: &report)
            start = end
        }
    }

    private enum Result: Sendable {
        case recorded(Recorded)
        /// An interrupted merge had recorded it.
        case known
        case bad(String)
    }

    private func merge(
        _ names: [String], of spool: Spool, into report: inout SpoolReport
    ) async throws {
        var found: [(name: String, record: SpoolRecord)] = []
        for name in names {
            do {
                if let record = try spool.read(name) { found.append((name, record)) }
            } catch let error as RepriseError where error.isAboutSpoolFile {
                try await reject(name, of: spool, error.description, into: &report)
            } catch let error as RepriseError {
                // Not readable now, as before the first unlock: it waits, and does not block the
                // others.
                report.stopped = error
            }
        }
        let results: [Result]
        do {
            results = try await writer.write { [store, found] db in
                try found.map { try Self.merge($0.name, $0.record, store: store, in: db) }
            }
        } catch let error as RepriseError where error.code == .full {
            report.stopped = error
            return
        }
        for (file, result) in zip(found, results) {
            switch result {
            case .recorded(.accepted): report.accepted += 1
            case .recorded(.duplicate): report.duplicates += 1
            case .known: break
            case .bad(let why):
                try await reject(file.name, of: spool, why, into: &report)
                continue
            }
            unlink(spool.folder.appendingPathComponent(file.name).path)
        }
    }

    private static func merge(
        _ name: String, _ record: SpoolRecord, store: EntryStore, in db: Database
    ) throws -> Result {
        try db.cachedStatement(sql: "INSERT INTO spooled VALUES (?) ON CONFLICT DO NOTHING")
            .execute(arguments: [name])
        guard db.changesCount == 1 else { return .known }
        do {
            return .recorded(
                try store.record(
                    try record.entry(), recordedAt: WallTime(milliseconds: record.recordedAt),
                    in: db))
        } catch let error as RepriseError where error.isAboutSpoolFile {
            return .bad(error.description)
        }
    }

    /// Moves a bad file aside, so that it never blocks the rest.
    private func reject(
        _ name: String, of spool: Spool, _ why: String, into report: inout SpoolReport
    ) async throws {
        try spool.setAside(name)
        report.rejected.append(SpoolReport.Rejected(name: name, reason: why))
        try await writer.write { db in
            try db.execute(sql: "UPDATE journal SET rejected = rejected + 1")
        }
    }

    /// Forgets the names whose files are gone for good: removed from each folder, and the folder
    /// synced to the disk.
    private func forget() async throws {
        let spools = spools.filter { FileManager.default.fileExists(atPath: $0.folder.path) }
        guard !spools.isEmpty else { return }
        let merged = try await writer.write { db in
            try String.fetchAll(db, sql: "SELECT name FROM spooled LIMIT 10000")
        }
        guard !merged.isEmpty else { return }
        var left: Set<String> = []
        for spool in spools {
            try DurableFile.syncFolder(spool.folder.path)
            left.formUnion(try spool.names())
        }
        let gone = merged.filter { !left.contains($0) }
        try await writer.write { db in
            for name in gone {
                try db.cachedStatement(sql: "DELETE FROM spooled WHERE name = ?")
                    .execute(arguments: [name])
            }
        }
    }
}

extension RepriseError {
    /// Whether another try with the same file has the same result.
    var isAboutSpoolFile: Bool { [.malformed, .tooLarge, .badID, .unknownKind].contains(code) }
}
