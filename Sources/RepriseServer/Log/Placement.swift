import Foundation
import RepriseCore

/// Fills an empty folder atomically: a kill leaves no incomplete folder that looks complete.
///
/// Everything is made in a folder inside and moved out at the end, `messages.sqlite` last: it marks
/// a complete folder. Inside, because a data folder may be a file system of its own. What a call
/// left that was killed is taken away by the next.
enum Placement {
    private static let unfinished = ".unfinished"
    /// In the order in which they are moved.
    private static let names = [ServerDatabase.accounts, .log].map { $0.file + ".sqlite" }

    /// Creates a missing folder and runs `body` on a place inside it.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if the folder is not empty,
    ///   `.notWritable`; the errors of `body`, after which the folder is empty again.
    static func fill<Value>(_ path: String, _ body: (String) throws -> Value) throws -> Value {
        let files = FileManager.default
        let existed = files.fileExists(atPath: path)
        try expectEmpty(path)
        for name in (try? files.contentsOfDirectory(atPath: path)) ?? [] {
            try? files.removeItem(atPath: path + "/" + name)
        }
        let place = path + "/" + unfinished
        do {
            try files.createDirectory(
                atPath: place, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw RepriseError(
                .notWritable, "The folder \(path) cannot be made.",
                remedy: "Choose a folder that this user may write to.", cause: error)
        }
        do {
            let value = try body(place)
            try moveOut(of: place, to: path)
            return value
        } catch {
            try? files.removeItem(atPath: place)
            if !existed { try? files.removeItem(atPath: path) }
            throw error
        }
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` for a file, or a folder with
    ///   content that no killed call has left.
    static func expectEmpty(_ path: String) throws {
        let files = FileManager.default
        guard files.fileExists(atPath: path) else { return }
        let found = try? files.contentsOfDirectory(atPath: path)
        guard let found, found.isEmpty || isUnfinished(found) else {
            throw RepriseError(
                .badConfiguration,
                "There is something at \(path) already, and nothing is overwritten.",
                remedy: "Name a folder that is empty or not there.")
        }
    }

    private static func isUnfinished(_ found: [String]) -> Bool {
        found.contains(unfinished) && Set(found).isSubset(of: [unfinished] + names.dropLast())
    }

    private static func moveOut(of place: String, to path: String) throws {
        let files = FileManager.default
        for name in names where files.fileExists(atPath: place + "/" + name) {
            try sync(place)
            guard rename(place + "/" + name, path + "/" + name) == 0 else {
                throw RepriseError(.diskFailed, "The files cannot be moved into \(path).")
            }
            try sync(path)
        }
        try? files.removeItem(atPath: place)
    }

    /// Makes a folder's entries durable, as SQLite does for the files.
    private static func sync(_ folder: String) throws {
        let file = open(folder, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw RepriseError(.diskFailed, "\(folder) cannot be opened.") }
        defer { close(file) }
        guard fsync(file) == 0 else {
            throw RepriseError(.diskFailed, "\(folder) cannot be made durable.")
        }
    }
}
