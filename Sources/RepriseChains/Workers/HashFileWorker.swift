import Crypto
import Foundation
import RepriseCore

/// Computes the SHA-256 of a file.
///
/// Changes nothing: run again, it reads the file from its first byte. A file that is written to
/// meanwhile is an error, and retried.
public struct HashFileWorker: Worker {
    /// The file to read.
    public struct Input: Codable, Hashable, Sendable {
        /// Which file.
        public var file: SandboxPath

        /// Names the file.
        public init(_ file: SandboxPath) { self.file = file }
    }

    /// Its size and digest.
    public struct Output: Codable, Hashable, Sendable {
        /// How many bytes.
        public var bytes: Int64
        /// SHA-256, as 64 hexadecimal digits.
        public var sha256: String
    }

    /// `reprise.hash`.
    public static let identifier = "reprise.hash"

    let sandbox: Sandbox

    /// Reads the file.
    ///
    /// - Parameters:
    ///   - input: the file.
    ///   - work: the task.
    /// - Returns: its size and digest.
    /// - Throws: `DispatchFailure`; `RepriseError` `.diskFailed`, `.malformed` (the file changed
    ///   meanwhile).
    public func run(_ input: Input, _ work: WorkContext) async throws -> Output {
        try await WorkerFailure.sorting {
            let sandbox = sandbox
            let file = try await Blocking.run {
                let (folder, name) = try sandbox.folder(of: input.file)
                return try folder.reading(name)
            }
            let facts = try await Blocking.run { try file.facts() }
            let (digest, bytes) = try await Self.digest(file, facts, work)
            guard try await Blocking.run({ try file.facts() }).isUnchanged(since: facts) else {
                throw RepriseError(
                    .malformed, "The file was written to while it was read.",
                    remedy: "It is read again; name a file that nobody writes to.")
            }
            return Output(bytes: bytes, sha256: digest)
        }
    }

    private static func digest(
        _ file: OpenFile, _ facts: FileFacts, _ work: WorkContext
    ) async throws -> (String, Int64) {
        var hash = SHA256()
        var at: Int64 = 0
        while at < facts.size {
            try Task.checkCancellation()
            let position = at
            let piece = try await Blocking.run { try file.read(WorkerLimits.piece, at: position) }
            guard !piece.isEmpty else { break }
            hash.update(data: piece)
            at += Int64(piece.count)
            await work.progress(Double(at) / Double(max(facts.size, at)))
        }
        return (Hex.text(hash.finalize()), at)
    }
}
