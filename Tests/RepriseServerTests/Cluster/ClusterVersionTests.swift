import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import RepriseCluster
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// Two whole servers over a real nats-server, one of which knows older rules;
/// docs/cluster-operations.md.
@Suite("Gateways of two versions", .timeLimit(.minutes(1)))
struct ClusterVersionTests {
    private let team = channel("team")

    /// Of a version that counts no mentions.
    private static var older: ClusterView.Configuration {
        var configuration = ClusterView.Configuration()
        configuration.newestRules = ClusterRules.directories
        return configuration
    }

    private func publish(_ id: String, by member: ClusterMember) async throws {
        let message = NewMessage(
            channel: team, id: try EntryID(id), from: user("ada"),
            body: Array(#"{"notice":{"mentions":["bob"]}}"#.utf8))
        let results = try await member.log.append([message])
        #expect(results.first?.event != nil, "\(results)")
    }

    private func mentions(_ member: ClusterMember) async throws -> Int64 {
        try await member.log.unread(of: user("bob"), in: team, after: 0).mentions
    }

    private func readiness(_ server: RunningServer) async throws -> (status: UInt, body: String) {
        let request = HTTPClientRequest(url: "http://127.0.0.1:\(server.port)/readyz")
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
        return (
            response.status.code,
            String(buffer: try await response.body.collect(upTo: 1 << 20))
        )
    }

    private func expectEqual(_ one: ClusterMember, _ other: ClusterMember) async throws {
        try await eventually("both have the same") {
            try one.view.dump() == other.view.dump()
        }
    }

    @Test(
        "Both versions serve until the operator raises the rules; then the older waits, and nothing is lost"
    )
    func upgraded() async throws {
        #expect(ClusterRules.newest > ClusterRules.directories)
        let (folder, former) = (try TemporaryFolder(), try TemporaryFolder())
        defer {
            folder.remove()
            former.remove()
        }
        let server = try await NatsServer.start(in: folder.url.appending(path: "nats"))
        defer { server.kill() }
        func journal() async throws -> NatsJournal {
            try await NatsStore.journal(server.url, rules: ClusterRules.directories)
        }
        let authenticator = TrustingAuthenticator()
        try await RunningServer.with(
            authenticator: authenticator, journal: try await journal()
        ) { newer in
            let new = try #require(newer.gateway.cluster)
            try await RunningServer.with(
                authenticator: authenticator, journal: try await journal(), view: Self.older,
                folder: former
            ) { older in
                let old = try #require(older.gateway.cluster)
                let owner = Principal(user: user("ada"))
                try await old.accounts.perform(SetChannel(team, ChannelSettings(), by: owner))
                try await old.accounts.perform(SetMember(user("bob"), .member, in: team, by: owner))
                try await publish("m1", by: new)
                try await publish("m2", by: old)
                try await expectEqual(new, old)
                for (server, member) in [(newer, new), (older, old)] {
                    #expect(member.view.rules == ClusterRules.directories)
                    #expect(try await mentions(member) == 0)
                    #expect(try await readiness(server).status == 200)
                }

                let client = try await older.client(as: "ada")
                let tool = try await NatsJournal.find(
                    NatsConfiguration(server.url), cluster: ClusterName("tests"),
                    logger: RunningServer.logger)
                try await tool.raiseRules()
                await tool.close()
                let (told, code) = try await client.ending(within: .seconds(20))
                #expect(told == .goingAway && code == 4100)
                let waits = try await readiness(older)
                #expect(waits.status == 503, "\(waits)")
                #expect(waits.body.contains("rules \(ClusterRules.newest)"), "\(waits)")
                #expect(waits.body.contains("Upgrade this gateway."), "\(waits)")
                try await eventually("the newer one has them") {
                    new.view.rules == ClusterRules.newest
                }
                #expect(try await readiness(newer).status == 200)
                await expectError(.unavailable) { try await publish("m3", by: old) }
                try await publish("m3", by: new)
                #expect(old.view.rules == ClusterRules.directories)
                #expect(try old.log.head(of: team) == 2)
            }
            // Upgraded, with the view that it had.
            try await RunningServer.with(
                authenticator: authenticator, journal: try await journal(), folder: former
            ) { upgraded in
                let member = try #require(upgraded.gateway.cluster)
                try await publish("m4", by: member)
                try await expectEqual(new, member)
                #expect(try await readiness(upgraded).status == 200)
                for each in [new, member] {
                    #expect(each.view.rules == ClusterRules.newest)
                    // Of messages from the entry on that raised the rules.
                    #expect(try await mentions(each) == 2)
                    let page = try await each.log.history(of: team, after: 0, limit: 9)
                    #expect(page.events.map(\.id.text) == ["m1", "m2", "m3", "m4"])
                }
            }
        }
    }

    @Test("An older version does not go on from a view of later rules, nor from such a base")
    func laterView() async throws {
        let store = try ClusterStore(faults: .none)
        try await store.reopen()
        _ = try await store.gateways[0].replica.submit([.rules(RaisedRules())])
        try await store.expectEqual()
        await store.close()
        let (path, epoch) = (store.path(0), store.journal.epoch)
        let error = #expect(throws: RepriseError.self) {
            _ = try ClusterView.open(at: path, epoch: epoch, Self.older)
        }
        #expect(error?.code == .unknownKind && error?.remedy == "Upgrade this gateway.")
        // The one that raised them does.
        await (try ClusterView.open(at: path, epoch: epoch)).close()
        await store.remove()
    }
}
