import Foundation
import RepriseCore

/// An open folder of the sandbox: all operations use its descriptor, and follow no link.
final class SandboxFolder: Sendable {
    private let descriptor: Int32

    /// Opens one of the sandbox's own folders.
    init(root path: String) throws {
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw WorkerFailure.system(errno, "open the sandbox") }
    }

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Opens a folder in it.
    func entering(_ name: String, making: Bool) throws -> SandboxFolder {
        if making, mkdirat(descriptor, name, 0o700) == 0 {
            try sync()
        } else if making, errno != EEXIST {
            throw WorkerFailure.system(errno, "make a folder")
        }
        let folder = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder < 0 else { return SandboxFolder(descriptor: folder) }
        // Linux reports ENOTDIR for a link in a folder's place.
        let number = errno
        if try look(name)?.kind == .link { throw WorkerFailure.system(ELOOP, "enter a folder") }
        guard number != ENOTDIR else {
            throw RepriseError(
                .noSuchFile, "A file stands where a folder should be.", remedy: "Look at the path.")
        }
        throw WorkerFailure.system(number, "enter a folder")
    }

    /// The attributes of this name; nil: no such file.
    func look(_ name: String) throws -> FileFacts? {
        var facts = stat()
        guard fstatat(descriptor, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 else {
            if errno == ENOENT { return nil }
            throw WorkerFailure.system(errno, "look at a file")
        }
        return FileFacts(facts)
    }

    /// A path into this very folder while it is open, even if its own path was replaced.
    ///
    /// - Returns: nil where the system has no such paths.
    func place(of name: String) -> URL? {
        #if canImport(Darwin)
            return nil
        #else
            return URL(fileURLWithPath: "/proc/self/fd/\(descriptor)/\(name)", isDirectory: false)
        #endif
    }

    /// Opens a regular file to read it.
    func reading(_ name: String) throws -> OpenFile { try opening(name, O_RDONLY) }

    /// Opens or creates a regular file with a single name, for writing.
    func writing(_ name: String) throws -> OpenFile {
        let file = try opening(name, O_RDWR | O_CREAT)
        guard try file.facts().names == 1 else {
            throw RepriseError(
                .outsideSandbox, "A half-written file has another name beside its own.",
                remedy: "Look at who writes in this folder.")
        }
        return file
    }

    private func opening(_ name: String, _ flags: Int32) throws -> OpenFile {
        // A pipe without a reader would block here for ever.
        let file = openat(descriptor, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw WorkerFailure.system(errno, "open") }
        let opened = OpenFile(descriptor: file)
        guard try opened.facts().kind == .file else {
            throw RepriseError(
                .noSuchFile, "What stands there is not a file.", remedy: "Look at the path.")
        }
        return opened
    }

    /// Renames a file; an existing target is replaced.
    func rename(_ name: String, to folder: SandboxFolder, _ target: String) throws {
        guard renameat(descriptor, name, folder.descriptor, target) == 0 else {
            throw WorkerFailure.system(errno, "rename a file")
        }
    }

    /// Renames a file, unless the target exists.
    func renameIfFree(_ name: String, to folder: SandboxFolder, _ target: String) throws {
        guard linkat(descriptor, name, folder.descriptor, target, 0) == 0 else {
            guard errno == EEXIST else { throw WorkerFailure.system(errno, "name a file") }
            throw RepriseError(
                .fileExists, "There is a file already.",
                remedy: "Choose another name, or let it be replaced.")
        }
        try remove(name)
    }

    /// Removes a file, but no folder.
    ///
    /// - Returns: false if it did not exist.
    @discardableResult
    func remove(_ name: String) throws -> Bool {
        if unlinkat(descriptor, name, 0) == 0 { return true }
        if errno == ENOENT { return false }
        throw WorkerFailure.system(errno, "remove a file")
    }

    /// Makes the names in it durable.
    func sync() throws { try OpenFile.sync(descriptor) }

    /// How many bytes can be written.
    func freeBytes() throws -> Int64 {
        var facts = statvfs()
        guard fstatvfs(descriptor, &facts) == 0 else {
            throw WorkerFailure.system(errno, "look at the disk")
        }
        let (bytes, overflow) = Int64(facts.f_bavail).multipliedReportingOverflow(
            by: Int64(facts.f_frsize))
        return overflow ? .max : bytes
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.diskFull` if the bytes do not fit.
    func checkRoom(for bytes: Int64) throws {
        guard try freeBytes() - WorkerLimits.freeBytesLeft < bytes else { return }
        throw RepriseError(
            .diskFull, "There is no space for \(bytes) bytes.",
            remedy: "Free some; \(WorkerLimits.freeBytesLeft) bytes are always left free.")
    }

    /// Removes old half-written files, here and below.
    func sweep(before border: Int64, depth: Int, budget: inout Int) throws -> Int {
        guard depth < WorkerLimits.pathParts else { return 0 }
        var count = 0
        for name in try names(atMost: budget) {
            budget -= 1
            guard budget >= 0, let facts = try look(name) else { continue }
            if facts.kind == .folder, let folder = try? entering(name, making: false) {
                count += try folder.sweep(before: border, depth: depth + 1, budget: &budget)
            } else if facts.kind == .file, PartName.isOne(name),
                facts.changed / 1_000_000_000 < border
            {
                if try remove(name) { count += 1 }
            }
        }
        return count
    }

    private func names(atMost limit: Int) throws -> [String] {
        // The stream takes the descriptor over, and moves its position.
        let own = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard own >= 0 else { throw WorkerFailure.system(errno, "open a folder") }
        guard let stream = fdopendir(own) else {
            close(own)
            throw WorkerFailure.system(errno, "read a folder")
        }
        defer { closedir(stream) }
        var names: [String] = []
        while names.count < limit, let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
