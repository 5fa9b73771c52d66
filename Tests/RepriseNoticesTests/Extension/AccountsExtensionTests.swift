import Foundation
import Reprise
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseNotices
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// The extension of an app whose people sign in and out.
@Suite("The extension and the accounts", .timeLimit(.minutes(1)))
struct AccountsExtensionTests {
    let folder: TemporaryFolder
    let shared: URL

    init() throws {
        folder = try TemporaryFolder()
        shared = folder.appending("shared")
    }

    private func open() async throws -> DeviceAccounts {
        var configuration = AccountClient.Configuration()
        configuration.notices = Notices.Configuration()
        configuration.journal.sharedFolder = shared
        return try await DeviceAccounts.open(
            at: folder.appending("home"), server: "http://127.0.0.1:1", dialer: MemoryDialer(),
            configuration: configuration,
            tokens: { _ in try AccessToken("YWRh.Yg.1") })
    }

    private func push(_ id: String, to user: String? = nil) async throws -> NotificationContent {
        var hint = try Pushes.hint(id, seq: 1, badge: (1, 5))
        hint.to = try user.map { try UserID($0) }
        return await NoticeExtension(at: shared).content(for: Pushes.request(hint))
    }

    /// Which accounts' spools have something.
    private func records() -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: shared.path)) ?? []
        return names.filter { name in
            let part = name == "spool" ? shared : shared.appendingPathComponent(name)
            return !Spool(at: part).waiting(of: NoticeKinds.shown, newest: 10).isEmpty
        }
    }

    @Test(
        "the extension works for the signed-in user, for none before and after, and for the next user then"
    )
    func follows() async throws {
        let home = try await open()
        #expect(try await push("m0").body == "Hello")
        #expect(records().isEmpty)
        let ada = try await home.signIn(as: UserID("ada"))
        _ = try await push("m1")
        #expect(records().count == 1)
        #expect(try await ada.journal.mergeSpool().accepted == 1)
        let bob = try await home.signIn(as: UserID("bob"))
        _ = try await push("m2")
        #expect(try await bob.journal.mergeSpool().accepted == 1)
        try await home.signOut()
        #expect(try await push("m3").body == "Hello")
        #expect(records().isEmpty)
        #expect(
            !FileManager.default.fileExists(atPath: shared.appendingPathComponent("account").path))
        // Who was signed in when the process died is so at the next opening.
        _ = try await home.signIn(as: UserID("ada"))
        await home.close()
        _ = try await push("m4")
        #expect(records().count == 1)
        let next = try await open()
        #expect(try await next.current.journal.ledger().accepted == 2)
        await next.close()
    }

    @Test("a push for a user who is not signed in shows nothing of it, and is not recorded")
    func foreign() async throws {
        func isHidden(_ id: String, to user: String) async throws -> Bool {
            let shown = try await push(id, to: user)
            return shown.title.isEmpty && shown.body == "…" && shown.conversation == nil
                && !shown.sound && shown.badge == nil && shown.interruption == .passive
        }
        let home = try await open()
        #expect(try await isHidden("m0", to: "ada"), "before the first sign-in")
        try await home.signIn(as: UserID("ada"))
        #expect(try await push("m1", to: "ada").body == "Hello")
        try await home.signIn(as: UserID("bob"))
        // Bob's app has left no mirror yet.
        #expect(try await isHidden("m2", to: "ada"))
        #expect(try await push("m3", to: "bob").body == "Hello")
        try await home.signOut()
        #expect(try await isHidden("m4", to: "bob"))
        #expect(try await push("m5").body == "Hello", "of a server without users")
        #expect(records().count == 1, "ada's, who comes back to it")
        await home.close()
        #expect(try await isHidden("m6", to: "bob"))
    }

    @Test(
        "a file that says something else leads nowhere: the push is shown as it came",
        .limit("noticeSettings.sharedAccount"),
        arguments: [
            "../../etc", "user-../x", "anonymous", "", String(repeating: "a", count: 2_000),
        ])
    func nonsense(text: String) async throws {
        try FileManager.default.createDirectory(at: shared, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: shared.appendingPathComponent("account"))
        #expect(SharedAccount(in: shared).current() == .unusable)
        #expect(try await push("m1", to: "ada").body == "Hello")
        #expect(records().isEmpty)
    }
}
