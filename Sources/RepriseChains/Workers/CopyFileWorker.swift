import Foundation
import RepriseCore

/// Copies a file.
///
/// The copy grows in a hidden `.part` file beside its destination; every 4 MiB it is made durable
/// and its position is kept. After a kill it continues from there if the source is unchanged, else
/// from the first byte. Its identity is kept before it is renamed into place: after a kill in
/// between the copy is recognised there, and nothing is copied again.
public struct CopyFileWorker: Worker {
    /// The input of a copy.
    public struct Input: Codable, Hashable, Sendable {
        /// The file to read, in the sandbox.
        public var source: SandboxPath
        /// Where it is afterwards, in the sandbox; complete or absent.
        public var destination: SandboxPath
        /// Whether an existing file is replaced; else it is an error.
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

    /// The output of a copy.
    public struct Output: Codable, Hashable, Sendable {
        /// Its place.
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
    ///   - input: source and destination.
    ///   - work: the task.
    /// - Returns: the copy.
    /// - Throws: `DispatchFailure`; `RepriseError` `.diskFull`, `.diskFailed`, `.malformed` (the
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

    /// Removes the half-written file.
    ///
    /// - Parameters:
    ///   - input: the task's input.
    ///   - key: of the task.
    public func onAbandon(_ input: Input, key: String) async {
        await PartFile.discard(input.destination, in: sandbox, key: key)
    }
}

extension FileCopy.Made {
    fileprivate func output(_ file: SandboxPath) -> CopyFileWorker.Output {
        CopyFileWorker.Output(file: file, bytes: bytes, sha256: sha256)
    }
}
