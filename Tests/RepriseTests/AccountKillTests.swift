import Foundation
import GRDB
import Reprise
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// A real process is killed with SIGKILL in the middle of a change of accounts; the parent has its
/// own list of what was promised.
@Suite("Accounts, killed", .serialized, .timeLimit(.minutes(3)))
struct AccountKillTests {
    private static let kills = 10
    private static let entries = 60

    private struct Life: Sendable {
        var drafts: [String] = []
        var hints: [String] = []
        var isChanging = false
        var change: [Substring]?
        var errors: [String] = []
    }

    /// Starts a process, and reads what it says to its end.
    private static func live(
        _ mode: String, _ folder: URL,
        whenChanging: @escaping @Sendable (ChildProcess) -> Void = { _ in }
    ) async throws -> Life {
        try await onThread { try run(mode, folder, whenChanging) }
    }

    private static func run(
        _ mode: String, _ folder: URL, _ whenChanging: (ChildProcess) -> Void
    ) throws -> Life {
        let process = try ChildProcess(
            .sibling("AccountSwitcher"), [mode, folder.path, "\(entries)"])
        var life = Life()
        while let line = process.readLine() {
            let words = line.split(separator: " ")
            switch words.first {
            case "accepted" where words.last == "draft": life.drafts.append(String(words[1]))
            case "accepted": life.hints.append(String(words[1]))
            case "changing":
                life.isChanging = true
                whenChanging(process)
            case "changed": life.change = words
            default: life.errors.append(line)
            }
        }
        process.wait()
        return life
    }

    fileprivate static func open(_ folder: URL, _ seen: Seen<String> = Seen<String>()) async throws
        -> DeviceAccounts
    {
        var configuration = AccountClient.Configuration()
        configuration.kinds = [
            EntryKind("draft", requires: [.ui]),
            EntryKind("hint", requires: [.ui], beforeSignIn: .expire),
        ]
        return try await DeviceAccounts.open(
            at: folder, server: "http://127.0.0.1:1", dialer: MemoryDialer(),
            configuration: configuration,
            tokens: { _ in throw RepriseError(.unauthorized, "Nothing is dialled here.") },
            prepare: { reprise in
                for kind in ["draft", "hint"] {
                    await reprise.journal.handle(kind) { entry in
                        seen.add(entry.id.text)
                    }
                }
            })
    }

    /// How long a change takes from its first to its last step on this machine now, in
    /// microseconds.
    private static func span(_ mode: String) async throws -> UInt32 {
        let folder = try TemporaryFolder()
        let start = ContinuousClock.now
        _ = try await live(mode, folder.appending("home"))
        let whole = ContinuousClock.now - start
        return UInt32(max(whole / .milliseconds(1), 20) * 1_000 / 2)
    }

    @Test(
        "Guarantees 1 and 5: killed at any instant of a sign-in, every entry is dispatched in exactly one place, once, and both ledgers add up",
        arguments: 1...3)
    func adoption(round: Int) async throws {
        let span = try await Self.span("adopt")
        var torn = 0
        for _ in 0..<Self.kills {
            let folder = try TemporaryFolder()
            let home = folder.appending("home")
            let fuse = UInt32.random(in: 0...span)
            let life = try await Self.live("adopt", home) { process in
                usleep(fuse)
                process.signal(SIGKILL)
            }
            #expect(life.errors.isEmpty && life.drafts.count + life.hints.count == Self.entries)
            if FileManager.default.fileExists(atPath: home.appendingPathComponent("anonymous").path)
                == false, life.change == nil
            {
                torn += 1
            }
            for name in try FileManager.default.contentsOfDirectory(atPath: home.path) {
                let journal = home.appendingPathComponent(name)
                guard !name.hasPrefix("gone-"), (try? AccountClient.ledger(at: journal)) != nil
                else {
                    continue
                }
                #expect(
                    try AccountClient.ledger(at: journal).isBalanced, "\(name), as the kill left it"
                )
            }
            try await Self.checkAdopted(home, life)
        }
        print(
            "AccountKillTests: \(torn) of \(Self.kills) kills came after the commit, before the end"
        )
    }

    private static func checkAdopted(_ folder: URL, _ life: Life) async throws {
        let seen = Seen<String>()
        let home = try await open(folder, seen)
        if life.change != nil { #expect(await home.user?.text == "ada") }
        let reprise = try await home.signIn(as: try UserID("ada"))
        await reprise.setReady(.ui)
        try await eventually("all is handled") { try await reprise.ledger().pending == 0 }
        let handled = seen.all
        #expect(handled.count == life.drafts.count)
        #expect(Set(handled) == Set(life.drafts))
        let sum = try await reprise.ledger()
        #expect(sum.isBalanced && sum.accepted == Int64(life.drafts.count))
        #expect(sum.outcomes[.applied] == Int64(life.drafts.count))
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(!names.contains { $0.hasPrefix("adopting-") || $0 == "anonymous" }, "\(names)")
        await home.close()
    }

    @Test(
        "Guarantees 1 and 5: killed at any instant of a log-out, either nothing has happened or all of it is in the final ledger, and nothing of the user is left",
        arguments: 1...3)
    func leaving(round: Int) async throws {
        let span = try await Self.span("leave")
        var torn = 0
        for _ in 0..<Self.kills {
            let folder = try TemporaryFolder()
            let place = folder.appending("home")
            let fuse = UInt32.random(in: 0...span / 2)
            let life = try await Self.live("leave", place) { process in
                usleep(fuse)
                process.signal(SIGKILL)
            }
            #expect(life.errors.isEmpty && life.isChanging)
            let all = Int64(Self.entries)
            let home = try await Self.open(place)
            if await home.user != nil {
                #expect(life.change == nil)
                let sum = try await home.current.ledger()
                #expect(sum.pending == all && sum.isBalanced, "the log-out has not begun")
            } else {
                let sum = try #require(await home.finalLedger)
                #expect(sum.accepted == all && sum.outcomes[.dead] == all && sum.isBalanced)
                if life.change == nil { torn += 1 }
                #expect(try await home.users().isEmpty)
                #expect(try Self.bytes(below: place, contain: "payload-") == false)
            }
            if let change = life.change { #expect(change == ["changed", "60", "60", "true"]) }
            await home.close()
        }
        print(
            "AccountKillTests: \(torn) of \(Self.kills) kills came after the commit, before the end"
        )
    }

    private static func bytes(below folder: URL, contain text: String) throws -> Bool {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        while let file = files?.nextObject() as? URL {
            guard let data = try? Data(contentsOf: file) else { continue }
            if data.range(of: Data(text.utf8)) != nil { return true }
        }
        return false
    }
}
