import Foundation
import RepriseCore

/// That a whole file is about to take its place: written before it does, so that a process which
/// dies right after knows that it is done.
struct Placing<Output: Codable & Sendable>: Codable, Sendable {
    let file: FileFacts
    let output: Output

    /// Whether the file has taken its place; a second name that a kill has left is removed.
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
    /// Makes the file durable, has its identity kept, and gives it its name.
    ///
    /// `keep` writes down that this comes next; it must be durable when it returns.
    func finish<Output: Codable & Sendable>(
        _ output: Output, replacing: Bool, keep: @Sendable (Placing<Output>) async throws -> Void
    ) async throws -> Output {
        try await sync()
        try await keep(Placing(file: try await facts(), output: output))
        try await place(replacing: replacing)
        return output
    }

    /// Gives the file its name, if it was whole when the process died and nothing has changed it
    /// since.
    ///
    /// - Returns: nil if it has to be made.
    func finish<Output: Codable & Sendable>(
        _ placing: Placing<Output>?, replacing: Bool
    ) async throws -> Output? {
        guard let placing, try await facts().isUnchanged(since: placing.file) else { return nil }
        try await place(replacing: replacing)
        return placing.output
    }
}
