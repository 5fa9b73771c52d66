import Foundation
import GRDB
import Reprise
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// Changes of conversations that the server, or what stands before it, refuses for good.
@Suite("Refused changes of conversations", .timeLimit(.minutes(1)))
struct RefusedConversationTests {
    private let folder: TemporaryFolder
    private let server: MemoryServer

    init() throws {
        folder = try TemporaryFolder()
        server = try MemoryServer(users: ["ada"])
    }

    /// Answers some methods on conversations; all else is the server's.
    private struct Answering: HTTPTransport {
        let server: MemoryServer
        let refused: Set<String>
        let accepted: Set<String>
        let refusal: Int

        func exchange(
            _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
            chunk: @Sendable ([UInt8]) async throws -> Void
        ) async throws {
            let path = URLComponents(string: request.url)?.path ?? ""
            guard refused.union(accepted).contains(request.method),
                ["/v1/archive/", "/v1/channels/", "/v1/direct/"].contains(where: path.hasPrefix)
            else { return try await server.exchange(request, head: head, chunk: chunk) }
            let status = refused.contains(request.method) ? refusal : 204
            try await head(HTTPHead(status: status, headers: [:]))
        }
    }

    /// Runs a client; what `prepare` changes waits until then.
    private func running(
        refusing refused: Set<String>, with refusal: Int = 403,
        accepting accepted: Set<String> = [],
        _ prepare: (RepriseClient) async throws -> Void = { _ in },
        _ body: (RepriseClient) async throws -> Void
    ) async throws {
        try await server.running(
            in: folder,
            {
                $0.transport = Answering(
                    server: server, refused: refused, accepted: accepted, refusal: refusal)
            },
            prepare, body)
    }

    private func newest(_ client: RepriseClient) async -> [String] {
        for await list in client.conversations.newest() {
            return list.map { "\($0.id) \($0.title ?? "")\($0.draft.map { " " + $0 } ?? "")" }
        }
        return []
    }

    private func archived(_ client: RepriseClient) async -> [String] {
        for await list in client.conversations.archived() { return list.map(\.id) }
        return []
    }

    private func refused(_ count: Int64, _ client: RepriseClient) async throws {
        try await eventually("\(count) are refused") {
            try await client.ledger().outcomes[.dead] == count
        }
    }

    private func tell(_ json: String) throws {
        try server.publish(json, to: ChannelName.directory(of: try UserID("ada")).text)
    }

    @Test("Of a refused archive, its end or a title the list has again what the server told")
    func restored() async throws {
        try tell(#"{"conversation":"a","role":"owner","since":2,"title":"A"}"#)
        try tell(#"{"conversation":"b","role":"owner","since":1,"title":"B","archived":5}"#)
        func isAsTold(_ client: RepriseClient) async -> Bool {
            let (open, closed) = (await newest(client), await archived(client))
            return open == ["a A"] && closed == ["b"]
        }
        try await running(refusing: ["PATCH", "PUT", "DELETE"]) { client in
            try await eventually("they are told") { await isAsTold(client) }
            try await client.conversations.unarchive("b")
            try await refused(1, client)
            #expect(await isAsTold(client), "an archived one stays so")
            try await client.conversations.archive("b")
            try await refused(2, client)
            #expect(await isAsTold(client), "so does one that is archived again")
            try await client.conversations.archive("a")
            try await refused(3, client)
            #expect(await isAsTold(client), "another does not become it")
            try await client.conversations.rename("a", to: "X")
            try await refused(4, client)
            #expect(await isAsTold(client), "its title is the former")
        }
        // Several wait, each for the one before it.
        try await running(
            refusing: ["PATCH", "PUT", "DELETE"],
            { client in
                try await client.conversations.archive("a")
                try await client.conversations.unarchive("a")
                try await client.conversations.unarchive("b")
                try await client.conversations.archive("b")
                try await client.conversations.rename("a", to: "X")
                try await client.conversations.rename("a", to: "Y")
                #expect(await newest(client) == ["a Y"], "at once")
            }
        ) { client in
            try await refused(10, client)
            #expect(await isAsTold(client))
        }
    }

    @Test(
        "A conversation whose leave is refused is listed again, as the server last sent it, with its draft"
    )
    func left() async throws {
        try tell(#"{"conversation":"a","role":"owner","since":2,"title":"A"}"#)
        try await running(refusing: []) { client in
            try await eventually("it is told") { await newest(client) == ["a A"] }
            try await client.conversations.setDraft("draft", in: "a")
        }
        func leave(_ client: RepriseClient) async throws {
            try await client.conversations.rename("a", to: "X")
            try await client.conversations.leave("a")
            #expect(await newest(client).isEmpty, "at once")
            await expectError(.noSuchEntry) {
                try await client.conversations.setDraft("more", in: "a")
            }
        }
        try await running(refusing: ["PATCH", "DELETE"], leave) { client in
            try await refused(2, client)
            #expect(await newest(client) == ["a A draft"])
        }
        // What is told meanwhile holds: another title, and the end.
        try await running(
            refusing: ["PATCH", "DELETE"],
            { client in
                try await leave(client)
                try tell(#"{"conversation":"a","role":"owner","since":2,"title":"B"}"#)
            }
        ) { client in
            try await refused(4, client)
            try await eventually("it has its title") { await newest(client) == ["a B draft"] }
        }
        try await running(
            refusing: ["PATCH", "DELETE"],
            { client in
                try await leave(client)
                try tell(#"{"conversation":"a","left":true}"#)
            }
        ) { client in
            try await refused(6, client)
            try await eventually("it has ended") { await newest(client).isEmpty }
        }
    }

    @Test(
        "A direct conversation that is left and begun again, before the server knows either, is listed"
    )
    func begunAgain() async throws {
        let direct = ChannelName.direct(try UserID("ada"), try UserID("bob")).text
        try server.setMembers(["ada", "bob"], of: direct)
        try await running(refusing: []) { client in
            try await eventually("it is told") { await newest(client) == ["\(direct) "] }
        }
        try await running(
            refusing: [],
            { client in
                try await client.conversations.leave(direct)
                #expect(await newest(client).isEmpty)
                try await client.conversations.direct(with: "bob")
                #expect(await newest(client) == ["\(direct) "], "at once")
            }
        ) { client in
            try await eventually("the server has both, and tells it") {
                let isDone = try await client.ledger().pending == 0
                return await newest(client) == ["\(direct) "] && isDone
            }
        }
    }

    @Test(
        "A direct conversation that is left and begun again keeps its draft if the server refuses the leave",
        arguments: [true, false])
    func begunAgainInVain(isLeaveRefused: Bool) async throws {
        let direct = ChannelName.direct(try UserID("ada"), try UserID("bob")).text
        try server.setMembers(["ada", "bob"], of: direct)
        try await running(refusing: []) { client in
            try await eventually("it is told") { await newest(client) == ["\(direct) "] }
            try await client.conversations.setDraft("draft", in: direct)
        }
        try await running(
            refusing: isLeaveRefused ? ["PUT", "DELETE"] : ["PUT"],
            { client in
                try await client.conversations.leave(direct)
                try await client.conversations.direct(with: "bob")
                #expect(await newest(client) == ["\(direct)  draft"], "at once")
            }
        ) { client in
            try await refused(isLeaveRefused ? 2 : 1, client)
            try await eventually("it is as the server has it") {
                await newest(client) == (isLeaveRefused ? ["\(direct)  draft"] : [])
            }
        }
        try await running(refusing: []) { client in
            try await client.conversations.direct(with: "bob")
            try await eventually("it has its draft when it is begun once more") {
                await newest(client) == ["\(direct)  draft"]
            }
        }
    }

    @Test(
        "A direct conversation that is left and begun again keeps its draft, however late its end arrives"
    )
    func begunAgainBeforeTheEnd() async throws {
        let direct = ChannelName.direct(try UserID("ada"), try UserID("bob")).text
        try tell(#"{"conversation":"\#(direct)","role":"member","since":1}"#)
        try await running(refusing: []) { client in
            try await eventually("it is told") { await newest(client) == ["\(direct) "] }
            try await client.conversations.setDraft("draft", in: direct)
        }
        // Both are done, and nothing is told.
        try await running(
            refusing: [], accepting: ["PUT", "DELETE"],
            { client in
                try await client.conversations.leave(direct)
                try await client.conversations.direct(with: "bob")
            }
        ) { client in
            try await eventually("both are done") { try await client.ledger().pending == 0 }
            #expect(await newest(client) == ["\(direct)  draft"])
            try tell(#"{"conversation":"\#(direct)","left":true}"#)
            try tell(#"{"conversation":"\#(direct)","role":"member","since":2,"title":"T"}"#)
            try await eventually("it has its draft") {
                await newest(client) == ["\(direct) T draft"]
            }
        }
    }

    @Test("A draft of one that the server refuses is there when that is begun again, or retried")
    func refusedWithDraft() async throws {
        let direct = ChannelName.direct(try UserID("ada"), try UserID("bob")).text
        try await running(
            refusing: ["PUT"],
            { client in
                try await client.conversations.direct(with: "bob")
                try await client.conversations.make("team")
                for name in [direct, "team"] {
                    try await client.conversations.setDraft("draft", in: name)
                }
            }
        ) { client in
            try await refused(2, client)
            #expect(await newest(client).isEmpty)
        }
        try await running(refusing: []) { client in
            try await client.conversations.direct(with: "bob")
            #expect(await newest(client) == ["\(direct)  draft"], "at once")
            for dead in try await client.journal.deadLetters() {
                try await client.journal.retry(dead.id)
            }
            try await eventually("both are there") {
                await Set(newest(client)) == ["\(direct)  draft", "team  draft"]
            }
        }
    }

    @Test("A draft of one that the server refuses goes when the last refusal of it is discarded")
    func discarded() async throws {
        func discard(_ count: Int, _ client: RepriseClient) async throws {
            for dead in try await client.journal.deadLetters().prefix(count) {
                try await client.journal.discard(dead.id)
            }
        }
        func drafts(_ client: RepriseClient) async throws -> [String] {
            try await client.journal.read {
                try String.fetchAll($0, sql: "SELECT channel FROM channelsDraft ORDER BY 1")
            }
        }
        try tell(#"{"conversation":"a","role":"owner","since":2,"title":"A"}"#)
        try await running(refusing: ["PUT", "PATCH"]) { client in
            try await eventually("it is told") { await newest(client) == ["a A"] }
            try await client.conversations.setDraft("draft", in: "a")
            // One that is there keeps its draft, whatever is refused.
            try await client.conversations.rename("a", to: "X")
            try await client.conversations.make("a")
            try await refused(2, client)
            try await discard(2, client)
            #expect(try await drafts(client) == ["a"])
        }
        try await running(
            refusing: ["PUT", "PATCH"],
            { client in
                for _ in 0..<2 { try await client.conversations.make("team") }
                try await client.conversations.rename("team", to: "X")
                try await client.conversations.setDraft("draft", in: "team")
            }
        ) { client in
            // Those that are discarded count as dead.
            try await refused(5, client)
            #expect(await newest(client) == ["a A draft"])
            try await discard(1, client)
            #expect(try await drafts(client) == ["a", "team"], "another can be retried")
            try await discard(1, client)
            #expect(try await drafts(client) == ["a"])
        }
    }

    @Test(
        "A leave of one that was only begun here drops its draft when the server has done it",
        arguments: [true, false])
    func begunAndLeft(isRefused: Bool) async throws {
        let direct = ChannelName.direct(try UserID("ada"), try UserID("bob")).text
        try await running(
            refusing: isRefused ? ["DELETE"] : [],
            { client in
                try await client.conversations.direct(with: "bob")
                try await client.conversations.setDraft("draft", in: direct)
                try await client.conversations.leave(direct)
                #expect(await newest(client).isEmpty, "at once")
            }
        ) { client in
            try await eventually("it is as the server has it") {
                let isDone = try await client.ledger().pending == 0
                return await newest(client) == (isRefused ? ["\(direct)  draft"] : []) && isDone
            }
            guard !isRefused else { return }
            try await client.conversations.direct(with: "bob")
            try await eventually("it is begun again, without") {
                let isDone = try await client.ledger().pending == 0
                return await newest(client) == ["\(direct) "] && isDone
            }
        }
    }

    @Test("A draft ends with the user's own leave, and outlasts an end that another has brought")
    func ended() async throws {
        func tellAgain(_ since: Int) throws {
            try tell(#"{"conversation":"a","role":"member","since":\#(since)}"#)
        }
        try tellAgain(1)
        try await running(refusing: [], accepting: ["DELETE"]) { client in
            try await eventually("it is told") { await newest(client) == ["a "] }
            try await client.conversations.setDraft("draft", in: "a")
            try tell(#"{"conversation":"a","left":true}"#)
            try await eventually("it has ended") { await newest(client).isEmpty }
            try tellAgain(2)
            try await eventually("it is there, with its draft") {
                await newest(client) == ["a  draft"]
            }
            // The list is told anew, first without it.
            try tell(#"{"list":"begin"}"#)
            try tell(#"{"list":"end"}"#)
            try await eventually("it has ended") { await newest(client).isEmpty }
            try tellAgain(3)
            try await eventually("it is there, with its draft") {
                await newest(client) == ["a  draft"]
            }
            try await client.conversations.leave("a")
            try await eventually("that is done") { try await client.ledger().pending == 0 }
            try tell(#"{"conversation":"a","left":true}"#)
            try tellAgain(4)
            try await eventually("it is there, without") { await newest(client) == ["a "] }
        }
    }

    @Test("An archive of a former version ends when it is refused, and so does what followed it")
    func formerArchive() async throws {
        try tell(#"{"conversation":"a","role":"owner","since":2,"title":"A"}"#)
        func record(_ client: RepriseClient) async throws {
            let payload = Array(#"{"verb":"archive","channel":"a","users":[]}"#.utf8)
            let journal = try await client.journal
            try await journal.write { db in
                try db.execute(sql: "UPDATE channelsConversation SET archived = 5")
                try journal.record(
                    NewEntry(
                        kind: Channels.conversationKind.name, payload: payload, partitionKey: "a"),
                    in: db)
            }
            #expect(await archived(client) == ["a"])
        }
        try await running(refusing: []) { client in
            try await eventually("it is told") { await newest(client) == ["a A"] }
        }
        try await running(refusing: ["PUT", "DELETE"], record) { client in
            try await refused(1, client)
            #expect(await newest(client) == ["a A"], "it alone")
        }
        try await running(
            refusing: ["PUT", "DELETE"],
            { client in
                try await record(client)
                try await client.conversations.unarchive("a")
                #expect(await newest(client) == ["a A"], "at once")
            }
        ) { client in
            try await refused(3, client)
            #expect(await newest(client) == ["a A"], "and the end of it")
        }
    }

    @Test("A rename that a former server does not know says what to do, and is retried after it")
    func formerServer() async throws {
        try tell(#"{"conversation":"a","role":"owner","since":2,"title":"A"}"#)
        try await running(refusing: ["PATCH"], with: 405) { client in
            try await eventually("it is told") { await newest(client) == ["a A"] }
            try await client.conversations.rename("a", to: "X")
            try await refused(1, client)
            #expect(await newest(client) == ["a A"])
            let reason = try await client.journal.deadLetters().first?.reason ?? ""
            #expect(reason.hasSuffix(" Upgrade the server, then retry this."), "\(reason)")
        }
        try await running(refusing: [], accepting: ["PATCH"]) { client in
            for dead in try await client.journal.deadLetters() {
                try await client.journal.retry(dead.id)
            }
            try await eventually("it is done") {
                let ledger = try await client.ledger()
                return ledger.pending == 0 && ledger.outcomes[.dead] ?? 0 == 0
            }
        }
    }

    @Test("An archive that the server takes stays when the change after it is refused")
    func takenBefore() async throws {
        try server.setMembers(["ada"], of: "c")
        try await running(refusing: []) { client in
            try await eventually("it is told") { await newest(client) == ["c "] }
        }
        try await running(
            refusing: ["DELETE"],
            { client in
                try await client.conversations.archive("c")
                try await client.conversations.unarchive("c")
                #expect(
                    await newest(client) == ["c "] && server.settings(of: "ada").archived.isEmpty)
            }
        ) { client in
            try await refused(1, client)
            try await eventually("it is archived, as the server has it") {
                await archived(client) == ["c"]
            }
        }
    }
}
