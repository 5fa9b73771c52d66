package import Foundation
import RepriseTesting
import Synchronization

/// A small file system in memory, for what a test cannot do to the real one.
///
/// Only root may mount, and not in every container: enable a suite by ``canMount``.
package final class TemporaryDisk: Sendable {
    /// Says so once where it is not possible.
    package static let canMount: Bool = {
        guard getuid() == 0, (try? TemporaryDisk(kibibytes: 64)) != nil else {
            print("tests on full and read-only disks are skipped; they need root on Linux")
            return false
        }
        return true
    }()

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package let folder: URL
    private let temporary: TemporaryFolder?

    /// Mounts it at a folder that is made for it, or else at a temporary one.
    package init(kibibytes: Int, at place: URL? = nil) throws {
        if let place {
            (folder, temporary) = (place, nil)
        } else {
            let made = try TemporaryFolder()
            (folder, temporary) = (made.url, made)
        }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Self.run("mount", "-t", "tmpfs", "-o", "size=\(kibibytes)k", "tmpfs", folder.path)
    }

    deinit { try? Self.run("umount", "-l", folder.path) }

    /// Mounts it anew: `ro`, `size=8m`.
    package func remount(_ option: String) throws {
        try Self.run("mount", "-o", "remount,\(option)", folder.path)
    }

    private var ballast: URL { folder.appending(path: "ballast") }

    /// Takes so many MiB; all that there is, if there is less.
    package func fill(mebibytes: Int) {
        try? Data(count: mebibytes * 1_048_576).write(to: ballast)
    }

    /// Locked while the disk is filled: space freed meanwhile would be taken, too.
    private let isFilling = Mutex(())

    /// Takes all that there is.
    package func fillUp() { isFilling.withLock { _ in fillBallast() } }

    private func fillBallast() {
        guard FileManager.default.createFile(atPath: ballast.path, contents: nil),
            let file = try? FileHandle(forWritingTo: ballast)
        else { return }
        defer { try? file.close() }
        while (try? file.write(contentsOf: Data(count: 65_536))) != nil {}
    }

    /// Gives back what ``fill(mebibytes:)`` and ``fillUp()`` took.
    package func makeRoom() throws {
        try isFilling.withLock { _ in try FileManager.default.removeItem(at: ballast) }
    }

    private static func run(_ program: String, _ arguments: String...) throws {
        let (status, words) = try Command.runBlocking(program, arguments)
        guard status == 0 else { throw Failure(description: "\(program): \(status) \(words)") }
    }
}
