import Crypto
import Foundation
import RepriseCore

/// A file that grows under a hidden name beside its destination, and is renamed when it is
/// complete.
///
/// `begin → write… → sync…→ place`; after a kill it continues from the last position that was
/// synced and kept.
actor PartFile {
    let folder: SandboxFolder
    /// The final name.
    let name: String
    private let partName: String
    private let file: OpenFile
    private var hash = SHA256()
    /// How many bytes it has.
    private(set) var bytes: Int64 = 0

    private init(folder: SandboxFolder, name: String, partName: String, file: OpenFile) {
        self.folder = folder
        self.name = name
        self.partName = partName
        self.file = file
    }

    /// Opens or creates the half-written file of a task.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.fileExists`, and the sandbox's errors.
    static func open(
        _ path: SandboxPath, in sandbox: Sandbox, key: String, replacing: Bool
    ) async throws -> PartFile {
        try await Blocking.run {
            let (folder, name) = try sandbox.folder(of: path, making: true)
            if let facts = try folder.look(name), !replacing || facts.kind == .folder {
                throw RepriseError(
                    .fileExists, "There is something at \(path) already.",
                    remedy: "Choose another name, or let a file be replaced.")
            }
            let partName = PartName.of(key)
            let file = try folder.writing(partName)
            return PartFile(folder: folder, name: name, partName: partName, file: file)
        }
    }

    /// Removes the half-written file of an abandoned task.
    static func discard(_ path: SandboxPath, in sandbox: Sandbox, key: String) async {
        try? await Blocking.run {
            _ = try sandbox.folder(of: path).folder.remove(PartName.of(key))
        }
    }

    /// Truncates it to a position, and hashes the part before.
    ///
    /// - Returns: false if it is shorter than that; then it is empty.
    func begin(at position: Int64) async throws -> Bool {
        hash = SHA256()
        bytes = 0
        let file = file
        let size = try await Blocking.run { try file.facts().size }
        let start = size < position ? 0 : position
        try await Blocking.run { try file.truncate(to: start) }
        while bytes < start {
            try Task.checkCancellation()
            let (at, want) = (bytes, Int(min(Int64(WorkerLimits.piece), start - bytes)))
            let piece = try await Blocking.run { try file.read(want, at: at) }
            guard !piece.isEmpty else { return try await begin(at: 0) && false }
            hash.update(data: piece)
            bytes += Int64(piece.count)
        }
        return start == position
    }

    /// Appends bytes.
    func write(_ piece: [UInt8]) async throws {
        let (file, at) = (file, bytes)
        try await Blocking.run { try file.write(piece, at: at) }
        hash.update(data: piece)
        bytes += Int64(piece.count)
    }

    /// Makes all writes durable.
    func sync() async throws {
        let file = file
        try await Blocking.run { try file.sync() }
    }

    /// SHA-256 of the written bytes, in hexadecimal digits.
    var digest: String { Hex.text(hash.finalize()) }

    /// The file's attributes.
    func facts() async throws -> FileFacts {
        let file = file
        return try await Blocking.run { try file.facts() }
    }

    /// Renames it into place, durably.
    func place(replacing: Bool) async throws {
        let (folder, name, partName) = (folder, name, partName)
        try await Blocking.run {
            if replacing {
                try folder.rename(partName, to: folder, name)
            } else {
                try folder.renameIfFree(partName, to: folder, name)
            }
            try folder.sync()
        }
    }

    /// Removes it.
    func discard() async {
        let (folder, partName) = (folder, partName)
        try? await Blocking.run { _ = try folder.remove(partName) }
    }
}
