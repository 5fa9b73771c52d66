import Foundation
import RepriseCore

/// A small file system in memory for the data of one app, so that a disk can be full and the
/// machine's is not.
///
/// Only root may mount, on Linux alone, and not in every container.
struct SmallDisk: Sendable {
    /// Whether this machine can mount one.
    static let isPossible: Bool = {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent(
            "reprise-disk-\(EntryID.random().text.prefix(8))")
        defer { rmdir(place.path) }
        guard let disk = SmallDisk(at: place) else { return false }
        disk.unmount()
        return true
    }()

    private static let megabytes = 12
    private let place: URL

    /// - Returns: nil if none can be had.
    init?(at place: URL) {
        self.place = place
        #if os(Linux)
            guard getuid() == 0,
                (try? FileManager.default.createDirectory(
                    at: place, withIntermediateDirectories: true)) != nil
            else { return nil }
            let isMounted = "size=\(Self.megabytes)m".withCString { options in
                mount("tmpfs", place.path, "tmpfs", 0, options) == 0
            }
            guard isMounted else { return nil }
        #else
            return nil
        #endif
    }

    /// Discards its content; does nothing a second time.
    func unmount() {
        #if os(Linux)
            _ = umount2(place.path, 2)  // MNT_DETACH: whoever has a file of it open keeps that
        #endif
    }

    // MARK: Space

    private static func ballast(_ folder: URL) -> URL { folder.appendingPathComponent("ballast") }

    /// Fills the small disk of a folder.
    ///
    /// - Returns: false on a large disk, which stays untouched.
    static func fillUp(_ folder: URL) -> Bool {
        var facts = statvfs()
        guard statvfs(folder.path, &facts) == 0,
            UInt64(facts.f_blocks) * UInt64(facts.f_frsize) <= UInt64(megabytes) << 20
        else { return false }
        #if os(Linux)
            let file = open(ballast(folder).path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            guard file >= 0 else { return false }
            defer { close(file) }
            // Allocated, not written: not counted as the app's writes.
            let count = off_t(facts.f_bavail) * off_t(facts.f_frsize)
            return posix_fallocate(file, 0, count) == 0
        #else
            return false
        #endif
    }

    static func makeRoom(_ folder: URL) { unlink(ballast(folder).path) }
}
