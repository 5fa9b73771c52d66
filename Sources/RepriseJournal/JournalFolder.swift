import Foundation
import RepriseCore

/// The paths of a journal's files.
struct JournalFolder: Sendable {
    let url: URL
    /// The folder of the spool and the mirror.
    let shared: URL

    init(_ url: URL, shared: URL? = nil) {
        self.url = url
        self.shared = shared ?? url
    }

    var database: String { url.appendingPathComponent("journal.sqlite").path }
    var lock: String { url.appendingPathComponent("owner.lock").path }
    var aside: URL { url.appendingPathComponent("aside") }
    var spool: URL { shared.appendingPathComponent("spool") }

    /// Makes the folder if it is absent.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.notAJournal` if something else is in its place;
    ///   `.badConfiguration` in the container of an app group.
    func prepare() throws {
        try AppGroupContainer.refuse(url)
        if !FileManager.default.fileExists(atPath: database) { try Self.refuseOthers(in: url) }
        try DurableFile.makeFolder(url)
        if shared != url { try DurableFile.makeFolder(shared) }
        // Those that an older version made.
        for folder in [url, shared] { DurableFile.protect(folder.path, .untilFirstUnlock) }
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: database, isDirectory: &isFolder),
            isFolder.boolValue
        {
            throw RepriseError(
                .notAJournal, "\(database) is a folder.",
                remedy: "Name a folder that holds a journal, or an empty one.")
        }
    }

    /// Refuses a foreign folder: a new journal is not made beside a server's data or among the
    /// journals of accounts.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.notAJournal`; nothing is written.
    static func refuseOthers(in folder: URL) throws {
        func holds(_ name: String) -> Bool {
            FileManager.default.fileExists(atPath: folder.appendingPathComponent(name).path)
        }
        if holds("messages.sqlite") || holds("accounts.sqlite") {
            throw RepriseError(
                .notAJournal, "The folder \(folder.path) holds the data of a server.",
                remedy: "Give the journal a folder of its own.")
        }
        if holds("account.json") {
            throw RepriseError(
                .notAJournal, "The folder \(folder.path) holds the journals of accounts.",
                remedy: JournalFolder(folder).remedy)
        }
    }

    /// The error of a reader who finds no database here.
    var absence: RepriseError {
        let files = FileManager.default
        var isFolder: ObjCBool = false
        let why =
            if files.fileExists(atPath: database) {
                "\(database) is a folder"
            } else if !files.fileExists(atPath: url.path, isDirectory: &isFolder) {
                "\(url.path) does not exist"
            } else if isFolder.boolValue {
                "\(url.path) has no file journal.sqlite"
            } else {
                "\(url.path) is a file, and a journal is a folder"
            }
        return RepriseError(.notAJournal, "There is no journal: \(why).", remedy: remedy)
    }

    /// The folders to name instead of this one, which has no journal: its first subfolders that
    /// have one, as of accounts.
    var remedy: String {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        var found: [String] = []
        for name in names.sorted().prefix(JournalLimits.foldersSearched)
        where found.count < JournalLimits.foldersNamed {
            guard name.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else { continue }
            let path = JournalFolder(url.appendingPathComponent(name)).database
            if FileManager.default.fileExists(atPath: path) { found.append("“\(name)”") }
        }
        guard !found.isEmpty else {
            return "Check the path, and that the app or the tool has opened its journal there."
        }
        return "These folders in it have one, name one of them: \(found.joined(separator: ", "))."
    }

    // MARK: Suspicion

    private var mark: String { url.appendingPathComponent("suspect").path }

    /// Whether SQLite reported damage since the database was last proved sound.
    var isSuspect: Bool { FileManager.default.fileExists(atPath: mark) }

    /// Marks that the next opening must prove the database sound.
    ///
    /// Best effort: without it, the damage shows again at the same place.
    func suspect() { try? DurableFile.write([], to: mark) }

    func acquit() { unlink(mark) }
}
