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
    /// In the file system of the spool, so that a bad file can be moved there.
    var spoolAside: URL { shared.appendingPathComponent("aside") }
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
                .notAJournal, "journal.sqlite is a folder.",
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

    /// The folder to name instead of this one, which has no journal: its first subfolder that has
    /// one, as of accounts.
    var remedy: String {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        let journal = names.sorted().first { name in
            let path = url.appendingPathComponent(name).appendingPathComponent("journal.sqlite")
                .path
            return name.utf8.allSatisfy { (0x21...0x7e).contains($0) }
                && FileManager.default.fileExists(atPath: path)
        }
        guard let journal else { return "Name the folder given to Journal.open or to --journal." }
        return "There is one in the folder “\(journal)” in it: name that."
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
