import Foundation
import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Catalogues that the server keeps")
struct StoredFormsTests {
    let company: ChannelName

    init() throws { company = try ChannelName("default") }

    private func forms(_ version: Int) throws -> FormsCatalogue {
        let text = FormsRoutesTests.catalogue("\(version)")
        return try FormsCatalogue(Array(text.utf8))
    }

    @Test("survive the server, ten former ones with the current one", .limit("accounts.catalogues"))
    func survive() async throws {
        let under = try await AccountsUnderTest()
        for version in 1...13 {
            _ = try await under.accounts.perform(
                SetCatalogue(try forms(version), of: company))
        }
        try await under.reopen()
        #expect(try await under.accounts.forms.current(of: company)?.bytes == (try forms(13).bytes))
        #expect(
            try await under.accounts.forms.versions(of: company)
                == (3...13).reversed().map { "\($0)" })
        await under.remove()
    }

    @Test("are gone back to by pushing a former one again, which is no new version")
    func goBack() async throws {
        let under = try await AccountsUnderTest()
        for version in [1, 2, 3, 1] {
            _ = try await under.accounts.perform(
                SetCatalogue(try forms(version), of: company))
        }
        #expect(try await under.accounts.forms.versions(of: company) == ["1", "3", "2"])
        #expect(try await under.accounts.forms.current(of: company)?.bytes == (try forms(1).bytes))
        let again = try await under.accounts.perform(
            SetCatalogue(try forms(1), of: company))
        guard case .unchanged(let same) = again else {
            Issue.record("\(again)")
            return await under.remove()
        }
        #expect(same.version == "1")
        await under.remove()
    }

    @Test("of which two with one condition come, one is the next")
    func race() async throws {
        let under = try await AccountsUnderTest()
        let accounts = under.accounts
        let first = try await accounts.perform(
            SetCatalogue(try forms(0), of: company))
        let (company, tag) = (company, first.current.tag)
        let all = try (1...20).map(forms)
        let winners = await withTaskGroup(of: Bool.self) { group in
            for forms in all {
                group.addTask {
                    let change = try? await accounts.perform(
                        SetCatalogue(forms, of: company, if: .oneOf([tag])))
                    return change != nil
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(winners == 1)
        #expect(try await accounts.forms.versions(of: company).count == 2)
        await under.remove()
    }

    @Test("are in a backup, and back with it")
    func backup() async throws {
        let (data, copy, restored) = (
            try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder()
        )
        let log = try SQLiteMessageLog.open(at: data.path)
        let accounts = try Accounts.open(at: data.path, implicitChannels: false)
        _ = try await accounts.perform(
            SetCatalogue(try forms(7), of: company))
        _ = try Backup.make(of: data.path, to: copy.path)
        await accounts.close()
        await log.close()
        _ = try Backup.restore(from: copy.path, to: restored.path)
        let again = try Accounts.open(at: restored.path, implicitChannels: false)
        #expect(try await again.forms.current(of: company)?.bytes == (try forms(7).bytes))
        await again.close()
        for folder in [data, copy, restored] { folder.remove() }
    }

    @Test("find their place in accounts of the former version, whose rows stay")
    func migrate() async throws {
        let folder = try TemporaryFolder()
        var accounts = try Accounts.open(at: folder.path, implicitChannels: false)
        try await accounts.setChannel(
            company, ChannelSettings(title: "kept"), by: .open, at: now, head: 0)
        await accounts.close()
        // As the version before had it.
        let queue = try DatabaseQueue(path: folder.path + "/accounts.sqlite")
        try await queue.write { db in
            try db.execute(
                sql: "DROP TABLE forms; DELETE FROM grdb_migrations WHERE identifier = '2 forms'")
        }
        try queue.close()
        accounts = try Accounts.open(at: folder.path, implicitChannels: false)
        _ = try await accounts.perform(
            SetCatalogue(try forms(1), of: company))
        #expect(try await accounts.forms.current(of: company)?.version == "1")
        #expect(try await accounts.channel(company)?.settings.title == "kept")
        await accounts.close()
        folder.remove()
    }
}
