import Foundation
import GRDB
import Reprise
import RepriseChannels
import RepriseCore
import RepriseNotices
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// What a server can make of a device's list of conversations.
@Suite("Bounds of conversations", .timeLimit(.minutes(1)))
struct ConversationBoundTests {
    private let folder: TemporaryFolder
    private let server: MemoryServer

    init() throws {
        folder = try TemporaryFolder()
        server = try MemoryServer(users: ["ada"])
    }

    private func running(
        notices: Bool = false,
        _ prepare: (RepriseClient) async throws -> Void = { _ in },
        _ body: (RepriseClient) async throws -> Void
    ) async throws {
        try await server.running(
            in: folder,
            {
                guard notices else { return }
                $0.notices = Notices.Configuration()
                $0.notifications = MemoryNotifications(clock: ManualClock()).connect()
            }, prepare, body)
    }

    private func count(_ client: RepriseClient) async throws -> Int {
        try await client.journal.read { db in
            try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM channelsConversation") ?? 0
        }
    }

    private func tell(_ json: String) throws {
        let directory = ChannelName.directory(of: try UserID("ada")).text
        try server.publish(json, to: directory)
    }

    private func followed() -> Set<String> { Set(server.requests.map(\.channel.text)) }

    @Test(
        "900 are followed, those joined last; 20,000 are kept, and 1,000 listed",
        .limit("channels.followed"), .limit("channels.conversations"))
    func many() async throws {
        for number in 1...1_010 {
            try tell(#"{"conversation":"c\#(number)","role":"member","since":\#(90_000 - number)}"#)
        }
        try tell(#"{"conversation":"c7","role":"owner","since":89993,"title":"Seven"}"#)
        try await running({ client in
            try await client.journal.write { db in
                try db.execute(
                    sql: """
                        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 19000)
                        INSERT INTO channelsConversation
                            (channel, role, since, members, others, muted)
                        SELECT 'x' || i, 'member', i, 1, '', 0 FROM n
                        """)
            }
        }) { client in
            try await eventually("all were told") {
                try await client.journal.read { db in
                    try String.fetchOne(
                        db, sql: "SELECT title FROM channelsConversation WHERE channel = 'c7'")
                } == "Seven"
            }
            #expect(try await count(client) == 20_000)
            try await eventually("they are followed") {
                followed().isSuperset(of: (1...900).map { "c\($0)" })
            }
            #expect(!followed().contains("c901") && !followed().contains("x18000"))
            for await list in client.conversations.newest(5_000) {
                #expect(list.count == 1_000 && list.first?.id == "c1")
                break
            }
        }
    }

    private func list(_ client: RepriseClient, _ name: String) async -> Conversation? {
        for await list in client.conversations.newest(1_000) {
            return list.first { $0.id == name }
        }
        return nil
    }

    @Test(
        "A device keeps a thousand drafts; another one waits until one is sent or removed",
        .limit("channels.drafts"))
    func drafts() async throws {
        try await running({ client in
            try await client.journal.write { db in
                try db.execute(
                    sql: """
                        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1001)
                        INSERT INTO channelsConversation
                            (channel, role, since, members, others, muted)
                        SELECT 'x' || i, 'member', i, 1, '', 0 FROM n
                        """)
                try db.execute(
                    sql: """
                        INSERT INTO channelsDraft (channel, text)
                        SELECT channel, 'begun' FROM channelsConversation WHERE channel <> 'x1001'
                        """)
            }
        }) { client in
            let conversations = client.conversations
            await expectError(.full) { try await conversations.setDraft("more", in: "x1001") }
            try await conversations.setDraft("changed", in: "x1")
            await expectError(.full) { try await conversations.setDraft("more", in: "x1001") }
            try await conversations.setDraft(nil, in: "x2")
            try await conversations.setDraft("more", in: "x1001")
            #expect(await list(client, "x1001")?.draft == "more")
            // One without a conversation makes room; no other does.
            try await client.journal.write { db in
                try db.execute(sql: "DELETE FROM channelsConversation WHERE channel = 'x3'")
            }
            try await conversations.setDraft("again", in: "x2")
            let drafts = try await client.journal.read { db in
                try String.fetchAll(db, sql: "SELECT channel FROM channelsDraft")
            }
            #expect(Set(drafts) == Set((1...1001).map { "x\($0)" }).subtracting(["x3"]))
            let long = String(repeating: "x", count: ConversationLimits.draftBytes + 1)
            await expectError(.tooLarge) { try await conversations.setDraft(long, in: "x1") }
        }
    }

    private func badge(_ client: RepriseClient) async -> Int64? {
        for await badge in client.badges { return badge.count }
        return nil
    }

    private func say(_ text: String = "look", in channel: String) throws {
        try server.publish(
            #"{"text":"\#(text)","notice":{"mentions":["ada"]}}"#, to: channel,
            from: UserID("grace"))
    }

    @Test(
        "Unread messages of the 901st conversation count in its list and in the badge, until it is left",
        .limit("client.unfollowed"))
    func unfollowed() async throws {
        for number in 1...900 {
            let since = 4_000_000_000_000 + number
            try tell(#"{"conversation":"c\#(number)","role":"member","since":\#(since)}"#)
        }
        // Told last, so that it never is among the 900.
        try server.setMembers(["ada", "grace"], of: "c901")
        try say(in: "c901")
        try say(in: "c1")
        try await running(notices: true) { client in
            try await eventually("both are counted") { await badge(client) == 2 }
            #expect(await list(client, "c901")?.unread == 1)
            #expect(await list(client, "c901")?.mentions == 1)
            #expect(!followed().contains("c901"))
            try say("more", in: "c901")
            // What else changes has it counted again, and each minute has.
            try server.setMembers(["ada", "grace"], of: "other")
            try await eventually("the new one is counted") { await badge(client) == 3 }
            #expect(await list(client, "c901")?.unread == 2)
            try server.setMembers(["grace"], of: "c901")
            try await eventually("who has left has nothing to read") { await badge(client) == 1 }
        }
    }

    @Test(
        "A conversation that the app no longer follows is counted by the server, until it is followed again"
    )
    func unsubscribed() async throws {
        try server.setMembers(["ada", "grace"], of: "team")
        try say(in: "team")
        try await running(notices: true) { client in
            let team = client.channel(rawJSON: "team")
            try await eventually("it is counted") { await badge(client) == 1 }
            try await team.unsubscribe()
            try say("not followed", in: "team")
            try server.setMembers(["ada", "grace"], of: "other")
            try await eventually("so is the next") { await badge(client) == 2 }
            #expect(await list(client, "team")?.unread == 2)
            try await team.subscribe()
            try await eventually("it is followed") { team.state == .live }
            try say("followed", in: "team")
            try await eventually("it counts by itself") { await badge(client) == 3 }
        }
    }

    @Test(
        "On the way to the background a message waits for its conversation's title, for a second",
        .limit("notices.title"), arguments: [true, false])
    func title(isTold: Bool) async throws {
        let system = MemoryNotifications(clock: ManualClock())
        // The directory cannot be read to its end.
        server.faults.skipsEach = 1
        try tell(#"{"conversation":"team","role":"member","since":1,"title":"The team"}"#)
        try await server.running(in: folder) {
            $0.notices = Notices.Configuration()
            $0.notifications = system.connect()
            $0.channels.askAgain = Backoff(base: .milliseconds(600), longest: .milliseconds(600))
            $0.channels.jitter = { 1 }
        } _: { _ in
        } _: { client in
            let team = client.channel(rawJSON: "team")
            try await team.subscribe()
            try await eventually("it is live") { team.state == .live }
            try say(in: "team")
            try await eventually("it has come") {
                try await client.journal.read { db in
                    try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM channelsMessage")
                } == 1
            }
            #expect(system.delivered.isEmpty)
            let leaving = Task { await client.background(granted: .seconds(4)) }
            if isTold { server.faults.skipsEach = nil }
            await leaving.value
            try await eventually("it is shown") { !system.delivered.isEmpty }
            let titles = system.delivered.map(\.request.content.title)
            #expect(titles == [isTold ? "The team" : "grace"])
        }
    }

    @Test(
        "A malformed directory entry changes nothing; a list that is written anew drops the others")
    func nonsense() async throws {
        let names = (1...51).map { "\"u\($0)\"" }.joined(separator: ",")
        let lines = [
            "7", "null", "[]", #""x""#, "{}", #"{"list":"other"}"#, #"{"conversation":7}"#,
            #"{"conversation":"-","role":"member"}"#, #"{"conversation":"a"}"#,
            #"{"conversation":"a","role":"king"}"#,
            #"{"conversation":"a","role":"member","since":"x"}"#,
            String(repeating: "[", count: 60) + String(repeating: "]", count: 60),
            #"{"conversation":"old","role":"member","since":1}"#,
            #"{"list":"begin"}"#,
            #"{"conversation":"good","role":"owner","since":5,"title":"G","members":2,"others":["bob"]}"#,
            #"{"conversation":"many","role":"member","since":4,"members":99,"others":[\#(names)]}"#,
            #"{"conversation":"names","role":"member","since":3,"others":["a b"],"later":[1]}"#,
            #"{"list":"end"}"#,
        ]
        for line in lines { try tell(line) }
        try await running { client in
            try await eventually("they are told") { try await count(client) == 3 }
            for await list in client.conversations.newest() {
                #expect(list.map(\.id) == ["good", "many", "names"])
                #expect(list.map(\.role) == [.owner, .member, .member])
                #expect(list[0].others == [try UserID("bob")] && list[0].memberCount == 2)
                #expect(list[1].others == nil && list[1].memberCount == 99)
                #expect(list[2].others == nil)
                break
            }
        }
    }

    @Test("An app that does not want it follows what it names alone")
    func off() async throws {
        try server.setMembers(["ada"], of: "team")
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.appending("home")
        configuration.dialer = server
        configuration.channels.followsConversations = false
        let client = RepriseClient(configuration)
        try await client.signIn("ada") { [server] in try server.token(for: "ada") }
        let running = Task { try await client.run() }
        let general = client.channel(rawJSON: "general")
        try await general.subscribe()
        try await eventually("it is live") { general.state == .live }
        #expect(followed() == ["general"])
        await expectError(.badConfiguration) { try await client.conversations.leave("team") }
        running.cancel()
        try await running.value
        await client.close()
    }
}
