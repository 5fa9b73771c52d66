import Foundation
import RepriseCore

/// Removes a file, but no folder.
///
/// The file's identity is kept before it is removed. Run again after a kill, it knows that it
/// removed the file: `existed` is true. A file that never existed is told apart from that, and
/// succeeds too unless the input requires it. A new file under the same name stays.
public struct DeleteFileWorker: Worker {
    /// The input of a removal.
    public struct Input: Codable, Hashable, Sendable {
        /// Which file.
        public var file: SandboxPath
        /// Whether a missing file is an error.
        public var mustExist: Bool

        /// Describes a removal.
        ///
        /// - Parameters:
        ///   - file: the file.
        ///   - mustExist: whether a missing file is an error.
        public init(_ file: SandboxPath, mustExist: Bool = false) {
            self.file = file
            self.mustExist = mustExist
        }
    }

    /// The output of a removal.
    public struct Output: Codable, Hashable, Sendable {
        /// Whether the file existed, at this attempt or at an earlier one.
        public var existed: Bool
    }

    /// `reprise.delete`.
    public static let identifier = "reprise.delete"

    let sandbox: Sandbox

    /// Removes the file.
    ///
    /// - Parameters:
    ///   - input: the file.
    ///   - work: the task.
    /// - Returns: whether it existed.
    /// - Throws: `DispatchFailure`; `RepriseError` `.diskFailed`.
    public func run(_ input: Input, _ work: WorkContext) async throws -> Output {
        try await WorkerFailure.sorting {
            let sandbox = sandbox
            let saved = work.saved(as: FileFacts.self)
            let facts = try await Blocking.run { try Self.look(input.file, in: sandbox) }
            if let saved, facts?.isSame(as: saved) != true { return Output(existed: true) }
            guard let facts else {
                guard !input.mustExist else {
                    throw RepriseError(
                        .noSuchFile, "There is no \(input.file).", remedy: "Look at the path.")
                }
                return Output(existed: false)
            }
            guard facts.kind == .file else {
                throw RepriseError(
                    facts.kind == .link ? .outsideSandbox : .noSuchFile,
                    "\(input.file) is not a file.", remedy: "Name a file; no link is followed.")
            }
            if saved == nil { try await work.checkpoint(facts) }
            try await Blocking.run {
                let (folder, name) = try sandbox.folder(of: input.file)
                try folder.remove(name)
                try folder.sync()
            }
            return Output(existed: true)
        }
    }

    private static func look(_ path: SandboxPath, in sandbox: Sandbox) throws -> FileFacts? {
        do {
            let (folder, name) = try sandbox.folder(of: path)
            return try folder.look(name)
        } catch let error as RepriseError where error.code == .noSuchFile {
            return nil
        }
    }
}
