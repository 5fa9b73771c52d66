import Foundation
import RepriseCore

/// Removes a file; a folder is none.
///
/// The file's identity is kept before it is removed. Run again after a kill, it finds nothing and
/// knows that it was there: `existed` is true. A file that was never there is told apart from that,
/// and is done as well unless the input says that it must exist. If another file has taken the name
/// meanwhile, that one stays.
public struct DeleteFileWorker: Worker {
    /// What to remove.
    public struct Input: Codable, Hashable, Sendable {
        /// Which file.
        public var file: SandboxPath
        /// Whether it is an error if there is none.
        public var mustExist: Bool

        /// Describes a removal.
        ///
        /// - Parameters:
        ///   - file: which.
        ///   - mustExist: whether it is an error if there is none.
        public init(_ file: SandboxPath, mustExist: Bool = false) {
            self.file = file
            self.mustExist = mustExist
        }
    }

    /// What was done.
    public struct Output: Codable, Hashable, Sendable {
        /// Whether there was a file, at this attempt or at an earlier one.
        public var existed: Bool
    }

    /// `reprise.delete`.
    public static let identifier = "reprise.delete"

    let sandbox: Sandbox

    /// Removes the file.
    ///
    /// - Parameters:
    ///   - input: what to remove.
    ///   - work: the task.
    /// - Returns: whether there was one.
    /// - Throws: `HandOverFailure`; `RepriseError` `.diskFailed`.
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
