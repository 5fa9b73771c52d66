import NIOCore
import RepriseCore
import RepriseNIO
import RepriseTestSupport
import Testing

@Suite("Fetching over HTTP", .timeLimit(.minutes(1)))
struct FetchTests {
    private func failure(_ body: () async throws -> Void) async -> RepriseError? {
        do { try await body() } catch { return error as? RepriseError }
        return nil
    }

    private static func answer(
        _ status: String = "200 OK", _ headers: [String] = [], _ body: String = "{}"
    ) -> String {
        (["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)", "Connection: close"] + headers)
            .joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    /// The port of a server's URL, over http.
    private static func http(_ url: String, _ path: String = "/v1/forms") -> String {
        "http://" + url.split(separator: "/")[1] + path
    }

    @Test("brings status, headers and body, whatever the status", arguments: [200, 304, 404, 500])
    func brings(_ status: Int) async throws {
        let text = Self.answer(
            "\(status) X", ["ETag: \"a\"", "X-Two: 1", "X-Two: 2"], status == 304 ? "" : "[1]")
        try await TestServer.answering(text) { url in
            let answer = try await NIOTransport().fetch(
                HTTPCall(url: Self.http(url), headers: ["a": "b"]), limit: 3)
            #expect(answer.status == status)
            #expect(answer.headers["etag"] == "\"a\"")
            #expect(answer.headers["x-two"] == "1, 2")
            #expect(answer.body == Array((status == 304 ? "" : "[1]").utf8))
        }
    }

    @Test("reads no more than its limit, with the length announced or not", .limit("network.fetch"))
    func isBounded() async throws {
        let body = String(repeating: "x", count: 1_000)
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n\(body)\r\n0\r\n\r\n"
        for text in [Self.answer("200 OK", [], body), chunked] {
            try await TestServer.answering(text) { url in
                let error = await failure {
                    _ = try await NIOTransport().fetch(HTTPCall(url: Self.http(url)), limit: 999)
                }
                #expect(error?.code == .tooLarge)
            }
        }
    }

    @Test("gives up on a silent server, and on one that answers a byte at a time")
    func isTimed() async throws {
        let timeout = Duration.milliseconds(300)
        try await TestServer.bytes { peer in
            try await peer.executeThenClose { inbound, _ in for try await _ in inbound {} }
        } test: { url in
            let error = await failure {
                _ = try await NIOTransport().fetch(
                    HTTPCall(url: Self.http(url)), limit: 10, timeout: timeout)
            }
            #expect(error?.code == .timedOut)
        }
        try await TestServer.bytes { peer in
            try await peer.executeThenClose { inbound, outbound in
                for try await _ in inbound {
                    try await outbound.write(
                        .init(string: "HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"))
                    while true {
                        try await outbound.write(.init(string: "x"))
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
            }
        } test: { url in
            let error = await failure {
                _ = try await NIOTransport().fetch(
                    HTTPCall(url: Self.http(url)), limit: 100_000, timeout: timeout)
            }
            #expect(error?.code == .timedOut, "\(String(describing: error))")
        }
    }

    @Test("reports at once that no server answers")
    func isRefused() async throws {
        let start = ContinuousClock.now
        let error = await failure {
            _ = try await NIOTransport().fetch(HTTPCall(url: "http://127.0.0.1:1/"), limit: 10)
        }
        #expect(error?.code == .unreachable)
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    @Test("does not follow a redirect to another server, but returns its location")
    func staysHere() async throws {
        for place in ["http://127.0.0.1:2/x", "https://127.0.0.1/", "//other/x", "ftp://x"] {
            try await TestServer.answering(Self.answer("302 Found", ["Location: \(place)"])) {
                url in
                let call = HTTPCall(url: Self.http(url))
                let answer = try await NIOTransport().fetch(call, limit: 10)
                #expect(answer.status == 302)
                #expect(answer.headers["location"] == place)
            }
        }
    }

    @Test(
        "refuses a malformed URL",
        arguments: ["", "ftp://x/", "ws://x/", "http://", "x"])
    func refuses(_ url: String) async throws {
        let error = await failure {
            _ = try await NIOTransport().fetch(HTTPCall(url: url), limit: 10)
        }
        #expect(error?.code == .badConfiguration)
    }

    @Test("ends with its task")
    func isCancelled() async throws {
        try await TestServer.bytes { peer in
            try await peer.executeThenClose { inbound, _ in for try await _ in inbound {} }
        } test: { url in
            let task = Task {
                try await NIOTransport().fetch(
                    HTTPCall(url: Self.http(url)), limit: 10, timeout: .seconds(50))
            }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }
}
