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
        header: String? = nil
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(server.port)\(path)")
        request.method = .init(rawValue: method)
        if let text = header ?? position.map({ "\($0)" }) {
            request.headers.add(name: "reprise-position", value: text)
        }
        if method == "POST" {
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(Array(#"{"body":1}"#.utf8))
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
}
