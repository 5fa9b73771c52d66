import RepriseCore
import RepriseTestSupport
import Synchronization
import Testing

@Suite("Pictures of senders", .timeLimit(.minutes(1)))
struct PictureFetchTests {
    private struct Transport: HTTPTransport {
        let answer: @Sendable (HTTPCall) async throws -> HTTPAnswer

        func exchange(
            _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
            chunk: @Sendable ([UInt8]) async throws -> Void
        ) async throws {
            let answer = try await self.answer(request)
            try await head(HTTPHead(status: answer.status, headers: answer.headers))
            try await chunk(answer.body)
        }
    }

    private static let png: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d]
    private static let jpeg: [UInt8] = [0xff, 0xd8, 0xff, 0xe0]
    private static let address = "https://Example.org/ada.png"

    private func fetch(
        _ address: String? = Self.address, status: Int = 200, type: String = "image/png",
        body: [UInt8] = Self.png
    ) async -> [UInt8]? {
        let transport = Transport { _ in
            HTTPAnswer(status: status, headers: ["content-type": type], body: body)
        }
        return await PictureFetch(from: ["example.ORG"], by: transport).picture(address)
    }

    @Test("a PNG or JPEG file of a host that the app has named is taken")
    func taken() async {
        #expect(await fetch() == Self.png)
        #expect(await fetch(type: "IMAGE/JPEG; charset=x", body: Self.jpeg) == Self.jpeg)
    }

    @Test(
        "another host, or another protocol, is never asked",
        arguments: [
            nil, "", "x", "http://example.org/a", "https://example.com/a", "file:///etc/passwd",
            "https://sub.example.org/a", "https://example.org@example.com/a",
            "https://me@example.org/a", "https://example.org.example.com/a",
        ])
    func refused(address: String?) async {
        let asked = Mutex(false)
        let transport = Transport { _ in
            asked.withLock { $0 = true }
            return HTTPAnswer(
                status: 200, headers: ["content-type": "image/png"], body: Self.png)
        }
        #expect(await PictureFetch(from: ["example.org"], by: transport).picture(address) == nil)
        #expect(!asked.withLock { $0 })
        #expect(await PictureFetch(from: [], by: transport).picture(Self.address) == nil)
        #expect(!asked.withLock { $0 }, "by default none is asked")
    }

    @Test("a file that is no picture, or too large, is left out", .limit("noticeSettings.picture"))
    func bounds() async {
        let most = Self.png + [UInt8](repeating: 0, count: PictureFetch.bytes - Self.png.count)
        #expect(await fetch(body: most) == most)
        #expect(await fetch(body: most + [0]) == nil)
        #expect(await fetch(status: 404) == nil)
        #expect(await fetch(type: "text/html") == nil)
        #expect(await fetch(type: "image/svg+xml") == nil)
        #expect(await fetch(body: Self.jpeg) == nil, "its type says another")
        #expect(await fetch(body: []) == nil)
    }

    @Test("a server that fails or hangs is no picture, and the system's end is its end")
    func hangs() async {
        let hanging = Transport { _ in
            try await Task.sleep(for: .seconds(600))
            return HTTPAnswer(status: 200, headers: [:], body: [])
        }
        let short = PictureFetch(
            from: ["example.org"], by: hanging, timeout: .milliseconds(20))
        #expect(await short.picture(Self.address) == nil)
        let long = PictureFetch(from: ["example.org"], by: hanging, timeout: .seconds(600))
        let waiting = Task { await long.picture(Self.address) }
        long.timeWillExpire()
        #expect(await waiting.value == nil)
        let broken = Transport { _ in throw RepriseError(.unreachable, "No server.") }
        #expect(await PictureFetch(from: ["example.org"], by: broken).picture(Self.address) == nil)
    }
}
