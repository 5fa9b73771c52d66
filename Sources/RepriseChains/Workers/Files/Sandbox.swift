public import Foundation
import RepriseCore

/// The folders in which workers may access files.
///
/// ```swift
/// let sandbox = Sandbox(["documents": .documentsDirectory, "caches": .cachesDirectory])
/// ```
///
/// A path is opened one part at a time with `openat(2)` and `O_NOFOLLOW`, and the file itself is
/// opened, renamed and removed by the descriptor of its folder. So no link below a folder is ever
/// followed, whenever it was put there. The named folders themselves may be reached by links. Not
/// covered: a folder that is moved out of the sandbox while a worker uses it; hard links and
/// mounts; and ``UploadWorker`` opens its file a second time by its path, where only the last part
/// is checked for links.
public struct Sandbox: Sendable {
    /// The folders by their names.
    public let roots: [String: URL]

    /// Names the folders; they are opened when a worker needs them.
    public init(_ roots: [String: URL]) { self.roots = roots }

    /// The folder that a file is in, and the file's name there.
    ///
    /// With `making` the folders that are missing are made; the sandbox's own is not.
    func folder(
        of path: SandboxPath, making: Bool = false
    ) throws -> (folder: SandboxFolder, name: String) {
        guard let root = roots[path.root] else {
            throw RepriseError(
                .outsideSandbox, "The sandbox has no folder \(String(reflecting: path.root)).",
                remedy: "It has \(roots.keys.sorted().joined(separator: ", ")).")
        }
        var parts = try path.parts()
        let name = parts.removeLast()
        guard !PartName.isOne(name) else {
            throw RepriseError(
                .outsideSandbox, "\(name) is a name for half-written files.",
                remedy: "Give the file another name.")
        }
        var folder = try SandboxFolder(root: root.path)
        for part in parts { folder = try folder.entering(part, making: making) }
        return (folder, name)
    }

    /// Removes half-written files that are older than a chain is kept.
    ///
    /// A task that ended for good while it was not running leaves one behind. Call it now and then;
    /// it scans all folders.
    ///
    /// - Parameter age: the smallest age.
    /// - Returns: the number of removed files.
    /// - Throws: `RepriseError` `.diskFailed`, `.notWritable`.
    @discardableResult
    public func sweep(olderThan age: Duration = WorkerLimits.leftover) async throws -> Int {
        try await sweep(olderThan: age, atMost: WorkerLimits.sweep)
    }

    /// Looks at so many files and folders.
    package func sweep(olderThan age: Duration, atMost limit: Int) async throws -> Int {
        let roots = roots.values.map(\.path)
        let border = Int64(time(nil)) - age.components.seconds
        return try await Blocking.run {
            var budget = limit
            return try roots.reduce(0) { sum, root in
                guard let folder = try? SandboxFolder(root: root) else { return sum }
                return try sum + folder.sweep(before: border, depth: 0, budget: &budget)
            }
        }
    }
}
