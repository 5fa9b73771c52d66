import Foundation
import RepriseCore
import RepriseJournal
import RepriseTesting
import Testing

@Suite("File modes of a journal")
struct PrivacyTests {
    private let kinds = [EntryKind("note")]

    private static func mode(_ url: URL) throws -> Int {
        let all = try FileManager.default.attributesOfItem(atPath: url.path)
        return try #require(all[.posixPermissions] as? NSNumber).intValue
    }

    private static func files(_ folder: URL) throws -> [URL] {
        let all = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return (all?.allObjects as? [URL] ?? []).filter { !$0.hasDirectoryPath }
    }

    @Test("The database, log, index, mirror, spool and lock can be read by their user alone")
    func modes() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open(kinds)
        try await journal.record(entry("a", "note"))
        try await journal.replace(Mirror<Int>(in: fixture.folder.url), with: 1)
        try Spool(at: fixture.folder.url).record(NewEntry(kind: "note", payload: []))
        let files = try Self.files(fixture.folder.url)
        let names = Set(files.map(\.lastPathComponent))
        #expect(names.isSuperset(of: ["journal.sqlite", "journal.sqlite-wal", "mirror.json"]))
        #expect(files.contains { $0.path.contains("/spool/") })
        for file in files {
            #expect(try Self.mode(file) == 0o600, "\(file.lastPathComponent)")
        }
        await journal.close()
    }

    @Test("A folder in an app group's container is refused before anything is written")
    func appGroup() throws {
        let home = "/private/var/mobile/Containers"
        for folder in ["Shared/AppGroup/5E1F", "Data/../Shared/AppGroup/5E1F/reprise"] {
            let error = #expect(throws: RepriseError.self) {
                try AppGroupContainer.refuse(URL(fileURLWithPath: "\(home)/\(folder)"))
            }
            #expect(error?.code == .badConfiguration, "\(folder)")
        }
        try AppGroupContainer.refuse(
            URL(fileURLWithPath: "\(home)/Data/Application/5E1F/Library/Application Support"))
    }

    @Test("The file modes of a journal that everybody could read are corrected by the next opening")
    func repaired() async throws {
        let fixture = try JournalFixture()
        let first = try await fixture.open(kinds)
        try await first.record(entry("a", "note"))
        await first.close()
        for file in try Self.files(fixture.folder.url) where file.path.contains("journal.sqlite") {
            #expect(chmod(file.path, 0o644) == 0)
        }
        let second = try await fixture.open(kinds)
        try await second.record(entry("b", "note"))
        for file in try Self.files(fixture.folder.url) where file.path.contains("journal.sqlite") {
            #expect(try Self.mode(file) == 0o600, "\(file.lastPathComponent)")
        }
        await second.close()
    }

    @Test("A process that has the journal open itself is not told to end a process")
    func ownProcess() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open(kinds)
        let error = try await #require(throws: RepriseError.self) { try await fixture.open(kinds) }
        #expect(error.code == .journalOwned && error.message.contains("this process"))
        #expect(error.remedy?.contains("End that process") == false)
        await journal.close()
    }
}
