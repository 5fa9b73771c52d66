import Crypto
package import Foundation
package import GRDB
import RepriseCore
import RepriseJournal

/// Outputs that are too long for a row: files in `outputs/` beside the journal.
package struct OutputFiles: Sendable {
    let folder: URL

    package init(_ journal: URL) { folder = journal.appendingPathComponent("outputs") }

    /// Stores an output; durable when it returns, so that a row never names a missing file.
    package func store(_ bytes: [UInt8]) throws -> StoredOutput {
        guard bytes.count > ChainsLimits.inlineBytes else { return StoredOutput(bytes) }
        try DurableFile.makeFolder(folder)
        let name = EntryID.random().text
        try DurableFile.write(bytes, to: folder.appendingPathComponent(name).path)
        return StoredOutput(
            file: name, count: bytes.count, hash: Data(SHA256.hash(data: bytes)))
    }

    /// Keeps a file of another journal under its name.
    package func keep(_ bytes: [UInt8], as output: StoredOutput) throws {
        guard let name = output.file else { return }
        try DurableFile.makeFolder(folder)
        try DurableFile.write(bytes, to: folder.appendingPathComponent(name).path)
    }

    package func read(_ output: StoredOutput) throws -> [UInt8] {
        if let bytes = output.bytes { return bytes }
        guard let name = output.file, !name.contains("/"), !name.hasPrefix(".") else {
            throw ChainRow.Broken(description: "an output is nowhere")
        }
        guard let bytes = try find(name) else {
            throw ChainRow.Broken(description: "the file of an output is missing")
        }
        guard bytes.count == output.count, Data(SHA256.hash(data: bytes)) == output.hash else {
            throw ChainRow.Broken(description: "the file of an output has another checksum")
        }
        return bytes
    }

    private func find(_ name: String) throws -> [UInt8]? {
        let path = folder.appendingPathComponent(name).path
        do {
            return try DurableFile.read(path, limit: ChainsLimits.outputBytes)
        } catch let error as RepriseError where [.malformed, .tooLarge].contains(error.code) {
            // No fault of the disk, which may pass.
            throw ChainRow.Broken(description: "the file of an output is none of ours: \(error)")
        }
    }

    /// Removes the files of chains that have left.
    package func remove(_ names: [String]) {
        for name in names where !name.contains("/") && !name.hasPrefix(".") {
            unlink(folder.appendingPathComponent(name).path)
        }
    }

    /// Removes files that no row names: after a kill between file and row, or with a removed chain.
    func sweep(_ journal: Journal) async throws {
        let names = self.names
        guard !names.isEmpty else { return }
        let known = try await journal.read { try Self.named($0) }
        sweep(names, but: known)
    }

    /// The files that are there.
    package var names: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    }

    /// The files that rows name.
    package static func named(_ db: Database) throws -> Set<String> {
        Set(
            try String.fetchAll(
                db, sql: "SELECT outputFile FROM chainTask WHERE outputFile IS NOT NULL"))
    }

    /// Whether a row names this file.
    static func isNamed(_ name: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM chainTask WHERE outputFile = ?)"),
            arguments: [name]) ?? true
    }

    /// Removes these files, but for those that rows name.
    package func sweep(_ names: [String], but known: Set<String>) {
        for name in names where !known.contains(name) {
            unlink(folder.appendingPathComponent(name).path)
        }
    }
}
