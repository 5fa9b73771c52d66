import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import RepriseCore
import RepriseServer
import RepriseWire
import Testing

/// The routes on a real socket, where bodies come in pieces and peers misbehave.
@Suite("The HTTP API on a socket")
struct LiveHTTPTests {
    private static let path = "/v1/channels/room/messages"

    @Test("stores a stream of 5,000 lines that comes in pieces")
    func stream() async throws {
        try await withAPI(over: .live) { api in
            let text = (1...5_000).map { #"{"id":"m\#($0)","body":"\#($0)"}"# + "\n" }.joined()
            let answer = try await api.post(
                Self.path, [.contentType: "application/x-ndjson"], text)
            #expect(answer.status == .ok)
            #expect(answer.text.split(separator: "\n").count == 5_000)
            #expect(try await api.log.state(of: try ChannelName("room")).head == 5_000)
            #expect(try await api.get(Self.path + "?after=4999").text.contains(#""body":"5000""#))
        }
    }

    @Test(
        "refuses a body by its Content-Length before it comes, and ends a connection that sends on")
    func contentLength() async throws {
        try await withAPI(over: .live) { api in
            let answers = try await RawSocket.talk(to: api.client.port) { socket in
                socket.send(Self.head("application/json", "Content-Length: 999999999"))
                // A peer that waits for leave to send (RFC 9110 §10.1.1) has its answer now.
                let first = socket.read()
                let piece = String(repeating: "x", count: 65_536)
                var sent = 0
                while sent < 1_000, socket.send(piece) { sent += 1 }
                return (first: first, rest: socket.readToEnd(), sent: sent)
            }
            #expect(answers.first.hasPrefix("HTTP/1.1 413"))
            let answer = answers.first + answers.rest
            #expect(answer.lowercased().contains("connection: close"))
            #expect(answer.contains(#"{"error":{"code":"tooLarge""#))
            #expect(answers.sent < 1_000)
        }
    }

    @Test("ends a stream without end at its bound, with what was stored")
    func endless() async throws {
        var limits = HTTPLimits()
        limits.streamBytes = 200_000
        limits.discardedBytes = 100_000
        try await withAPI(limits, over: .live) { api in
            let answer = try await RawSocket.talk(to: api.client.port) { socket in
                socket.send(Self.head("application/x-ndjson", "Transfer-Encoding: chunked"))
                let line = #"{"body":"\#(String(repeating: "x", count: 1_000))"}"# + "\n"
                let chunk = String(line.utf8.count, radix: 16) + "\r\n" + line + "\r\n"
                var sent = 0
                while sent < 5_000, socket.send(chunk) { sent += 1 }
                return socket.readToEnd()
            }
            #expect(answer.hasPrefix("HTTP/1.1 207"))
            #expect(answer.contains(#""code":"tooLarge""#))
            let head = try await api.log.state(of: try ChannelName("room")).head
            #expect(head > 100 && head < 300)
        }
    }

    @Test("gives up on a body that comes too slowly")
    func slow() async throws {
        var limits = HTTPLimits()
        limits.messageTime = .milliseconds(100)
        try await withAPI(limits, over: .live) { api in
            let answer = try await RawSocket.talk(to: api.client.port) { socket in
                socket.send(Self.head("application/json", "Content-Length: 1000") + "{")
                for _ in 0..<20 {
                    usleep(20_000)
                    socket.send(" ")
                }
                socket.finishSending()
                return socket.readToEnd()
            }
            #expect(answer.hasPrefix("HTTP/1.1 408"))
            #expect(answer.contains(#""code":"timedOut""#))
        }
    }

    private static func head(_ type: String, _ framing: String) -> String {
        "POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Type: \(type)\r\n\(framing)\r\n\r\n"
    }
}
