package import Foundation
import RepriseCore

/// Atomic files that survive a power loss: present whole, or not at all.
package enum DurableFile {
    /// The prefix of half-written files; readers skip them.
    package static let temporaryPrefix = ".tmp-"

    /// Replaces a file: write, fsync, rename, fsync of the folder.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.diskFull`, `.notWritable`, `.diskFailed`,
    ///   `.notAJournal`.
    package static func write(_ bytes: [UInt8], to path: String) throws {
        let target = URL(fileURLWithPath: path)
        let folder = target.deletingLastPathComponent().path
        let temporary = "\(folder)/\(temporaryPrefix)\(EntryID.random().text)"
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw JournalFailure.system(errno, "open a file", at: temporary) }
        do {
            defer { close(file) }
            try writeAll(bytes, to: file)
            try sync(file)
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, path) == 0 else {
            let number = errno
            unlink(temporary)
            throw JournalFailure.system(number, "rename a file", at: path)
        }
        try syncFolder(folder)
    }

    /// Reads a whole regular file; follows no link.
    ///
    /// - Returns: nil if the file is absent.
    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge`, `.malformed` (not a regular file),
    ///   `.diskFailed`, `.notWritable`.
    package static func read(_ path: String, limit: Int) throws -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            if errno == ELOOP { throw RepriseError(.malformed, "It is a symbolic link.") }
            throw JournalFailure.system(errno, "open a file", at: path)
        }
        defer { close(file) }
        var information = stat()
        guard fstat(file, &information) == 0 else {
            throw JournalFailure.system(errno, "look at a file")
        }
        guard information.st_mode & S_IFMT == S_IFREG else {
            throw RepriseError(.malformed, "It is not a regular file.")
        }
        // One more than the limit, to detect a file that grows meanwhile.
        var bytes = [UInt8](repeating: 0, count: min(Int(information.st_size), limit) + 1)
        var count = 0
        while count < bytes.count {
            let room = count
            let got = bytes.withUnsafeMutableBytes { buffer in
                #if canImport(Darwin)
                    Darwin.read(file, buffer.baseAddress?.advanced(by: room), buffer.count - room)
                #else
                    Glibc.read(file, buffer.baseAddress?.advanced(by: room), buffer.count - room)
                #endif
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw JournalFailure.system(errno, "read a file") }
            if got == 0 { break }
            count += got
        }
        guard count <= limit else {
            throw RepriseError(.tooLarge, "It has more than \(limit) bytes.")
        }
        return Array(bytes.prefix(count))
    }

    /// Removes half-written files of killed processes.
    ///
    /// A file that is an hour old is abandoned; if it is not, its writer fails and has promised
    /// nothing.
    package static func sweep(_ folder: URL, prefixes: [String]) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for name in names where prefixes.contains(where: name.hasPrefix) {
            let path = folder.appendingPathComponent(name).path
            var information = stat()
            guard lstat(path, &information) == 0 else { continue }
            #if canImport(Darwin)
                let changed = information.st_mtimespec.tv_sec
            #else
                let changed = information.st_mtim.tv_sec
            #endif
            if time(nil) - changed > 3_600 { unlink(path) }
        }
    }

    /// When a file can be read on a device with a passcode.
    package enum Protection {
        /// After the first unlock since the device started, also while it is locked again.
        case untilFirstUnlock
        /// At any time.
        case none
    }

    /// Protects a file, or what will be made in a folder; on Apple systems alone.
    ///
    /// Best effort: a file may belong to another user, or may not be reached before the first
    /// unlock.
    package static func protect(_ path: String, _ protection: Protection) {
        #if canImport(Darwin)
            let type: FileProtectionType =
                switch protection {
                case .untilFirstUnlock: .completeUntilFirstUserAuthentication
                case .none: .none
                }
            try? FileManager.default.setAttributes([.protectionKey: type], ofItemAtPath: path)
        #endif
    }

    /// Makes a folder and its parents, which survive a power loss.
    package static func makeFolder(_ url: URL) throws {
        var information = stat()
        if stat(url.path, &information) == 0 {
            guard information.st_mode & S_IFMT == S_IFDIR else {
                throw JournalFailure.system(ENOTDIR, "make a folder", at: url.path)
            }
            return
        }
        guard errno == ENOENT else {
            throw JournalFailure.system(errno, "look at a folder", at: url.path)
        }
        let parent = url.deletingLastPathComponent()
        if parent.path != url.path { try makeFolder(parent) }
        guard mkdir(url.path, 0o700) == 0 || errno == EEXIST else {
            throw JournalFailure.system(errno, "make a folder", at: url.path)
        }
        protect(url.path, .untilFirstUnlock)
        try syncFolder(parent.path)
    }

    /// Makes a database that only the owner can read, if it is absent; SQLite gives its log and its
    /// index the same mode.
    ///
    /// Corrects the modes of a journal that an older version made.
    static func makePrivate(_ path: String) {
        // An existing one is not opened: closing it would drop SQLite's locks on it in this
        // process.
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if file >= 0 { close(file) }
        for name in [path, path + "-wal", path + "-shm"] {
            // An app's default may take its files away while the device is locked.
            protect(name, .untilFirstUnlock)
            var information = stat()
            guard stat(name, &information) == 0, information.st_mode & 0o077 != 0 else { continue }
            // Best effort: a file system may have no modes, and the file may belong to another
            // user.
            _ = chmod(name, 0o600)
        }
    }

    /// Makes the names in a folder durable.
    package static func syncFolder(_ path: String) throws {
        let folder = open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
        guard folder >= 0 else { throw JournalFailure.system(errno, "open a folder", at: path) }
        defer { close(folder) }
        try sync(folder)
    }

    /// Moves a file; durable in both folders.
    static func move(_ from: String, to target: String) throws {
        guard rename(from, target) == 0 else {
            throw JournalFailure.system(errno, "move a file", at: target)
        }
        for path in [from, target] {
            try syncFolder(URL(fileURLWithPath: path).deletingLastPathComponent().path)
        }
    }

    private static func writeAll(_ bytes: [UInt8], to file: Int32) throws {
        var written = 0
        while written < bytes.count {
            let start = written
            let count = bytes.withUnsafeBytes { buffer in
                #if canImport(Darwin)
                    Darwin.write(
                        file, buffer.baseAddress?.advanced(by: start), buffer.count - start)
                #else
                    Glibc.write(file, buffer.baseAddress?.advanced(by: start), buffer.count - start)
                #endif
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw JournalFailure.system(errno, "write a file") }
            written += count
        }
    }

    private static func sync(_ file: Int32) throws {
        #if canImport(Darwin)
            // There fsync leaves the data in the drive's cache.
            if fcntl(file, F_FULLFSYNC) == 0 { return }
        #endif
        guard fsync(file) == 0 else { throw JournalFailure.system(errno, "fsync") }
    }
}
