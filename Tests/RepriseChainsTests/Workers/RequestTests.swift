import Foundation
import RepriseChains
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// What was sent.
private final class Sent: Sendable {
    let bytes = Mutex<[UInt8]>([])
}

/// Somebody puts a link in the place of the file's folder before the transport opens it.
private struct Swapping: HTTPTransport {
    let folder: URL
    let outside: URL
    let sent: Sent

    func exchange(
        _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        let files = FileManager.default
        try files.moveItem(
            at: folder, to: folder.deletingLastPathComponent().appendingPathComponent("moved"))
        try files.createSymbolicLink(at: folder, withDestinationURL: outside)
        guard case .file(let file) = request.body else { return }
        let bytes = [UInt8](try Data(contentsOf: file))
        sent.bytes.withLock { $0 = bytes }
        try await head(HTTPHead(status: 204, headers: [:]))
    }
}

@Suite("Requests and uploads", .timeLimit(.minutes(1)))
struct RequestTests {
    @Test("carry the key and the body, and bring the answer, over a real connection")
    func areSent() async throws {
        let bench = try WorkBench()
        try await OddServer.run { request, answer in
            try await answer.head(201, ["Content-Length: 2", "X-Got: \(request.body.count)"])
            try await answer.write("ok")
        } test: { url, host, server in
            let output = try await bench.run(
                HTTPRequestWorker.self,
                .init("POST", url: "\(url)/p?q", headers: ["X-A": "1"], body: Data("body".utf8)),
                of: bench.standard(allowing: host, credentials: { ["Authorization": $0] }))
            #expect(output.status == 201)
            #expect(output.body == Data("ok".utf8))
            #expect(output.headers["x-got"] == "4")
            let request = try #require(server.requests.first)
            #expect(request.method == "POST")
            #expect(request.target == "/p?q")
            #expect(request.headers["idempotency-key"] == "key-1")
            #expect(request.headers["authorization"] == url)
            #expect(request.headers["x-a"] == "1")
        }
    }

    /// What a worker makes of a status.
    private func meaning(
        _ status: Int, _ headers: [String: String] = [:], accepted: Set<Int> = []
    ) async throws -> (any Error)? {
        let transport = FakeTransport { _ in (HTTPHead(status: status, headers: headers), []) }
        let workers = StandardWorkers(
            sandbox: Sandbox([:]), transport: transport,
            guard: AddressGuard(lookUp: { _ in ["93.184.216.34"] }))
        return try await WorkBench().failure(
            HTTPRequestWorker.self, .init(url: "https://a.example/", accepted: accepted),
            of: workers)
    }

    @Test("have the outcome of their status by RFC 9110")
    func areJudged() async throws {
        for status in [200, 201, 204] { #expect(try await meaning(status) == nil) }
        for status in [408, 425, 429, 500, 502, 503, 599] {
            #expect(try await meaning(status)?.errorCode == .unavailable)
        }
        for status in [304, 400, 401, 403, 404, 409, 410, 422] {
            #expect(try await meaning(status)?.permanentCode == "refused")
        }
        #expect(try await meaning(404, accepted: [404]) == nil)
    }

    @Test("wait as long as the server asks, within a day", .limit("workers.retryAfter"))
    func honourRetryAfter() async throws {
        func wait(_ text: String) async throws -> Duration? {
            let failure = try await meaning(503, ["retry-after": text]) as? DispatchFailure
            guard case .retry(let wait) = failure?.advice else { return nil }
            return wait
        }
        #expect(try await wait("120") == .seconds(120))
        #expect(try await wait("0") == .zero)
        #expect(try await wait("99999999999999999999") == .seconds(86_400))
        #expect(try await wait("Sun, 06 Nov 1994 08:49:37 GMT") == .zero)
        #expect(try await wait("Fri, 31 Dec 9999 23:59:59 GMT") == .seconds(86_400))
        #expect(try await wait("soon") == nil)
        #expect(try await wait("-5") == nil)
    }

    @Test(
        "read no more of an answer than their limit, and than the feature's",
        .limit("workers.bodies"))
    func areBounded() async throws {
        let bench = try WorkBench()
        try await OddServer.run { _, answer in
            try await answer.head(200)
            try await answer.write([UInt8](repeating: 1, count: 2_000_000))
        } test: { url, host, _ in
            for limit in [10, .max] {
                let error = await bench.failure(
                    HTTPRequestWorker.self, .init(url: url, limit: limit),
                    of: bench.standard(allowing: host))
                #expect(error?.permanentCode == "tooLarge")
            }
        }
    }

    @Test("of more than 1 MiB are not sent", .limit("workers.bodies"))
    func bodyIsBounded() async throws {
        let bench = try WorkBench()
        let asked = Mutex(0)
        try await OddServer.run { _, answer in
            asked.withLock { $0 += 1 }
            try await answer.head(200, ["Content-Length: 0"])
        } test: { url, host, _ in
            for (bytes, code) in [(1_048_576, nil), (1_048_577, "tooLarge")] as [(Int, String?)] {
                let error = await bench.failure(
                    HTTPRequestWorker.self,
                    .init("POST", url: url, body: Data(repeating: 1, count: bytes)),
                    of: bench.standard(allowing: host))
                #expect(error?.permanentCode == code)
            }
        }
        #expect(asked.withLock { $0 } == 1)
    }

    @Test(
        "with unknown methods are not sent", arguments: ["get", "G ET", "CONNECT"])
    func checkMethods(_ method: String) async throws {
        let bench = try WorkBench()
        let error = await bench.failure(
            HTTPRequestWorker.self, .init(method, url: "https://a.example/"),
            of: bench.standard())
        #expect(error?.permanentCode == "badConfiguration")
    }

    #if os(Linux)
        @Test("send the file that was checked, although a link replaces its path meanwhile")
        func uploadOfSwapped() async throws {
            let (bench, outside, sent) = (try WorkBench(), try TemporaryFolder(), Sent())
            let folder = bench.folder.appending("a")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try bench.write("a/film", [1, 2, 3])
            try Data("secret".utf8).write(to: outside.appending("film"))
            let transport = Swapping(folder: folder, outside: outside.url, sent: sent)
            let output = try await bench.run(
                UploadWorker.self,
                .init(SandboxPath("home", "a/film"), to: "http://127.0.0.1:80/up"),
                of: bench.standard(allowing: "127.0.0.1:80", transport: transport))
            #expect(output.bytes == 3)
            #expect(sent.bytes.withLock { $0 } == [1, 2, 3])
        }
    #endif

    @Test("send a file as it is, with the same key each time")
    func upload() async throws {
        let bench = try WorkBench()
        let bytes = content(3_000_000)
        try bench.write("film", bytes)
        try await OddServer.run { _, answer in
            try await answer.head(503, ["Content-Length: 0"])
        } test: { url, host, server in
            let input = UploadWorker.Input(SandboxPath("home", "film"), to: url)
            for _ in 0..<2 {
                let error = await bench.failure(
                    UploadWorker.self, input, of: bench.standard(allowing: host))
                #expect(error?.errorCode == .unavailable)
            }
            #expect(server.requests.map(\.method) == ["PUT", "PUT"])
            #expect(server.requests.allSatisfy { $0.body == bytes })
            #expect(server.requests.allSatisfy { $0.headers["content-length"] == "3000000" })
            #expect(server.requests.allSatisfy { $0.headers["idempotency-key"] == "key-1" })
            // The same key must not go with other bytes.
            try bench.write("film", [1])
            let error = await bench.failure(
                UploadWorker.self, input, of: bench.standard(allowing: host))
            #expect(error?.permanentCode == "fileChanged")
            #expect(server.requests.count == 2)
        }
    }

    @Test("send the same file after a restart of the device, whose volume has another number")
    func uploadAfterRestart() async throws {
        let bench = try WorkBench()
        try bench.write("film", [1, 2, 3])
        let transport = FakeTransport { _ in (HTTPHead(status: 503, headers: [:]), []) }
        let workers = bench.standard(allowing: "127.0.0.1:80", transport: transport)
        let input = UploadWorker.Input(SandboxPath("home", "film"), to: "http://127.0.0.1/up")
        for _ in 0..<2 {
            let error = await bench.failure(UploadWorker.self, input, of: workers)
            #expect(error?.errorCode == .unavailable)
            try bench.restartDevice()
        }
    }

    @Test("report the progress of an upload, and its end when the server answers")
    func uploadProgress() async throws {
        let bench = try WorkBench()
        try bench.write("film", content(3_000_000))
        try await OddServer.run { _, answer in
            try await answer.head(200, ["Content-Length: 0"])
        } test: { url, host, _ in
            _ = try await bench.run(
                UploadWorker.self, .init(SandboxPath("home", "film"), to: url),
                of: bench.standard(allowing: host))
        }
        let shares = bench.seen.progress
        #expect(shares.count > 10 && shares.count < 102 && shares == shares.sorted())
        #expect(shares.first.map { $0 > 0 && $0 < 0.1 } == true)
        #expect(shares.last == 1 && shares.dropLast().allSatisfy { $0 < 1 })
    }
}
