import Foundation
import RepriseCore

/// Copies an open file into the sandbox, and resumes after a kill: for the workers that copy, move
/// and take over transfers.
struct FileCopy: Sendable {
    /// The finished copy.
    struct Made: Codable, Hashable, Sendable {
        let bytes: Int64
        let sha256: String
    }

    /// The checkpoint between attempts.
    struct Kept: Codable, Sendable {
        var source: FileFacts?
        var bytes: Int64 = 0
        var placing: Placing<Made>?
    }

    let work: WorkContext
    let replaces: Bool
    var sha256: String?
    /// How much of the task's progress was made before.
    var progressBefore = 0.0

    /// Whether an earlier attempt finished it except for its record.
    func placed(_ destination: SandboxPath, in sandbox: Sandbox) async throws -> Made? {
        guard let placing = work.saved(as: Kept.self)?.placing,
            try await placing.isDone(destination, in: sandbox, key: work.key)
        else { return nil }
        return placing.output
    }

    /// Copies; the source's identity must not change.
    func run(
        _ source: OpenFile, to destination: SandboxPath, in sandbox: Sandbox
    ) async throws -> Made {
        let kept = work.saved(as: Kept.self)
        let facts = try await Blocking.run { try source.facts() }
        let part = try await PartFile.open(
            destination, in: sandbox, key: work.key, replacing: replaces)
        if let made = try await part.finish(kept?.placing, replacing: replaces) { return made }
        if let kept, let before = kept.source, facts.isUnchanged(since: before) {
            _ = try await part.begin(at: kept.bytes)
        } else {
            _ = try await part.begin(at: 0)
        }
        let (folder, rest) = (part.folder, facts.size - (await part.bytes))
        try await Blocking.run { try folder.checkRoom(for: rest) }
        try await append(source, facts, to: part)
        let digest = await part.digest
        do {
            try SHA256Text.compare(sha256, with: digest)
        } catch {
            await part.discard()
            throw error
        }
        let work = work
        return try await part.finish(
            Made(bytes: await part.bytes, sha256: digest), replacing: replaces
        ) {
            try await work.checkpoint(Kept(placing: $0))
        }
    }

    private func append(_ source: OpenFile, _ facts: FileFacts, to part: PartFile) async throws {
        var at = await part.bytes
        var kept = at
        while at < facts.size {
            try Task.checkCancellation()
            let (position, want) = (at, Int(min(Int64(WorkerLimits.piece), facts.size - at)))
            let piece = try await Blocking.run { try source.read(want, at: position) }
            guard !piece.isEmpty else { break }
            try await part.write(piece)
            at += Int64(piece.count)
            guard at - kept >= WorkerLimits.checkpointBytes else { continue }
            try await part.sync()
            try await work.checkpoint(Kept(source: facts, bytes: at))
            kept = at
            let share = Double(at) / Double(facts.size)
            await work.progress(progressBefore + (1 - progressBefore) * share)
        }
        guard try await Blocking.run({ try source.facts() }).isUnchanged(since: facts) else {
            throw RepriseError(
                .malformed, "The file was written to while it was copied.",
                remedy: "It is copied again; copy a file that nobody writes to.")
        }
    }
}
