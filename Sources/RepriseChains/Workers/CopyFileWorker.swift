import Foundation
import RepriseCore

/// Copies a file.
///
/// The copy grows in a hidden `.part` file beside its destination; every 4 MiB it is made durable
/// and its position is kept. Run again after a kill, it goes on from there if the source is
/// unchanged, else from the first byte. It takes its place by a rename, after its identity was
/// kept: after a kill in between the copy is recognised in its place, and nothing is copied again.
public struct CopyFileWorker: Worker {
    /// What to copy.
    public struct Input: Codable, Hashable, Sendable {
        /// Which file.
        public var source: SandboxPath
        /// Where to.
        public var destination: SandboxPath
        /// Whether a file that is there already is replaced; else it is an error.
        public var replaces: Bool

        /// Describes a copy.
        ///
        /// - Parameters:
        ///   - source: which file.
        ///   - destination: where to.
        ///   - replaces: whether a file that is there already is replaced.
        public init(
            _ source: SandboxPath, to destination: SandboxPath, replaces: Bool = true
        ) {
            self.source = source
            self.destination = destination
            self.replaces = replaces
        }
    }

    /// What was made.
    public struct Output: Codable, Hashable, Sendable {
        /// Where it is.
        public var file: SandboxPath
        /// How many bytes it has.
        public var bytes: Int64
        /// Its SHA-256, as 64 hexadecimal digits.
        public var sha256: String
    }

    /// `reprise.copy`.
    public static let identifier = "reprise.copy"

    let sandbox: Sandbox

    /// Copies the file.
    ///
    /// - Parameters:
    ///   - input: what to copy.
    ///   - work: the task.
    /// - Returns: what was made.
    /// - Throws: `HandOverFailure`; `RepriseError` `.diskFull`, `.diskFailed`, `.malformed` (the
    ///   source changed meanwhile).
    public func run(_ input: Input, _ work: WorkContext) async throws -> Output {
        try await WorkerFailure.sorting {
            let copy = FileCopy(work: work, replaces: input.replaces)
            let done = try await copy.placed(input.destination, in: sandbox)
            if let done { return done.output(input.destination) }
            let sandbox = sandbox
            let source = try await Blocking.run {
                let (folder, name) = try sandbox.folder(of: input.source)
                return try folder.reading(name)
            }
            return try await copy.run(source, to: input.destination, in: sandbox)
                .output(input.destination)
        }
    }

    /// Removes what is half written.
    ///
    /// - Parameters:
    ///   - input: what was to be done.
    ///   - key: of the task.
    public func giveUp(_ input: Input, key: String) async {
        await PartFile.discard(input.destination, in: sandbox, key: key)
    }
}

extension FileCopy.Made {
    fileprivate func output(_ file: SandboxPath) -> CopyFileWorker.Output {
        CopyFileWorker.Output(file: file, bytes: bytes, sha256: sha256)
    }
}
