import Foundation
import NIOCore
import RepriseCore
import RepriseNIO
import RepriseTestSupport
import Synchronization
import Testing

@Suite("HTTP with bodies of any size", .timeLimit(.minutes(1)))
struct TransportTests {
    /// What came of an exchange.
    private struct SeenSockets: Sendable {
        var head: HTTPHead?
        var body: [UInt8] = []
        var error: (any Error)?

        var code: RepriseError.Code? { (error as? RepriseError)?.code }
    }

    private func exchange(_ call: HTTPCall) async -> SeenSockets {
        let seen = Mutex(SeenSockets())
        do {
            try await NIOTransport().exchange(call) { head in
                seen.withLock { $0.head = head }
            } chunk: { bytes in
                seen.withLock { $0.body += bytes }
            }
        } catch {
            seen.withLock { $0.error = error }
        }
        return seen.withLock { $0 }
    }

    private static func http(_ url: String, _ path: String = "/file") -> String {
        "http://" + url.split(separator: "/")[1] + path
    }

    /// Answers, then closes.
    private func closing(_ answer: String, _ test: @Sendable (String) async throws -> Void)
        async throws
    {
        try await TestServer.bytes { peer in
            try await peer.executeThenClose { inbound, outbound in
                for try await _ in inbound {
                    try await outbound.write(ByteBuffer(string: answer))
                    return
                }
            }
        } test: {
            try await test(Self.http($0))
        }
    }

    @Test("brings status, headers and body, and follows no redirect", arguments: [200, 302, 404])
    func brings(_ status: Int) async throws {
        let text =
            "HTTP/1.1 \(status) X\r\nContent-Length: 2\r\nX-A: 1\r\nX-A: 2\r\nLocation: /b\r\n\r\nok"
        try await TestServer.answering(text) { url in
            let seen = await exchange(HTTPCall(url: Self.http(url)))
            #expect(seen.head?.status == status)
            #expect(seen.head?.headers["x-a"] == "1, 2")
            #expect(seen.body == Array("ok".utf8))
            #expect(seen.error == nil)
        }
    }

    @Test(
        "says that an answer is not whole", .limit("network.head"),
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nshort\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 1_000_000),
            "nonsense\r\n\r\n",
        ])
    func isMalformed(_ answer: String) async throws {
        try await closing(answer) { url in
            let seen = await exchange(HTTPCall(url: url))
            #expect(seen.code == .malformed, "\(String(describing: seen.error))")
        }
    }

    @Test("takes a body without a length until the connection's end")
    func readsToTheEnd() async throws {
        try await closing("HTTP/1.0 200 OK\r\n\r\nall of it") { url in
            let seen = await exchange(HTTPCall(url: url))
            #expect(seen.error == nil)
            #expect(seen.body == Array("all of it".utf8))
        }
    }

    @Test("asks for no compression")
    func asksForIdentity() async throws {
        let request = Mutex("")
        try await TestServer.bytes { peer in
            try await peer.executeThenClose { inbound, outbound in
                for try await part in inbound {
                    request.withLock { $0 += String(buffer: part) }
                    try await outbound.write(
                        ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
                }
            }
        } test: { url in
            _ = await exchange(HTTPCall(url: Self.http(url), headers: ["Accept-Encoding": "gzip"]))
        }
        let text = request.withLock { $0.lowercased() }
        #expect(text.contains("accept-encoding: identity\r\n"))
        #expect(!text.contains("gzip"))
    }

    @Test("is unreachable without a server, and if the connection is closed without an answer")
    func isUnreachable() async throws {
        try await closing("") { url in
            #expect(await exchange(HTTPCall(url: url)).code == .unreachable)
        }
        #expect(await exchange(HTTPCall(url: "http://127.0.0.1:1/")).code == .unreachable)
    }

    @Test(
        "bounds silence, not the whole: a byte now and then is enough, a stop in the middle is not")
    func boundsSilence() async throws {
        let timeout = Duration.seconds(4)
        try await TestServer.bytes { peer in
            try await peer.executeThenClose { inbound, outbound in
                for try await part in inbound {
                    let stops = String(buffer: part).contains("/stops")
                    try await outbound.write(
                        ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n"))
                    for _ in 0..<(stops ? 4 : 8) {
                        try await Task.sleep(for: .milliseconds(600))
                        try await outbound.write(ByteBuffer(string: "x"))
                    }
                }
            }
        } test: { url in
            let slow = await exchange(HTTPCall(url: Self.http(url), timeout: timeout))
            #expect(slow.error == nil)
            #expect(slow.body.count == 8)
            let stopped = await exchange(
                HTTPCall(url: Self.http(url, "/stops"), timeout: timeout))
            #expect(stopped.code == .timedOut)
            #expect(stopped.body.count == 4)
        }
    }

    @Test("leaves the time out in which the caller is at work")
    func leavesTheCallerOut() async throws {
        try await closing("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") { url in
            try await NIOTransport().exchange(HTTPCall(url: url, timeout: .seconds(4))) { _ in
                try await Task.sleep(for: .seconds(5))
            } chunk: { _ in
                try await Task.sleep(for: .seconds(5))
            }
        }
    }

    @Test("passes on the caller's error, and ends the exchange with it")
    func passesErrorsOn() async throws {
        struct Own: Error {}
        try await TestServer.answering("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok") { url in
            await #expect(throws: Own.self) {
                try await NIOTransport().exchange(HTTPCall(url: Self.http(url))) { _ in
                    throw Own()
                } chunk: { _ in
                }
            }
            await #expect(throws: Own.self) {
                try await NIOTransport().exchange(HTTPCall(url: Self.http(url))) { _ in
                } chunk: { _ in
                    throw Own()
                }
            }
        }
    }

    @Test("ends promptly when the task is cancelled")
    func isCancelled() async throws {
        let (answers, answered) = AsyncStream.makeStream(
            of: Int.self, bufferingPolicy: .unbounded)
        try await TestServer.answering("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok") { url in
            let place = Self.http(url)
            let task = Task {
                try await NIOTransport().exchange(HTTPCall(url: place)) {
                    answered.yield($0.status)
                } chunk: { _ in
                }
            }
            var iterator = answers.makeAsyncIterator()
            #expect(await iterator.next() == 200)
            let begin = ContinuousClock.now
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(begin.duration(to: .now) < .seconds(10))
        }
    }

    @Test("reads no further than the caller has come")
    func holdsBack() async throws {
        let written = Mutex(0)
        let size = 128 << 20
        try await TestServer.bytes { peer in
            try await peer.executeThenClose { inbound, outbound in
                for try await _ in inbound {
                    try await outbound.write(
                        ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n"))
                    let piece = ByteBuffer(repeating: 1, count: 65_536)
                    for _ in 0..<(size / 65_536) {
                        try await outbound.write(piece)
                        // The writer is told to wait by the loop, which must have had its turn.
                        try await peer.channel.eventLoop.submit {}.get()
                        written.withLock { $0 += 65_536 }
                    }
                }
            }
        } test: { url in
            struct Enough: Error {}
            await #expect(throws: Enough.self) {
                try await NIOTransport().exchange(HTTPCall(url: Self.http(url))) { _ in
                } chunk: { _ in
                    // Until the server stands still.
                    var (last, still) = (0, 0)
                    while still < 10 {
                        try await Task.sleep(for: .milliseconds(30))
                        let now = written.withLock { $0 }
                        still = now == last && now > 0 ? still + 1 : 0
                        last = now
                    }
                    throw Enough()
                }
            }
            #expect(written.withLock { $0 } < size / 2)
        }
    }

    @Test("sends a file with its length, and no more than it had; refuses a link")
    func sendsFiles() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("a")
        let content = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try Data(content).write(to: file)
        let got = Mutex([UInt8]())
        try await TestServer.bytes { peer in
            try await peer.executeThenClose { inbound, outbound in
                for try await part in inbound {
                    let count = got.withLock { bytes in
                        bytes += Array(buffer: part)
                        return bytes.count
                    }
                    guard count > content.count else { continue }
                    try await outbound.write(
                        ByteBuffer(string: "HTTP/1.1 201 X\r\nContent-Length: 0\r\n\r\n"))
                }
            }
        } test: { url in
            let call = HTTPCall(method: "PUT", url: Self.http(url), body: .file(file))
            #expect(await exchange(call).head?.status == 201)
            let link = folder.appendingPathComponent("link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
            let other = HTTPCall(method: "PUT", url: Self.http(url), body: .file(link))
            #expect(await exchange(other).code == .malformed)
        }
        let bytes = got.withLock { $0 }
        #expect(bytes.suffix(content.count).elementsEqual(content))
        let head = String(decoding: bytes.dropLast(content.count), as: UTF8.self).lowercased()
        #expect(head.contains("content-length: \(content.count)\r\n"))
    }

    @Test("connects to the given address, and still names the host")
    func isPinned() async throws {
        let request = Mutex("")
        try await TestServer.bytes { peer in
            try await peer.executeThenClose { inbound, outbound in
                for try await part in inbound {
                    request.withLock { $0 += String(buffer: part) }
                    try await outbound.write(
                        ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
                }
            }
        } test: { url in
            let port = url.split(separator: "/")[1].split(separator: ":")[1]
            let place = "http://nowhere.invalid:\(port)/"
            let seen = await exchange(HTTPCall(url: place, address: "127.0.0.1"))
            #expect(seen.head?.status == 200, "\(String(describing: seen.error))")
            #expect(request.withLock { $0.lowercased() }.contains("host: nowhere.invalid:\(port)"))
        }
    }
}
