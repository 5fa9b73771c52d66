import Foundation

/// The files of apps that cannot be read before the first unlock.
///
/// Each is put aside, and a socket stands in its place: it is there, and cannot be opened. A new
/// file can still be made, which Apple's system would refuse.
struct ProtectedFiles {
    struct Failure: Error, CustomStringConvertible { let description: String }

    let folder: PhoneFolder

    func protect(_ app: PhoneAppSpec) throws {
        for path in try Self.files(below: folder.data(of: app.id)) {
            let isReadable = app.readableWhileLocked.contains {
                path == $0 || path.hasPrefix($0 + "/")
            }
            if isReadable { continue }
            let file = folder.data(of: app.id).appendingPathComponent(path)
            let aside = folder.locked(of: app.id).appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: aside.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Self.move(file, to: aside)
            guard mknod(file.path, S_IFSOCK | 0o600, 0) == 0 else { throw Self.failure(path) }
        }
    }

    func release(_ app: String) throws {
        for path in try Self.files(below: folder.locked(of: app)) {
            try Self.move(
                folder.locked(of: app).appendingPathComponent(path),
                to: folder.data(of: app).appendingPathComponent(path))
        }
        try? FileManager.default.removeItem(at: folder.locked(of: app))
    }

    /// The regular files, by their paths below the folder.
    private static func files(below folder: URL) throws -> [String] {
        guard let paths = FileManager.default.enumerator(atPath: folder.path) else { return [] }
        return paths.compactMap { $0 as? String }.filter { path in
            var information = stat()
            return lstat(folder.appendingPathComponent(path).path, &information) == 0
                && information.st_mode & S_IFMT == S_IFREG
        }
    }

    private static func move(_ from: URL, to target: URL) throws {
        guard rename(from.path, target.path) == 0 else { throw failure(from.lastPathComponent) }
    }

    private static func failure(_ path: String) -> Failure {
        Failure(description: "\(path): \(String(cString: strerror(errno)))")
    }
}
