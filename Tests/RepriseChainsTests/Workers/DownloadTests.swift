import Foundation
import RepriseChains
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@Suite("Downloads", .timeLimit(.minutes(1)))
struct DownloadTests {
    private static let bytes = content(6_000_000)
    private static let place = SandboxPath("home", "a/film")

    private func input(
        _ url: String, sha256 digest: String? = nil, limit: Int64 = 10_000_000,
        replaces: Bool = true, timeout: Double = 10
    ) -> DownloadWorker.Input {
        .init(
            url: url + "/film", to: Self.place, sha256: digest, limit: limit, replaces: replaces,
            timeout: timeout)
    }

    /// Downloads until it works.
    private func finish(
        _ bench: WorkBench, _ input: DownloadWorker.Input, _ host: String, attempts: Int
    ) async throws -> DownloadWorker.Output? {
        for _ in 1..<attempts {
            _ = await bench.failure(DownloadWorker.self, input, of: bench.standard(allowing: host))
        }
        return try await bench.run(DownloadWorker.self, input, of: bench.standard(allowing: host))
    }

    @Test("come whole, checksummed, to a folder that is made, with no half-written file left")
    func come() async throws {
        let bench = try WorkBench()
        try await OddServer.run { request, answer in
            try await answer.serve(Self.bytes, request)
        } test: { url, host, _ in
            let digest = sha256(Self.bytes)
            let output = try await bench.run(
                DownloadWorker.self, input(url, sha256: digest.uppercased()),
                of: bench.standard(allowing: host))
            #expect(output.file == Self.place)
            #expect(output.bytes == 6_000_000)
            #expect(output.sha256 == digest)
            #expect(bench.read("a/film") == Self.bytes)
            #expect(bench.seen.progress.last == 1)
            #expect(bench.names(in: "a") == ["film"])
        }
    }

    @Test("go on at the byte where they were, after each break")
    func goOn() async throws {
        let bench = try WorkBench()
        try await OddServer.run { request, answer in
            try await answer.serve(
                Self.bytes, request, cutAfter: request.from == nil ? 1_500_000 : 2_500_000)
        } test: { url, host, server in
            var output: DownloadWorker.Output?
            for _ in 0..<20 where output == nil {
                output = try? await bench.run(
                    DownloadWorker.self, input(url), of: bench.standard(allowing: host))
            }
            #expect(output?.sha256 == sha256(Self.bytes))
            #expect(bench.read("a/film") == Self.bytes)
            // What was on its way when the connection broke may be lost; what has come is not.
            let from = server.requests.map { $0.from ?? 0 }
            #expect(from.count > 2)
            #expect(from == from.sorted())
            #expect(from.dropFirst().allSatisfy { $0 > 0 })
            #expect(server.requests.last?.headers["if-range"] == "\"v1\"")
        }
    }

    @Test("begin anew when the content has changed: no byte of the old one stays")
    func beginAnew() async throws {
        let bench = try WorkBench()
        let new = content(4_000_000).map { ~$0 }
        try await OddServer.run { request, answer in
            if request.from == nil {
                try await answer.serve(Self.bytes, request, cutAfter: 5_000_000)
            } else {
                try await answer.serve(new, request, tag: "\"v2\"")
            }
        } test: { url, host, server in
            let output = try await finish(bench, input(url), host, attempts: 2)
            #expect(output?.sha256 == sha256(new))
            #expect(bench.read("a/film") == new)
            #expect(server.requests.count == 2)
        }
    }

    @Test(
        "begin anew when a server lies about the range, within the same attempt",
        arguments: [
            (206, ["Content-Range: bytes 0-5999999/6000000"]),
            (206, ["Content-Range: bytes FROM-5999998/6000000"]),
            (206, ["Content-Range: bytes FROM-6999999/7000000"]),
            (206, ["Content-Range: bytes FROM-5999999/5999999"]),
            (206, ["Content-Range: lines FROM-5999999/6000000"]),
            (206, ["Content-Range: bytes FROM-5999999/6000000", "Content-Length: 17"]),
            (206, ["Content-Range: bytes FROM-5999999/6000000", "ETag: \"v2\""]),
            (206, []), (416, []), (416, ["Content-Range: bytes */1"]),
        ])
    func doubtRanges(_ status: Int, _ headers: [String]) async throws {
        let bench = try WorkBench()
        let isCut = Mutex(true)
        try await OddServer.run { request, answer in
            if let from = request.from {
                return try await answer.head(
                    status, headers.map { $0.replacing("FROM", with: "\(from)") })
            }
            let cut = isCut.withLock { cut in
                defer { cut = false }
                return cut
            }
            try await answer.serve(Self.bytes, request, cutAfter: cut ? 3_000_000 : nil)
        } test: { url, host, server in
            let output = try await finish(bench, input(url), host, attempts: 2)
            #expect(output?.sha256 == sha256(Self.bytes))
            #expect(server.requests.map { $0.from != nil } == [false, true, false])
            #expect(bench.seen.log.count == 1)
        }
    }

    @Test(
        "do not go on without a strong validator of the content",
        arguments: [
            "ETag: W/\"v1\"", "X: y", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
            "ETag: W/\"v1\"\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nDate: Mon, 07 Nov 1994 08:49:37 GMT",
            "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT",
        ])
    func needAValidator(_ header: String) async throws {
        let bench = try WorkBench()
        try await OddServer.run { _, answer in
            try await answer.head(200, [header, "Content-Length: 9"])
            try await answer.write("1234")
        } test: { url, host, server in
            for _ in 0..<2 {
                let error = await bench.failure(
                    DownloadWorker.self, input(url), of: bench.standard(allowing: host))
                #expect(error?.errorCode == .malformed)
            }
            #expect(server.requests.allSatisfy { $0.from == nil })
        }
    }

    @Test("go on by a Last-Modified date that is older than the answer")
    func goOnByDate() async throws {
        let bench = try WorkBench()
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        try await OddServer.run { request, answer in
            let dates = ["Last-Modified: \(date)", "Date: Sun, 06 Nov 1994 08:49:38 GMT"]
            guard request.headers["if-range"] == date else {
                try await answer.head(200, dates + ["Content-Length: 9"])
                return try await answer.write("1234")
            }
            try await answer.head(
                206, dates + ["Content-Length: 5", "Content-Range: bytes 4-8/9"])
            try await answer.write("56789")
        } test: { url, host, _ in
            _ = try await finish(bench, input(url), host, attempts: 2)
            #expect(bench.read("a/film") == Array("123456789".utf8))
        }
    }

    @Test(
        "with a wrong length, range, encoding or status are not kept",
        arguments: [
            ("200", "Content-Length: 9", "short", RepriseError.Code.malformed),
            ("200", "Content-Encoding: gzip\r\nContent-Length: 2", "ab", .malformed),
            ("200", "Content-Encoding: br", "ab", .malformed),

            ("200", "Transfer-Encoding: gzip, chunked", "2\r\nab\r\n0\r\n\r\n", .malformed),
            ("206", "Content-Range: bytes 5-6/7\r\nContent-Length: 2", "ab", .malformed),
            ("503", "Content-Length: 2", "ab", .unavailable),
        ])
    func areNotKept(
        _ status: String, _ headers: String, _ body: String, _ code: RepriseError.Code
    ) async throws {
        let bench = try WorkBench()
        try await OddServer.run { _, answer in
            try await answer.write("HTTP/1.1 \(status) X\r\n\(headers)\r\n\r\n\(body)")
        } test: { url, host, _ in
            let error = await bench.failure(
                DownloadWorker.self, input(url), of: bench.standard(allowing: host))
            #expect(error?.errorCode == code, "\(String(describing: error))")
            #expect(bench.read("a/film") == nil)
        }
    }

    @Test("that are too large fail for good, with the length announced or not, and leave nothing")
    func areBounded() async throws {
        for announces in [true, false] {
            let bench = try WorkBench()
            try await OddServer.run { _, answer in
                try await answer.head(200, announces ? ["Content-Length: 3000000"] : [])
                try await answer.write(Self.bytes.prefix(3_000_000))
            } test: { url, host, _ in
                let error = await bench.failure(
                    DownloadWorker.self, input(url, limit: 2_999_999),
                    of: bench.standard(allowing: host))
                #expect(error?.permanentCode == "tooLarge")
                #expect(bench.names(in: "a").isEmpty)
            }
        }
    }

    @Test(
        "that are larger than the feature's own bound end, whatever the input allows",
        .limit("workers.download"))
    func areBoundedByTheFeature() async throws {
        let bench = try WorkBench()
        try await OddServer.run { _, answer in
            try await answer.head(200, ["Content-Length: 9000000000000000"])
        } test: { url, host, _ in
            let error = await bench.failure(
                DownloadWorker.self, .init(url: url, to: Self.place, limit: .max),
                of: bench.standard(allowing: host))
            #expect(error?.permanentCode == "tooLarge")
        }
    }

    @Test("with another checksum are fetched anew from the first byte")
    func areChecksummed() async throws {
        let bench = try WorkBench()
        let asked = Mutex(0)
        try await OddServer.run { request, answer in
            let isFirst = asked.withLock { asked in
                asked += 1
                return asked == 1
            }
            try await answer.serve(isFirst ? Self.bytes.map { ~$0 } : Self.bytes, request)
        } test: { url, host, server in
            let input = input(url, sha256: sha256(Self.bytes))
            let error = await bench.failure(
                DownloadWorker.self, input, of: bench.standard(allowing: host))
            #expect(error?.errorCode == .checksumMismatch)
            #expect(bench.read("a/film") == nil)
            _ = try await bench.run(DownloadWorker.self, input, of: bench.standard(allowing: host))
            #expect(server.requests.allSatisfy { $0.from == nil })
            #expect(bench.read("a/film") == Self.bytes)
        }
    }

    @Test(
        "with a malformed checksum are refused",
        arguments: ["", "abc", String(repeating: "g", count: 64)])
    func checkTheChecksum(_ digest: String) async throws {
        let bench = try WorkBench()
        let error = await bench.failure(
            DownloadWorker.self, input("https://a.example", sha256: digest), of: bench.standard())
        #expect(error?.permanentCode == "badConfiguration")
    }

    @Test("give up on a silent server, and keep the received bytes", .limit("workers.patience"))
    func areTimed() async throws {
        let bench = try WorkBench()
        try await OddServer.run { request, answer in
            try await answer.serve(Self.bytes, request, cutAfter: 1_000_000)
            try await Task.sleep(for: .seconds(20))
        } test: { url, host, server in
            for _ in 0..<2 {
                let error = await bench.failure(
                    DownloadWorker.self, input(url, timeout: 5),
                    of: bench.standard(allowing: host))
                #expect(error?.errorCode == .timedOut)
            }
            #expect(server.requests.map { $0.from ?? 0 } == [0, 1_000_000])
        }
    }

    @Test("do not replace a file unless allowed, and fetch nothing in that case")
    func replaceNothing() async throws {
        let bench = try WorkBench()
        #expect(mkdir(bench.folder.appending("a").path, 0o700) == 0)
        try bench.write("a/film", [1])
        try await OddServer.run { request, answer in
            try await answer.serve(Self.bytes, request)
        } test: { url, host, server in
            let error = await bench.failure(
                DownloadWorker.self, input(url, replaces: false),
                of: bench.standard(allowing: host))
            #expect(error?.permanentCode == "fileExists")
            #expect(bench.read("a/film") == [1])
            #expect(server.requests.isEmpty)
        }
    }

    @Test("killed at any of their checkpoints end with the file whole", arguments: [true, false])
    func surviveCheckpoints(_ replaces: Bool) async throws {
        for death in 1...3 {
            let bench = try WorkBench()
            try await OddServer.run { request, answer in
                try await answer.serve(Self.bytes, request)
            } test: { url, host, server in
                let input = input(url, replaces: replaces)
                let workers = bench.standard(allowing: host)
                // The last of them is that it takes its place; then the kill is after all that
                // matters.
                _ = await bench.failure(DownloadWorker.self, input, of: workers, killedAfter: death)
                let output = try await bench.run(DownloadWorker.self, input, of: workers)
                #expect(output.sha256 == sha256(Self.bytes))
                #expect(bench.read("a/film") == Self.bytes)
                // Once more, as if the record had been lost: nothing is fetched.
                let count = server.requests.count
                let again = try await bench.run(DownloadWorker.self, input, of: workers)
                #expect(again == output)
                #expect(server.requests.count == count)
            }
        }
    }
}
