import Foundation
import GRDB
import RepriseCommandLine
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@testable import RepriseCLI

/// A real process, and SIGTERM.
@Suite("serve: shutdown")
struct ServeEndingTests {
    // MARK: Streams

    @Test(
        "SIGTERM ends a stream of lines within 5 s, with a line that says why, and nothing more is stored",
        arguments: [false, true])
    func stream(isPeerGone: Bool) async throws {
        try await withServer(options: ["--dev"]) { server, _ in
            let port = try #require(URL(string: server.url)?.port)
            let token = try #require(
                try await DevToken.fetch(server: server.url, user: try UserID("ada")))
            // 2,000 at once, then 200 a second: five minutes and more.
            let lines = (1...60_000).map { "{\"id\":\"m\($0)\",\"body\":\($0)}\n" }.joined()
            var connection: PlainSocket? = try PlainSocket(port: port)
            try await connection?.send(
                "POST /v1/channels/general/messages HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                    + "Authorization: Bearer \(token.secret)\r\n"
                    + "Content-Type: application/x-ndjson\r\n"
                    + "Content-Length: \(lines.utf8.count)\r\n\r\n")
            let body = Array(lines.utf8)
            let sending = Task { [connection] in
                try await connection?.send(body)
            }
            try await Self.wait("the stream is held back", server) { $0 >= 2_100 }
            if isPeerGone {
                sending.cancel()
                _ = try? await sending.value
                connection = nil
            }
            server.tool.signal(SIGTERM)
            // Behind the signal: before it, more is stored while this process stands still.
            let stored = try await Self.stored(server)
            if let connection {
                let answer = try await connection.receive(until: "to its end")
                #expect(answer.hasPrefix("HTTP/1.1 207"))
                let said = answer.split(separator: "\n").filter { $0.contains("\"seq\":") }.count
                let last = try #require(answer.split(separator: "\n").last)
                #expect(last.hasPrefix(#"{"error":{"code":"unavailable""#))
                _ = await server.tool.end()
                #expect(try await Self.stored(server) == said)
            }
            // After 5 s it would have ended itself, with another status.
            #expect(await server.tool.end() == 0)
            // What was waiting for its commit is one batch.
            #expect(try await Self.stored(server) <= stored + 256)
        }
    }

    private static func stored(_ server: ToolServer) async throws -> Int {
        var settings = Configuration()
        settings.busyMode = .timeout(5)
        let log = try DatabaseQueue(path: server.data + "/messages.sqlite", configuration: settings)
        defer { try? log.close() }
        return try await log.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM all_messages") }
            ?? 0
    }

    private static func wait(
        _ what: Comment, _ server: ToolServer, until condition: (Int) -> Bool
    ) async throws {
        try await eventually(what) { condition(try await stored(server)) }
    }

    // MARK: Signals

    /// A server that reads its keys from a pipe, which is open for writing now: it has begun, and
    /// serves nothing yet.
    private static func beginning(_ folder: TemporaryFolder) async throws -> (RunningTool, Int32) {
        let path = folder.path("keys")
        try #require(mkfifo(path, 0o600) == 0)
        let tool = try RunningTool([
            "serve", "--port", "0", "--data", folder.path("data"), "--keys", path,
        ])
        var descriptor: Int32 = -1
        try await eventually("\(tool.error)") {
            descriptor = open(path, O_WRONLY | O_NONBLOCK)
            return descriptor >= 0
        }
        return (tool, descriptor)
    }

    @Test("a signal before it serves ends it cleanly, too", arguments: [SIGTERM, SIGINT])
    func early(signal: Int32) async throws {
        let folder = try TemporaryFolder()
        let (tool, pipe) = try await Self.beginning(folder)
        tool.signal(signal)
        let secret = Data(repeating: 7, count: 48).base64EncodedString()
        #expect(write(pipe, secret, secret.utf8.count) == secret.utf8.count)
        close(pipe)
        #expect(await tool.end() == 0)
    }

    @Test("a server that hangs is ended all the same", .limit("tool.end"))
    func hangs() async throws {
        let folder = try TemporaryFolder()
        let (tool, pipe) = try await Self.beginning(folder)
        defer { close(pipe) }
        let began = ContinuousClock.now
        tool.signal(SIGTERM)
        #expect(await tool.end() == ExitStatus.incomplete.rawValue)
        #expect(ContinuousClock.now - began > .seconds(4))
        #expect(tool.error.contains("could not end in time"))
    }

    // MARK: The log

    private static let handshake =
        "GET /v1/connect HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"
        + "Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: reprise.v1\r\n\r\n"

    /// A masked text frame.
    private static func frame(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        let length =
            bytes.count < 126
            ? [0x80 | UInt8(bytes.count)]
            : [0xfe, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xff)]
        return [0x81] + length + [0, 0, 0, 0] + bytes
    }

    @Test("text from a client cannot add a line to the log: it is escaped")
    func log() async throws {
        try await withServer(options: ["--log-level", "debug"]) { server, _ in
            let port = try #require(URL(string: server.url)?.port)
            let connection = try PlainSocket(port: port)
            try await connection.send(Self.handshake)
            _ = try await connection.receive(until: "\r\n\r\n")
            let client =
                #"x\n2026-01-01T00:00:00+0000 critical reprise: forged"#
                + #"\r\u001b[2J\u202e\u2028\u0085\u200b\\"#
            try await connection.send(
                Self.frame(
                    #"{"type":"hello","version":1,"device":"d","client":"\#(client)"}"#))
            _ = try await connection.receive(until: "welcome")
            try await eventually("it is logged") { server.tool.error.contains("forged") }
            let text = server.tool.error
            #expect(text.contains(#"client=x\n2026-01-01T00:00:00+0000 critical reprise: forged"#))
            #expect(text.contains(#"forged\r\u{1b}[2J\u{202e}\u{2028}\u{85}\u{200b}\\"#))
            for line in text.unicodeScalars.split(separator: "\n") {
                #expect(!line.starts(with: "2026-01-01".unicodeScalars))
                #expect(line.allSatisfy { $0.value >= 0x20 && $0.value < 0x7f }, "\(line)")
            }
        }
    }

    @Test(
        "control characters of a log line are escaped, and the rest stays as it is",
        arguments: [
            ("plain text, (with) {signs}", "plain text, (with) {signs}"),
            ("größer 世界 🙂", "größer 世界 🙂"), ("a\nb\r\tc", #"a\nb\r\tc"#),
            ("\u{0}\u{7f}\u{9b}", #"\u{0}\u{7f}\u{9b}"#), (#"\n"#, #"\\n"#),
            ("\u{200e}\u{2066}\u{feff}\u{e0041}", #"\u{200e}\u{2066}\u{feff}\u{e0041}"#),
            ("\u{2029}\u{e000}", #"\u{2029}\u{e000}"#),
        ])
    func escaping(_ text: String, _ shown: String) {
        #expect(LogOutput.escaped(text[...]) == shown)
    }
}
