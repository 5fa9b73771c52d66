import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// What a `GET` at one gateway has of what another has stored; docs/cluster.md.
@Suite("Reads of a cluster", .timeLimit(.minutes(1)))
struct ClusterConsistencyTests {
    private struct Answer {
        let status: UInt
        let body: String
        let position: Int64?
    }

    private func ask(
        _ server: RunningServer, _ method: String, _ path: String, position: Int64? = nil,
        header: String? = nil, as token: String? = nil, body: String? = nil
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(server.port)\(path)")
        request.method = .init(rawValue: method)
        if let text = header ?? position.map({ "\($0)" }) {
            request.headers.add(name: "reprise-position", value: text)
        }
        if let token { request.headers.add(name: "authorization", value: "Bearer \(token)") }
        if let body = body ?? (method == "POST" ? #"{"body":1}"# : nil) {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(Array(body.utf8))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
        let body = try await response.body.collect(upTo: 1 << 20)
        return Answer(
            status: response.status.code, body: String(buffer: body),
            position: response.headers.first(name: "reprise-position").flatMap { Int64($0) })
    }

    /// The empty commands in the journal, which bring a gateway up to date.
    private func nops(_ journal: MemoryJournal) throws -> Int {
        try journal.entries.reduce(0) { count, stored in
            try ClusterEntry(stored.bytes).commands.reduce(count) {
                if case .nop = $1 { $0 + 1 } else { $0 }
            }
        }
    }

    @Test(
        "A read that names a position waits for that alone; a read of the local state does not wait",
        .limit("cluster.position"))
    func positions() async throws {
        let journal = MemoryJournal(
            seed: 4, readers: 2, stamps: SystemTimekeeper(), faults: .none)
        defer { journal.close() }
        let shared = SharedJournal(journal: journal)
        try await RunningServer.with(journal: shared, providers: []) { first in
            try await RunningServer.with(journal: shared, providers: []) { second in
                let path = "/v1/channels/general/messages"
                let written = try await ask(first, "POST", path)
                #expect(written.status == 200)
                let position = try #require(written.position)

                var empty = try nops(journal)
                for query in ["", "?consistency=local"] {
                    let read = try await ask(second, "GET", path + query, position: position)
                    #expect(read.body.contains(#""seq":1"#), "\(read.body)")
                    #expect(try #require(read.position) >= position)
                }
                #expect(try nops(journal) == empty, "neither writes an entry")
                _ = try await ask(second, "GET", path)
                #expect(try nops(journal) > empty, "one without does")
                empty = try nops(journal)
                // One that never comes is asked for in the journal.
                let late = try await ask(second, "GET", path, position: .max)
                #expect(try late.status == 200 && nops(journal) > empty)
                for header in ["-1", "x", "", "9223372036854775808"] {
                    #expect(try await ask(second, "GET", path, header: header).status == 400)
                }
                for query in ["?consistency=strong", "?consistency=local&consistency=local"] {
                    #expect(try await ask(second, "GET", path + query).status == 400)
                }
            }
        }
        // A server that is alone has no positions, and the same rules.
        try await RunningServer.with { server in
            let plain = try await ask(server, "GET", "/v1/channels/a/messages")
            let other = try await ask(server, "GET", "/v1/channels/a/messages?consistency=x")
            #expect(plain.position == nil && other.status == 400)
        }
    }

    /// Whether a gateway wants to be current by an entry, or changes a member or a channel.
    private static func isAsked(_ stored: StoredEntry) throws -> Bool {
        try ClusterEntry(stored.bytes).commands.contains { command in
            switch command {
            case .nop: true
            case .account(let change): change is SetMember || change is SetChannel
            default: false
            }
        }
    }

    @Test(
        "A role that an invitation leaves out, and a conversation of two, are as another gateway has left them"
    )
    func readThenWrite() async throws {
        let journal = MemoryJournal(
            seed: 5, readers: 2, stamps: SystemTimekeeper(), faults: .none)
        defer { journal.close() }
        let shared = SharedJournal(journal: journal)
        let late = LateJournal(shared)
        let who = TrustingAuthenticator()
        let (ada, ben, root) = ("user.ada.x", "user.ben.x", "admin.root.x")
        try await RunningServer.with(authenticator: who, journal: shared, providers: []) { first in
            try await RunningServer.with(authenticator: who, journal: late, providers: []) {
                second in
                /// Asks the second gateway, which hears nothing until it has written.
                func askLate(_ path: String, as token: String, body: String?) async throws -> UInt {
                    let before = journal.entries.count
                    async let answer = ask(second, "PUT", path, as: token, body: body)
                    try await eventually("it has written") {
                        try journal.entries.dropFirst(before).contains(where: Self.isAsked)
                    }
                    late.hold(false)
                    return try await answer.status
                }
                let team = "/v1/channels/team"
                let settings = #"{"visibility":"private"}"#
                let made = try await ask(first, "PUT", team, as: ada, body: settings)
                let joined = try await ask(first, "PUT", team + "/members/ben", as: ada, body: "{}")
                #expect(made.status == 201 && joined.status == 201)
                #expect(try await ask(second, "GET", team, as: ada).status == 200)

                late.hold(true)
                let raised = try await ask(
                    first, "PUT", team + "/members/ben", as: ada, body: #"{"role":"owner"}"#)
                #expect(raised.status == 200)
                #expect(try await askLate(team + "/members/ben", as: ada, body: "{}") == 200)
                let members = try await ask(first, "GET", team + "/members", as: ada).body
                let owners = members.components(separatedBy: #""role":"owner""#).count - 1
                #expect(owners == 2, "\(members)")

                late.hold(true)
                let direct = "/v1/channels/" + ChannelName.direct(user("ada"), user("ben")).text
                #expect(try await ask(first, "PUT", "/v1/direct/ben", as: ada).status == 201)
                let titled = try await ask(
                    first, "PATCH", direct, as: root, body: #"{"title":"Two"}"#)
                #expect(titled.status == 200)
                #expect(try await askLate("/v1/direct/ada", as: ben, body: nil) == 200)
                let found = try await ask(first, "GET", direct, as: root).body
                #expect(found.contains(#""title":"Two""#), "\(found)")
            }
        }
    }
}
