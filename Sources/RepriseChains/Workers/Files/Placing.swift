import Foundation
import RepriseCore

/// A durable record that a complete file is about to be renamed into place, for the next process
/// after a kill.
struct Placing<Output: Codable & Sendable>: Codable, Sendable {
    let file: FileFacts
    let output: Output

    /// Whether the file is in place; removes a second name left by a kill.
    func isDone(_ path: SandboxPath, in sandbox: Sandbox, key: String) async throws -> Bool {
        let file = file
        return try await Blocking.run {
            let (folder, name) = try sandbox.folder(of: path, making: true)
            guard let facts = try folder.look(name), facts.isUnchanged(since: file) else {
                return false
            }
            try folder.remove(PartName.of(key))
            try folder.sync()
            return true
        }
    }
}

extension PartFile {
    /// Makes the file durable, keeps its identity, and renames it into place.
    ///
    /// `keep` records the identity; it must be durable when it returns.
    func finish<Output: Codable & Sendable>(
        _ output: Output, replacing: Bool, keep: @Sendable (Placing<Output>) async throws -> Void
    ) async throws -> Output {
        try await sync()
        try await keep(Placing(file: try await facts(), output: output))
        try await place(replacing: replacing)
        return output
    }

    /// Renames the file into place, if it was complete at the kill and is unchanged.
    ///
    /// - Returns: nil if it must be made again.
    func finish<Output: Codable & Sendable>(
        _ placing: Placing<Output>?, replacing: Bool
    ) async throws -> Output? {
        guard let placing, try await facts().isUnchanged(since: placing.file) else { return nil }
        try await place(replacing: replacing)
        return placing.output
    }
}
