import Foundation
import RepriseCore

/// Renames a file: it is in one of the two places, whole, at every moment.
///
/// The file's identity is kept before the rename. Run again after a kill, it recognises its file at
/// the destination; if the source is missing and the destination is another file, it ends with an
/// error. Both places must be on one volume; for two, copy and delete.
public struct MoveFileWorker: Worker {
    /// The input of a move.
    public struct Input: Codable, Hashable, Sendable {
        /// The file to move, in the sandbox.
        public var source: SandboxPath
        /// Where it is afterwards, in the sandbox; complete or absent.
        public var destination: SandboxPath
        /// Whether an existing file is replaced; else it is an error.
        public var replaces: Bool

        /// Describes a move.
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

    /// The output of a move.
    public struct Output: Codable, Hashable, Sendable {
        /// Its place.
        public var file: SandboxPath
        /// How many bytes it has.
        public var bytes: Int64
    }

    /// `reprise.move`.
    public static let identifier = "reprise.move"

    let sandbox: Sandbox

    /// Moves the file.
    ///
    /// - Parameters:
    ///   - input: source and destination.
    ///   - work: the task.
    /// - Returns: its place.
    /// - Throws: `DispatchFailure`; `RepriseError` `.diskFailed`.
    public func run(_ input: Input, _ work: WorkContext) async throws -> Output {
        try await WorkerFailure.sorting {
            let sandbox = sandbox
            let saved = work.saved(as: FileFacts.self)
            let found = try await Blocking.run { try Self.look(input, saved, in: sandbox) }
            if !found.isDone {
                if saved == nil { try await work.checkpoint(found.file) }
                try await Blocking.run { try Self.move(input, in: sandbox) }
            }
            await work.progress(1)
            return Output(file: input.destination, bytes: found.file.size)
        }
    }

    private static func look(
        _ input: Input, _ saved: FileFacts?, in sandbox: Sandbox
    ) throws -> (file: FileFacts, isDone: Bool) {
        let (target, name) = try sandbox.folder(of: input.destination, making: true)
        let there = try target.look(name)
        let (folder, from) = try sandbox.folder(of: input.source)
        let here = try folder.look(from)
        let isHere = saved.map { here?.isSame(as: $0) == true } ?? false
        let isThere = saved.map { there?.isSame(as: $0) == true } ?? false
        // Two files of two volumes may have one number.
        if let there, isThere, !isHere || here?.isSame(as: there) == true {
            // A kill between the new name and the end of the old one leaves both.
            if isHere, input.source != input.destination { try folder.remove(from) }
            try target.sync()
            try folder.sync()
            return (there, true)
        }
        guard let here else {
            throw RepriseError(
                .noSuchFile, "There is no \(input.source).", remedy: "Look at the path.")
        }
        guard here.kind == .file else {
            throw RepriseError(
                here.kind == .link ? .outsideSandbox : .noSuchFile,
                "\(input.source) is not a file.", remedy: "Name a file; no link is followed.")
        }
        guard there?.kind != .folder else {
            throw RepriseError(
                .fileExists, "\(input.destination) is a folder.", remedy: "Choose another name.")
        }
        guard saved == nil || isHere else {
            throw RepriseError(
                .noSuchFile, "Another file stands at \(input.source) than the one to move.",
                remedy: "Start the chain again, if this one is meant.")
        }
        return (here, input.source == input.destination)
    }

    private static func move(_ input: Input, in sandbox: Sandbox) throws {
        let (target, name) = try sandbox.folder(of: input.destination, making: true)
        let (folder, from) = try sandbox.folder(of: input.source)
        if input.replaces {
            try folder.rename(from, to: target, name)
        } else {
            try folder.renameIfFree(from, to: target, name)
        }
        try target.sync()
        try folder.sync()
    }
}
