import Foundation
import GRDB
import Logging
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@testable import RepriseServer

/// Two gateways over one faulty journal tell users of their conversations:
/// docs/architecture/cluster.md.
@Suite("Directories in a cluster", .timeLimit(.minutes(1)))
struct ClusterDirectoryTests {
    /// What brings a gateway's directories on, step by step.
    private final class Teller {
        let gateway: ClusterStore.Gateway
        let publisher: DirectoryPublisher
        private let committer: Committer
        private let committing: Task<Void, Never>

        init(_ gateway: ClusterStore.Gateway) {
            self.gateway = gateway
            let committer = Committer(
                log: gateway.log, timesSubmissions: true, onCommit: { _ in })
            self.committer = committer
            publisher = DirectoryPublisher(
                accounts: gateway.accounts, log: gateway.log, committer: committer,
                clock: SystemTimekeeper(), logger: Logger(label: "test"))
            committing = Task { await committer.run() }
        }

        func publish() async throws { while try await publisher.publishNext() {} }

        func close() async {
            committer.shutdown()
            await committing.value
        }
    }

    private func run(_ body: (ClusterStore, [Teller]) async throws -> Void) async throws {
        let store = try ClusterStore(clock: ManualClock(), seed: 3)
        try await store.reopen()
        let tellers = store.gateways.map(Teller.init)
        do { try await body(store, tellers) } catch { Issue.record(error) }
        for teller in tellers { await teller.close() }
        await store.remove()
    }

    private func make(_ name: String, with users: [String], by gateway: ClusterStore.Gateway)
        async throws
    {
        let (room, owner) = (try ChannelName(name), try principal("ada"))
        try await gateway.accounts.perform(
            SetChannel(room, ChannelSettings(visibility: .private, title: name), by: owner))
        for user in users {
            try await gateway.accounts.perform(
                SetMember(UserID(user), .member, in: room, by: owner))
        }
    }

    private func told(_ user: String, by gateway: ClusterStore.Gateway) async throws
        -> [DirectoryEntry]
    {
        let page = try await gateway.log.history(
            of: .directory(of: try UserID(user)), after: 0, limit: 1_000)
        return try page.events.map {
            try JSONDecoder().decode(DirectoryEntry.self, from: Data($0.body))
        }
    }

    @Test(
        "Two gateways that write the same directory entry at the same time store it once, and their views are equal"
    )
    func once() async throws {
        try await run { store, tellers in
            _ = try await store.gateways[0].replica.submit([.rules(RaisedRules())])
            try await make("team", with: ["bob"], by: store.gateways[0])
            try await make("crew", with: ["bob", "eve"], by: store.gateways[1])
            try await store.expectEqual()
            // Each holds the lease, as far as it knows.
            let (one, other) = (tellers[0].publisher, tellers[1].publisher)
            async let first = one.publishNext()
            async let second = other.publishNext()
            #expect(try await [first, second].contains(true))
            for teller in tellers { try await teller.publish() }
            try await store.expectEqual()
            for gateway in store.gateways {
                let bob = try await told("bob", by: gateway)
                #expect(bob.map(\.conversation) == ["team", "crew"])
                #expect(bob.map(\.others) == [["ada"], ["ada", "eve"]])
                #expect(try await told("eve", by: gateway).count == 1)
                #expect(try await gateway.accounts.directories.changes(limit: 9).isEmpty)
            }
        }
    }

    @Test(
        "Directories are empty before the rules are raised; then each user's is written in full, once"
    )
    func raised() async throws {
        try await run { store, tellers in
            let gateways = store.gateways
            try await make("early", with: ["bob"], by: gateways[0])
            #expect(try await gateways[0].accounts.directories.changes(limit: 9).isEmpty)
            #expect(!gateways[0].accounts.tellsDirectories)
            // Two gateways raise them: the first counts, with its secret.
            for gateway in gateways {
                _ = try await gateway.replica.submit([.rules(RaisedRules())])
            }
            try await store.expectEqual()
            for gateway in gateways {
                #expect(gateway.view.rules == ClusterRules.newest)
                #expect(gateway.accounts.tellsDirectories)
            }
            try await make("late", with: ["bob"], by: gateways[1])
            try await tellers[1].publish()
            try await store.expectEqual()
            let bob = try await told("bob", by: gateways[0])
            #expect(bob.map(\.list) == [.begin, nil, nil, .end, nil])
            #expect(Set(bob.compactMap(\.conversation)) == ["early", "late"])
            // They are stored with the view.
            try await store.reopen()
            #expect(store.gateways[0].view.rules == ClusterRules.newest)
        }
    }

    @Test("Mentions are counted from the entry on that raises the rules, by all gateways alike")
    func mentions() async throws {
        try await run { store, _ in
            let gateways = store.gateways
            try await make("team", with: ["bob"], by: gateways[0])
            let team = try ChannelName("team")
            func mention(by gateway: ClusterStore.Gateway) async throws {
                let body = Array(#"{"notice":{"mentions":["bob"]}}"#.utf8)
                let results = try await gateway.log.append([
                    NewMessage(channel: team, id: .random(), from: UserID("ada"), body: body)
                ])
                #expect(results.allSatisfy { $0.event != nil })
            }
            func counts() async throws -> [Int64] {
                try await store.expectEqual()
                var counts: [Int64] = []
                for gateway in store.gateways {
                    let unread = try await gateway.log.unread(
                        of: UserID("bob"), in: team, after: 0)
                    counts.append(unread.mentions)
                }
                return counts
            }
            try await mention(by: gateways[0])
            #expect(try await counts() == gateways.map { _ in 0 })
            // As one that knows no mentions has raised them.
            let former = RaisedRules(ClusterRules.directories)
            _ = try await gateways[0].replica.submit([.rules(former)])
            try await mention(by: gateways[1])
            #expect(try await counts() == gateways.map { _ in 0 })
            _ = try await gateways[1].replica.submit([.rules(RaisedRules())])
            for gateway in gateways { try await mention(by: gateway) }
            #expect(try await counts() == gateways.map { _ in Int64(gateways.count) })
        }
    }

    @Test(
        "Once the rules are raised nobody can write to a directory, and its user alone can read it")
    func rights() async throws {
        try await run { store, _ in
            let gateway = store.gateways[0]
            _ = try await gateway.replica.submit([.rules(RaisedRules())])
            let directory = ChannelName.directory(of: try UserID("ada"))
            for user in ["ada", "bob"] {
                let who = try principal(user)
                #expect(
                    try gateway.view.grant(who, in: directory)
                        == Grant(mayRead: user == "ada", mayPublish: false))
                let message = ClientFrame.Publish(channel: directory, id: .random(), body: [49])
                let outcome = try await gateway.replica.submit([
                    .publish(PublishMessages([message], by: who))
                ]).first
                guard case .published(let results)? = outcome,
                    case .refused(.forbidden, _)? = results.first
                else {
                    Issue.record("\(user): \(outcome as Any)")
                    continue
                }
                await expectError(.refused) {
                    try await gateway.accounts.perform(
                        SetChannel(directory, ChannelSettings(visibility: .public), by: who))
                }
            }
        }
    }

    @Test("A directory full of replaced entries is written anew, through the journal")
    func anew() async throws {
        try await run { store, tellers in
            let gateway = store.gateways[0]
            _ = try await gateway.replica.submit([.rules(RaisedRules())])
            try await make("team", with: [], by: gateway)
            try await tellers[0].publish()
            let user = try UserID("ada")
            try await gateway.accounts.perform(TellAnew(user))
            // The other has it, too.
            try await store.expectEqual()
            try await tellers[1].publish()
            try await store.expectEqual()
            let entries = try await told("ada", by: gateway)
            #expect(entries.map(\.list) == [.begin, nil, .end], "what was before is trimmed")
            let page = try await gateway.log.history(
                of: .directory(of: user), after: 0, limit: 9)
            #expect(page.gone.map(\.reason) == [.erased])
        }
    }

    @Test("A change after data was moved in, or out, has a number that no former change had")
    func moved() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let data = folder.path("data")
        let log = try SQLiteMessageLog.open(at: data)
        let accounts = try Accounts.open(
            at: data, implicitChannels: true, heads: { try log.head(of: $0) })
        let epoch = log.epoch
        try accounts.belong(to: epoch, isRestored: false)
        var last: Int64 = 0
        for title in ["one", "two", "three"] {
            try await accounts.perform(
                SetChannel(
                    ChannelName("team"), ChannelSettings(title: title), by: principal("ada")))
            let told = try await accounts.directories.changes(limit: 9).map(\.number)
            last = try #require(told.last)
            try await accounts.perform(NoteTold(told))
        }
        await accounts.close()
        await log.close()

        /// The number of the next change, which is told.
        func next(in path: String) async throws -> Int64 {
            let queue = try DatabaseQueue(path: path)
            defer { try? queue.close() }
            return try await queue.write { db in
                try db.execute(
                    sql: "INSERT INTO directory_changes (user, channel) VALUES ('ada', 'team')")
                let number = db.lastInsertedRowID
                try db.execute(sql: "DELETE FROM directory_changes")
                return number
            }
        }
        for name in ["view", "back"] {
            try FileManager.default.createDirectory(
                atPath: folder.path(name), withIntermediateDirectories: true)
        }
        let view = folder.path("view") + "/view.sqlite"
        let seed = try await ClusterSeed.open(data)
        let now = WallTime(milliseconds: 1_800_000_000_000)
        let made = try await seed.makeView(now: now)
        try FileManager.default.copyItem(atPath: made.file.path, toPath: view)
        #expect(try await seed.makeView(now: now).fingerprint == made.fingerprint)
        await seed.close()
        #expect(try await next(in: view) == last + 1)
        _ = try ViewCopy.makeData(in: folder.path("back"), of: folder.path("view"), epoch: epoch)
        #expect(try await next(in: folder.path("back") + "/accounts.sqlite") == last + 2)
    }
}
