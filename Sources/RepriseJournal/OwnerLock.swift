import Foundation
import RepriseCore
import Synchronization

/// The lock that makes one process the owner of a journal: `flock` on a file that names the owner.
///
/// The system releases it when the process ends, however it ends. It only stops processes that take
/// the lock. The journal's real protection is that every commit checks the incarnation, because a
/// lock cannot stop a process that held it and was frozen.
package final class OwnerLock: Sendable {
    private let file: Mutex<Int32>

    /// Takes the lock; `takeOver` replaces a lock file that is held by a new one.
    package init(at path: String, takeOver: Bool) throws {
        let held = try Self.take(path) ?? Self.replace(path, takeOver: takeOver)
        file = Mutex(held)
    }

    deinit { release() }

    /// Whether this process's lock file is still in its place, as far as that is visible.
    ///
    /// A removed file proves nothing.
    package func isInPlace(_ path: String) -> Bool {
        file.withLock { file in
            guard file >= 0, access(path, F_OK) == 0 else { return true }
            return Self.isSame(file, path)
        }
    }

    /// Releases the lock.
    ///
    /// A second call does nothing.
    package func release() {
        file.withLock { file in
            // Unlocked first: a child process that is being started holds a copy until its exec.
            if file >= 0, flock(file, LOCK_UN) == 0 { close(file) }
            file = -1
        }
    }

    /// - Returns: nil if another process holds it.
    private static func take(_ path: String) throws -> Int32? {
        while true {
            let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard file >= 0 else {
                throw JournalFailure.system(errno, "open the lock file", at: path)
            }
            guard try lock(file) else {
                close(file)
                return nil
            }
            // Another process may have replaced the file between the two calls: then this lock
            // locks nothing.
            if isSame(file, path) {
                sign(file)
                return file
            }
            close(file)
        }
    }

    private static func replace(_ path: String, takeOver: Bool) throws -> Int32 {
        guard takeOver else {
            let holder = owner(path)
            guard holder != Int(getpid()) else {
                throw RepriseError(
                    .journalOwned, "The journal is in use by this process.",
                    remedy: "Use what has it open, or close that first.")
            }
            let owner = holder.map { " by the process \($0)" } ?? ""
            throw RepriseError(
                .journalOwned, "The journal is in use\(owner).",
                remedy: "End that process first. A frozen one ends with SIGKILL (kill -9).")
        }
        let temporary = path + "." + EntryID.random().text
        let file = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw JournalFailure.system(errno, "make a lock file", at: path) }
        guard try lock(file), rename(temporary, path) == 0 else {
            let number = errno
            unlink(temporary)
            close(file)
            throw JournalFailure.system(number, "replace the lock file", at: path)
        }
        sign(file)
        return file
    }

    private static func lock(_ file: Int32) throws -> Bool {
        while flock(file, LOCK_EX | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case EWOULDBLOCK: return false
            default:
                let number = errno
                close(file)
                throw JournalFailure.system(number, "lock the lock file")
            }
        }
        return true
    }

    private static func isSame(_ file: Int32, _ path: String) -> Bool {
        var (ours, named) = (stat(), stat())
        return fstat(file, &ours) == 0 && stat(path, &named) == 0 && ours.st_ino == named.st_ino
            && ours.st_dev == named.st_dev
    }

    /// Writes the owner into the file.
    ///
    /// For people only, so a failure is ignored.
    private static func sign(_ file: Int32) {
        let text = Array("\(getpid())\n".utf8)
        if ftruncate(file, 0) == 0 { _ = pwrite(file, text, text.count, 0) }
    }

    private static func owner(_ path: String) -> Int? {
        guard let bytes = try? DurableFile.read(path, limit: 64) else { return nil }
        return Int(String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines))
    }
}
