import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import RepriseCore
import RepriseServer
import Testing

@Suite("Fetching a key set over HTTP", .timeLimit(.minutes(1)))
struct KeySetFetchTests {
    private static let time = Duration.milliseconds(500)

    /// Runs `body` with a server of good and bad key sets.
    private static func with(
        _ body: @escaping @Sendable (@Sendable (String) throws -> KeySetURL) async throws -> Void
    ) async throws {
        let router = Router()
        router.get("/good") { _, _ in Self.response(Array(#"{"keys":[]}"#.utf8)) }
        router.get("/moved") { _, _ in
            Response(status: .found, headers: [.location: "/good"])
        }
        router.get("/failed") { _, _ in Response(status: .internalServerError) }
        router.get("/large") { _, _ in
            Self.response([UInt8](repeating: 0x20, count: AccessLimits.keyBytes + 1))
        }
        router.get("/slow") { _, _ in
            Response(
                status: .ok,
                body: ResponseBody { writer in
                    for _ in 0..<1_000 {
                        try await writer.write(ByteBuffer(string: " "))
                        try await Task.sleep(for: .milliseconds(20))
                    }
                    try await writer.finish(nil)
                })
        }
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        try await application.test(.live) { client in
            let port = client.port ?? 0
            try await body { try KeySetURL("http://127.0.0.1:\(port)\($0)") }
        }
    }

    private static func response(_ bytes: [UInt8]) -> Response {
        Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    @Test("returns the body byte for byte")
    func brings() async throws {
        try await Self.with { url in
            let found = try await url("/good").fetch()
            #expect(found == Array(#"{"keys":[]}"#.utf8))
        }
    }

    @Test(
        "follows no redirect, and refuses a body that is too large and a status that is no success",
        arguments: ["/moved", "/failed", "/large", "/nowhere"])
    func refuses(_ path: String) async throws {
        try await Self.with { url in
            let set = try url(path)
            await #expect(throws: (any Error).self) { try await set.fetch() }
        }
    }

    @Test("gives up on a body that comes a byte at a time")
    func isTimed() async throws {
        try await Self.with { url in
            let start = ContinuousClock.now
            let set = try url("/slow")
            await #expect(throws: (any Error).self) { try await set.fetch(within: Self.time) }
            #expect(ContinuousClock.now - start < .seconds(10))
        }
    }

    @Test("reports at once that no server answers")
    func isRefused() async throws {
        let start = ContinuousClock.now
        await #expect(throws: (any Error).self) {
            try await KeySetURL("http://127.0.0.1:1/keys").fetch()
        }
        #expect(ContinuousClock.now - start < .seconds(5))
    }
}
