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

/// Two whole servers over a real nats-server; docs/channels.md.
@Suite("Presence at the gateways of a cluster", .timeLimit(.minutes(1)))
struct ClusterPresenceTests {
    private let team = channel("team")
    private let ben = user("ben")

    private struct Gateways {
        let first: RunningServer
        let second: RunningServer
        /// Of the second.
        let journal: MutedJournal
        /// Of nobody: for what a stranger says and hears.
        let stranger: NatsJournal
    }

    /// Runs `body` with two gateways and a channel that Ada and Ben are members of.
    private func withGateways(_ body: (Gateways) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try await NatsServer.start(in: folder.url.appending(path: "nats"))
        defer { server.kill() }
        var settings = PresenceExchange.Settings()
        settings.interval = .milliseconds(100)
        settings.renewal = .milliseconds(500)
        settings.lease = .seconds(5)
        let authenticator = TrustingAuthenticator()
        let one = try await NatsStore.journal(server.url)
        let two = MutedJournal(try await NatsStore.journal(server.url))
        let stranger = try await NatsStore.journal(server.url)
        try await RunningServer.with(
            authenticator: authenticator, journal: one, presence: settings
        ) { first in
            try await RunningServer.with(
                authenticator: authenticator, journal: two, presence: settings
            ) { second in
                try await put("channels/team", #"{"visibility":"private"}"#, at: first)
                for name in ["ada", "ben"] {
                    try await put("channels/team/members/\(name)", #"{"role":"member"}"#, at: first)
                }
                try await body(
                    Gateways(first: first, second: second, journal: two, stranger: stranger))
            }
        }
        await stranger.close()
    }

    private func ask(
        _ method: HTTPMethod, _ path: String, _ json: String? = nil, at server: RunningServer,
        as token: String
    ) async throws -> String {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(server.port)\(path)")
        request.method = method
        request.headers.add(name: "authorization", value: "Bearer \(token)")
        if let json {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(Array(json.utf8))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
        let body = String(buffer: try await response.body.collect(upTo: 1 << 20))
        try #require((200..<300).contains(response.status.code), "\(body)")
        return body
    }

    private func put(
        _ path: String, _ json: String, at server: RunningServer, as token: String = "admin.root.x"
    ) async throws {
        _ = try await ask(.PUT, "/v1/\(path)", json, at: server, as: token)
    }

    private func news(_ heard: inout AsyncStream<[UInt8]>.Iterator) async throws -> PresenceNews {
        let bytes = await heard.next(isolation: #isolation)
        return try #require(bytes.flatMap { PresenceNews($0) })
    }

    /// Reads until Ben is told to be in a state.
    private func waitFor(
        _ state: PresenceState, at client: TestClient, _ what: Comment,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> UserPresence {
        let end = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < end {
            guard case .presence(let told) = try await client.nextFrame(),
                let one = told.users.first(where: { $0.user == ben }), one.state == state
            else { continue }
            return one
        }
        Issue.record(what, sourceLocation: sourceLocation)
        throw CancellationError()
    }

    /// Ada's, at the first gateway, with an eye on the team.
    private func watcher(_ gateways: Gateways) async throws -> TestClient {
        let ada = try await gateways.first.client(as: "ada")
        try await ada.send(.watch([.init(channel: team)]))
        return ada
    }

    @Test("a user at another gateway is shown online, idle once all his devices are, and offline")
    func states() async throws {
        try await withGateways { gateways in
            let ada = try await watcher(gateways)
            let before = try await waitFor(.offline, at: ada, "the first answer")
            #expect(before.seen == nil)
            let phone = try await gateways.second.client(as: "ben")
            _ = try await waitFor(.online, at: ada, "he comes")
            try await phone.send(.presence(.idle))
            _ = try await waitFor(.idle, at: ada, "he puts it away")
            let tablet = try await gateways.first.client(as: "ben")
            _ = try await waitFor(.online, at: ada, "a device at the other gateway")
            try await tablet.send(.presence(.idle))
            _ = try await waitFor(.idle, at: ada, "both")
            tablet.socket.endSending()
            try await phone.send(.presence(.online))
            _ = try await waitFor(.online, at: ada, "one is left")
            phone.socket.endSending()
            let gone = try await waitFor(.offline, at: ada, "he goes")
            #expect(try #require(gone.seen) <= SystemTimekeeper().wall())
        }
    }

    @Test("a gateway that goes silent is forgotten; its users are shown again when it is heard")
    func lost() async throws {
        try await withGateways { gateways in
            let ben = try await gateways.second.client(as: "ben")
            let ada = try await watcher(gateways)
            _ = try await waitFor(.online, at: ada, "he is there")
            gateways.journal.mute(true)
            let lost = try await waitFor(.offline, at: ada, "the lease has ended")
            #expect(lost.seen != nil)
            gateways.journal.mute(false)
            _ = try await waitFor(.online, at: ada, "it is heard again")
            #expect(try await ben.everythingSoFar().isEmpty)
        }
    }

    @Test(
        "a user who hides at one gateway is offline at the other, and shown again when he stops hiding"
    )
    func hiding() async throws {
        try await withGateways { gateways in
            let ben = try await gateways.second.client(as: "ben")
            let ada = try await watcher(gateways)
            _ = try await waitFor(.online, at: ada, "he is there")
            try await put("presence", #"{"hidden":true}"#, at: gateways.second, as: "user.ben.x")
            let hidden = try await waitFor(.offline, at: ada, "he hides")
            #expect(hidden.seen == nil)
            let setting = try await ask(
                .GET, "/v1/presence", at: gateways.first, as: "user.ben.x")
            #expect(setting.contains("true"), "\(setting)")
            try await put("presence", #"{"hidden":false}"#, at: gateways.first, as: "user.ben.x")
            _ = try await waitFor(.online, at: ada, "he shows himself")
            #expect(try await ben.everythingSoFar().isEmpty)
        }
    }

    @Test(
        "gateways send no presence while no user is watched; the first message asks for the watched user"
    )
    func nobodyWatches() async throws {
        try await withGateways { gateways in
            var heard = gateways.stranger.said(on: .presence).makeAsyncIterator()
            // A subscription counts once the server has it.
            _ = try await gateways.stranger.status()
            for server in [gateways.first, gateways.second] {
                let client = try await server.client(as: "ben")
                try await client.send([.presence(.idle), .presence(.online)])
                #expect(try await client.everythingSoFar().isEmpty)
                client.socket.endSending()
                try await eventually("he is gone") { server.connections == 0 }
            }
            let phone = try await gateways.second.client(as: "ben")
            let ada = try await watcher(gateways)
            _ = try await waitFor(.online, at: ada, "he is there")
            let first = try await news(&heard)
            #expect(first.asked.contains(PresenceNews.Asked(ben, isNew: true)))
            #expect(first.told.isEmpty)
            // He may be asked for again before the answer comes.
            var answer = first
            while answer.told.isEmpty { answer = try await news(&heard) }
            #expect(answer.told == [PresenceNews.Told(ben, .online)])
            #expect(answer.sender != first.sender)
            #expect(try await phone.everythingSoFar().isEmpty)
        }
    }

    @Test("a malformed presence message is counted, and changes nothing")
    func nonsense() async throws {
        try await withGateways { gateways in
            let phone = try await gateways.second.client(as: "ben")
            let ada = try await watcher(gateways)
            _ = try await waitFor(.online, at: ada, "the gateways hear each other")
            let good = PresenceNews(from: 5, told: [.init(ben, .online)]).bytes
            let wrong: [[UInt8]] = [[], [9, 9], Array(good.dropLast()), good + [1]]
            for bytes in wrong { gateways.stranger.say(bytes, on: .presence) }
            // Nobody watches her.
            let eve = PresenceNews(from: 5, told: [.init(user("eve"), .online)])
            gateways.stranger.say(eve.bytes, on: .presence)
            try await eventually("they are counted") {
                try await ask(.GET, "/metrics", at: gateways.first, as: "admin.root.x")
                    .contains("reprise_presence_ignored_total 4")
            }
            #expect(try await ada.everythingSoFar().isEmpty)
            try await phone.send(.presence(.idle))
            _ = try await waitFor(.idle, at: ada, "all goes on")
            gateways.stranger.say(good, on: .presence)
            _ = try await waitFor(.online, at: ada, "what is a message counts")
        }
    }

    @Test("a user's last-seen time is known at the other gateway, even if no user watched him")
    func seen() async throws {
        try await withGateways { gateways in
            let before = SystemTimekeeper().wall()
            let ben = try await gateways.second.client(as: "ben")
            ben.socket.endSending()
            try await eventually("he is gone") { gateways.second.connections == 0 }
            try await eventually("it is in the view of the first") {
                let ada = try await watcher(gateways)
                defer { ada.socket.endSending() }
                let told = try await waitFor(.offline, at: ada, "the first answer")
                guard let seen = told.seen else { return false }
                return seen >= before && seen <= SystemTimekeeper().wall()
            }
        }
    }

    @Test(
        "a last-seen time is never in the future, and a hidden user has none",
        arguments: [false, true])
    func clamped(isHidden: Bool) async throws {
        let store = try ClusterStore(clock: ManualClock(), faults: .none)
        try await store.reopen()
        do {
            let (ada, accounts) = (user("ada"), store.gateways[0].accounts)
            let owner = Principal(user: ada)
            try await accounts.perform(SetChannel(team, ChannelSettings(), by: owner))
            try await accounts.perform(SetMember(ben, .member, in: team, by: owner))
            if isHidden { try await accounts.perform(SetPresence(isHidden: true, of: ben)) }
            try await accounts.perform(NoteSeen([ben: WallTime(milliseconds: .max)]))
            try await store.expectEqual()
            let sights = try await store.gateways[1].accounts.presence.sights(
                [.init(channel: team)], for: ada)
            let member = try #require(sights.first?.members.first)
            #expect(member.user == ben && member.isHidden == isHidden)
            #expect(member.seen == (isHidden ? nil : store.gateways[1].view.time.0))
        } catch {
            await store.remove()
            throw error
        }
        await store.remove()
    }
}
