import Foundation
import GRDB
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseCLI

/// Folders and journals that are somebody else's.
@Suite("--journal and --data: whose folder it is")
struct JournalPlaceTests {
    private func files(_ path: String) throws -> [String] {
        try #require(FileManager.default.subpaths(atPath: path)).filter { !$0.hasSuffix("-shm") }
            .sorted()
    }

    @Test(
        "no command that takes --journal writes into a server's data folder; those that would begin one say so"
    )
    func dataFolder() async throws {
        let scene = try await ChatScene()
        let published = try await Tool.run(
            "publish", "general", "x", "--as", "ada", "--server", scene.server.url)
        #expect(published.status == 0, "\(published.error)")
        let data = scene.server.data
        let server = ["--as", "ada", "--server", scene.server.url]
        let before = try files(data)
        for command in [
            ["listen", "general", "--until-complete"] + server,
            ["listen", "general", "--debug"] + server, ["chat", "general"] + server,
            ["ledger"], ["dead-letters"], ["dead-letters", "--discard", "a1"], ["reminders"],
            ["routes"], ["notices"], ["chains"], ["chains", "retry", "a1"],
            ["chains", "export", "a1"],
        ] {
            let result = try await Tool.run(command + ["--journal", data])
            #expect(result.status == 65, "\(command): \(result)")
            #expect(result.error.split(separator: "\n").count == 1, "\(command): \(result.error)")
            if ["listen", "chat"].contains(command[0]) {
                #expect(result.error.contains("data of a server"), "\(result.error)")
                #expect(result.error.contains("folder of its own"), "\(result.error)")
            }
            #expect(try files(data) == before, "\(command)")
        }
    }

    enum Damage: CaseIterable, Sendable {
        case overwritten, cut, emptied, page
    }

    @Test(
        "every command that reads a damaged journal says so and what to do, with 65, and leaves it",
        arguments: Damage.allCases)
    func damaged(_ damage: Damage) async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.leftJournal()
        let database = URL(fileURLWithPath: journal + "/journal.sqlite")
        var bytes = try Data(contentsOf: database)
        switch damage {
        case .overwritten: bytes = Data(repeating: 0xa5, count: bytes.count)
        case .cut: bytes = bytes.prefix(5_000)
        case .emptied:
            bytes = Data()
            // An owner leaves its log.
            try Data().write(to: URL(fileURLWithPath: database.path + "-wal"))
        case .page:
            // Reminders, routes, notices and chains do not look at it.
            let queue = try DatabaseQueue(path: database.path)
            let page = try await queue.read { db in
                try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'entry'")
            }
            try queue.close()
            let end = try #require(page) * 4_096
            bytes.replaceSubrange(end - 4_096..<end, with: Data(repeating: 0xa5, count: 4_096))
        }
        try bytes.write(to: database)
        let before = try files(journal)
        for command in [
            ["ledger"], ["dead-letters"], ["reminders"], ["routes"], ["notices"], ["chains"],
            ["chains", "show", "a1"], ["chains", "schedules"], ["chains", "retry", "a1"],
            ["trace", "m1"], ["forms", "log"],
        ] {
            let result = try await Tool.run(command + ["--journal", journal])
            #expect(result.status == 65 && result.output.isEmpty, "\(command): \(result)")
            #expect(
                result.error.contains("The database \(database.path) is damaged."),
                "\(command): \(result.error)")
            #expect(result.error.contains("move the file away"), "\(command): \(result.error)")
            #expect(result.error.split(separator: "\n").count == 1, "\(command): \(result.error)")
            #expect(try files(journal) == before, "\(command)")
            #expect(try Data(contentsOf: database) == bytes, "\(command)")
        }
    }

    @Test(
        "of a folder without a journal its path is said, and the first five in it that have one",
        .limit("journal.folders"))
    func subfolders() async throws {
        let folder = try TemporaryFolder()
        func make(_ name: String, hasJournal: Bool) throws {
            let url = folder.appending(name)
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            if hasJournal { try Data().write(to: url.appendingPathComponent("journal.sqlite")) }
        }
        for number in 1...6 { try make("few/j\(number)", hasJournal: true) }
        let few = try await Tool.run("ledger", "--journal", folder.path("few"))
        #expect(few.status == 65)
        #expect(few.error.contains("\(folder.path("few")) has no file journal.sqlite"), "\(few)")
        #expect(few.error.contains("“j1”, “j2”, “j3”, “j4”, “j5”."), "\(few)")

        for number in 1_000..<2_000 { try make("many/\(number)", hasJournal: number == 1_999) }
        let many = try await Tool.run("ledger", "--journal", folder.path("many"))
        #expect(many.error.contains("“1999”"), "\(many)")
        try make("many/0999", hasJournal: false)
        let more = try await Tool.run("ledger", "--journal", folder.path("many"))
        #expect(more.status == 65 && !more.error.contains("“"), "\(more)")
        #expect(more.error.contains("Check the path"), "\(more)")
    }

    @Test("serve does not begin a log in the folder of a journal")
    func journalFolder() async throws {
        try await withServer { server, folder in
            let listened = try await Tool.run(
                "listen", "a", "--journal", folder.path("j"), "--server", server.url,
                "--until-complete")
            #expect(listened.status == 0, "\(listened.error)")
            let before = try files(folder.path("j"))
            let result = try await Tool.run("serve", "--port", "0", "--data", folder.path("j"))
            #expect(result.status == 65, "\(result)")
            #expect(result.error.contains("journal of a device"), "\(result.error)")
            #expect(try files(folder.path("j")) == before)
        }
    }

    @Test("a journal that is one user's is not listened to as another; the user goes on with it")
    func otherUser() async throws {
        let scene = try await ChatScene()
        func publish(_ text: String) async throws {
            let result = try await Tool.run(
                "publish", "general", text, "--as", "ada", "--server", scene.server.url)
            #expect(result.status == 0, "\(result.error)")
        }
        func listen(_ user: String, _ options: [String] = ["--until-complete"]) async throws
            -> Tool.Result
        {
            try await Tool.run(
                [
                    "listen", "general", "--as", user, "--server", scene.server.url, "--journal",
                    scene.folder.path("j"),
                ] + options)
        }
        try await publish("one")
        #expect(try await listen("ada").output == "1 ada: one\n")
        for options in [["--until-complete"], ["--debug"]] {
            let other = try await listen("bob", options)
            #expect(other.status == 65, "\(other)")
            #expect(other.output.isEmpty)
            #expect(other.error.contains("of the user ada, not of bob"), "\(other.error)")
            #expect(other.error.contains("Name another folder for bob"), "\(other.error)")
        }
        try await publish("two")
        #expect(try await listen("ada").output == "2 ada: two\n")
    }
}
