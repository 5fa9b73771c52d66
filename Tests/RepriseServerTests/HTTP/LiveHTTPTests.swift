import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Synchronization
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
        "a stream that waits for its publish rate ends at its deadline, and answers each line with that"
    )
    func waitingStream() async throws {
        var limits = HTTPLimits()
        limits.streamTime = .seconds(1)
        let asked = Mutex(0)
        try await withAPI(
            limits,
            services: { services in
                services.wait = { _ in
                    let isFirst = asked.withLock { count in
                        count += 1
                        return count == 1  // the request itself
                    }
                    return isFirst ? nil : .seconds(3_600)
                }
            }
        ) { api in
            let start = ContinuousClock.now
            let answer = try await api.post(
                Self.path, [.contentType: "application/x-ndjson"], "{\"body\":1}\n{\"body\":2}\n")
            #expect(start.duration(to: .now) < .seconds(20), "at its deadline, not later")
            #expect(answer.status.code == 408)
            #expect(answer.text.components(separatedBy: #""code":"timedOut""#).count == 3)
            #expect(try await api.log.state(of: try ChannelName("room")).head == 0)
        }
    }

    @Test("lines that are refused count for the rate of publishing, too")
    func refusedLines() async throws {
        let asked = Mutex(0)
        try await withAPI(
            services: { services in
                services.wait = { _ in
                    asked.withLock { $0 += 1 }
                    return nil
                }
            }
        ) { api in
            let answer = try await api.post(
                Self.path, [.contentType: "application/x-ndjson"],
                String(repeating: "x\n", count: 300) + "{\"body\":1}\n")
            #expect(answer.status.code == 207)
            #expect(asked.withLock(\.self) == 302, "the request and its lines")
        }
    }

    @Test("errors of HEAD have no body, which a client would take for the next answer")
    func headErrors() async throws {
        try await withAPI(over: .live) { api in
            let socket = try PlainSocket(port: try #require(api.client.port))
            for path in ["/nowhere", "/v1/channels/-a", "/v1/channels?limit=0"] {
                try await socket.send("HEAD \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                let answer = try await socket.receive(until: "\r\n\r\n")
                #expect(answer.hasPrefix("HTTP/1.1 4"), "\(path)")
                #expect(answer.hasSuffix("\r\n\r\n"), "\(path)")
            }
            try await socket.send(
                "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            let last = String(decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(last.hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test(
        "refuses a body by its Content-Length before it comes, and ends a connection that sends on")
    func contentLength() async throws {
        try await withAPI(over: .live) { api in
            let socket = try PlainSocket(port: try #require(api.client.port))
            try await socket.send(Self.head("application/json", "Content-Length: 999999999"))
            // A peer that waits for leave to send (RFC 9110 §10.1.1) has its answer now.
            let answer = try await socket.receive(until: "}}")
            let piece = String(repeating: "x", count: 65_536)
            let sent = await Self.send(piece, times: 1_000, to: socket)
            #expect(answer.hasPrefix("HTTP/1.1 413"))
            #expect(answer.lowercased().contains("connection: close"))
            #expect(answer.contains(#"{"error":{"code":"tooLarge""#))
            #expect(sent < 1_000)
        }
    }

    @Test("ends an endless stream at its limit, and answers the stored lines")
    func endless() async throws {
        var limits = HTTPLimits()
        limits.streamBytes = 200_000
        limits.discardedBytes = 100_000
        try await withAPI(limits, over: .live) { api in
            let socket = try PlainSocket(port: try #require(api.client.port))
            try await socket.send(Self.head("application/x-ndjson", "Transfer-Encoding: chunked"))
            let line = #"{"body":"\#(String(repeating: "x", count: 1_000))"}"# + "\n"
            let chunk = String(line.utf8.count, radix: 16) + "\r\n" + line + "\r\n"
            _ = await Self.send(chunk, times: 5_000, to: socket)
            let answer = String(decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 207"))
            #expect(answer.contains(#""code":"tooLarge""#))
            let head = try await api.log.state(of: try ChannelName("room")).head
            #expect(head > 100 && head < 300)
        }
    }

    @Test(
        "refuses a stream beyond a user's and beyond all, until one has ended",
        .limit("http.streams"))
    func manyStreams() async throws {
        var limits = HTTPLimits()
        limits.streams = 2
        limits.streamsOfUser = 1
        limits.batchLines = 1
        try await withAPI(
            limits, over: .live, services: { $0.authenticator = TableAuthenticator() }
        ) { api in
            let type = "application/x-ndjson"
            /// A stream that has begun, and does not end.
            func open(_ user: String, _ count: Int64) async throws -> PlainSocket {
                let socket = try PlainSocket(port: try #require(api.client.port))
                let more = "Transfer-Encoding: chunked\r\nConnection: close"
                try await socket.send(
                    Self.head("POST", Self.path, user, more, type: type)
                        + "b\r\n{\"body\":1}\n\r\n")
                try await eventually("it is read") {
                    try await api.log.state(of: channel("room")).head == count
                }
                return socket
            }
            func ask(_ user: String) async throws -> String {
                let socket = try PlainSocket(port: try #require(api.client.port))
                let more = "Content-Length: 10\r\nConnection: close"
                try await socket.send(
                    Self.head("POST", Self.path, user, more, type: type) + #"{"body":1}"#)
                return String(decoding: try await socket.receiveAll(), as: UTF8.self)
            }
            let ada = try await open("ada", 1)
            let second = try await ask("ada")
            #expect(second.hasPrefix("HTTP/1.1 429 ") && second.contains("rateLimited"))
            #expect(second.lowercased().contains("retry-after: 1"))
            let root = try await open("root", 2)
            for user in ["bob", "root"] {
                let beyond = try await ask(user)
                #expect(beyond.hasPrefix("HTTP/1.1 503 ") && beyond.contains("overloaded"))
                #expect(beyond.lowercased().contains("retry-after: 1"))
            }
            for socket in [ada, root] {
                try await socket.send("0\r\n\r\n")
                let answer = String(decoding: try await socket.receiveAll(), as: UTF8.self)
                #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
            }
            #expect(try await ask("ada").hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test("gives up on a body that comes too slowly", .limit("http.bodyTime"))
    func slow() async throws {
        var limits = HTTPLimits()
        limits.messageTime = .milliseconds(100)
        try await withAPI(limits, over: .live) { api in
            let socket = try PlainSocket(port: try #require(api.client.port))
            try await socket.send(Self.head("application/json", "Content-Length: 1000") + "{")
            for _ in 0..<50 {
                try await Task.sleep(for: .milliseconds(20))  // it is the slowness that is tested
                if await Self.send(" ", times: 1, to: socket) == 0 { break }
            }
            socket.endSending()
            let answer = String(decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 408"))
            #expect(answer.contains(#""code":"timedOut""#))
        }
    }

    @Test(
        "gives up on a stream that comes too slowly; the lines before are stored and answered",
        .limit("http.bodyTime"))
    func slowStream() async throws {
        var limits = HTTPLimits()
        limits.streamTime = .seconds(4)
        limits.batchLines = 1
        try await withAPI(limits, over: .live) { api in
            let socket = try PlainSocket(port: try #require(api.client.port))
            let head = Self.head("application/x-ndjson", "Transfer-Encoding: chunked")
            try await socket.send(head + "d\r\n{\"body\":\"a\"}\n\r\n")
            for _ in 0..<1_000 {
                try await Task.sleep(for: .milliseconds(20))  // it is the slowness that is tested
                if await Self.send("1\r\n \r\n", times: 1, to: socket) == 0 { break }
            }
            socket.endSending()
            let answer = String(decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 207"))
            #expect(answer.contains(#""seq":1"#))
            #expect(answer.contains(#""code":"timedOut""#))
            #expect(try await api.log.state(of: try ChannelName("room")).head == 1)
        }
    }

    @Test(
        "a body that ends early is a bad request; the lines of a stream before the end are stored and answered",
        arguments: ["application/json", "application/x-ndjson"],
        ["Transfer-Encoding: chunked", "Content-Length: 100"])
    func cut(type: String, framing: String) async throws {
        let isStream = type == "application/x-ndjson"
        try await withAPI(over: .live) { api in
            let socket = try PlainSocket(port: try #require(api.client.port))
            let text = "{\"body\":\"a\"}\n"
            let body = framing.hasPrefix("T") ? "d\r\n\(text)\r\n9\r\n{" : text + "{"
            try await socket.send(Self.head(type, framing) + body)
            socket.endSending()
            let answer = String(decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(answer.hasPrefix(isStream ? "HTTP/1.1 207" : "HTTP/1.1 400"), "\(answer)")
            #expect(answer.contains(#""code":"malformed""#))
            #expect(answer.contains(#""seq":1"#) == isStream)
            #expect(try await api.log.state(of: try ChannelName("room")).head == (isStream ? 1 : 0))
        }
    }

    // MARK: Rights that end meanwhile

    @Test(
        "a member who is removed while his body comes publishes and edits nothing",
        arguments: [("POST", ""), ("PATCH", "/first")])
    func removed(method: String, id: String) async throws {
        try await RunningServer.with(authenticator: TableAuthenticator()) { server in
            func ask(_ method: String, _ path: String, _ user: String, _ body: String = "")
                async throws -> String
            {
                let socket = try PlainSocket(port: server.port)
                let more = "Content-Length: \(body.utf8.count)\r\nConnection: close"
                try await socket.send(Self.head(method, path, user, more) + body)
                return String(decoding: try await socket.receiveAll(), as: UTF8.self)
            }
            let (room, member) = ("/v1/channels/room", "/v1/channels/room/members/bob")
            let made = try await ask("PUT", room, "ada", #"{"visibility":"private"}"#)
            #expect(made.hasPrefix("HTTP/1.1 201 "))
            #expect(try await ask("PUT", member, "ada").hasPrefix("HTTP/1.1 201 "))
            let first = try await ask("POST", Self.path, "bob", #"{"id":"first","body":1}"#)
            #expect(first.hasPrefix("HTTP/1.1 200 "))
            let socket = try PlainSocket(port: server.port)
            try await socket.send(
                Self.head(
                    method, Self.path + id, "bob", "Content-Length: 10\r\nExpect: 100-continue"))
            // Sent once he may publish, before the body is read.
            let leave = try await socket.receive(until: "\r\n\r\n")
            #expect(leave == "HTTP/1.1 100 Continue\r\n\r\n")
            #expect(try await ask("DELETE", member, "ada").hasPrefix("HTTP/1.1 204 "))
            try await socket.send(#"{"body":2}"#)
            let answer = try await socket.receive(until: "}")
            #expect(answer.hasPrefix("HTTP/1.1 403 "), "\(answer)")
            #expect(server.log.head(of: channel("room")) == 1)
        }
    }

    @Test("an owner who becomes a member deletes no more of others' messages in an open stream")
    func demoted() async throws {
        var limits = HTTPLimits()
        limits.batchLines = 1
        try await withAPI(
            limits, over: .live, services: { $0.authenticator = TableAuthenticator() }
        ) { api in
            let room = channel("room")
            let ada = Principal(user: user("ada"))
            try await api.accounts.perform(SetChannel(room, ChannelSettings(), by: ada))
            let others = NewMessage(
                channel: room, id: try EntryID("others"), from: user("bob"), body: [0x31])
            _ = try await api.committer.commit([others])
            let socket = try PlainSocket(port: try #require(api.client.port))
            let head = Self.head(
                "POST", Self.path, "ada", "Transfer-Encoding: chunked\r\nConnection: close",
                type: "application/x-ndjson")
            try await socket.send(head + "b\r\n{\"body\":1}\n\r\n")
            try await eventually("the stream is open") {
                try await api.log.state(of: room).head == 2
            }
            try await api.accounts.perform(SetMember(user("ada"), .member, in: room, by: .open))
            try await socket.send("15\r\n{\"deletes\":\"others\"}\n\r\n0\r\n\r\n")
            let answer = String(decoding: try await socket.receiveAll(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 207"), "\(answer)")
            #expect(answer.contains(#""code":"forbidden""#), "\(answer)")
            #expect(try await api.log.state(of: room).head == 2)
        }
    }

    /// - Returns: how often it could be sent before the peer ended the connection.
    private static func send(_ text: String, times: Int, to socket: PlainSocket) async -> Int {
        for count in 0..<times {
            do { try await socket.send(text) } catch { return count }
        }
        return times
    }

    private static func head(
        _ method: String, _ path: String, _ user: String, _ more: String,
        type: String = "application/json"
    ) -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: \(type)\r\n"
            + "Authorization: Bearer \(TableAuthenticator.token(user))\r\n\(more)\r\n\r\n"
    }

    private static func head(_ type: String, _ framing: String) -> String {
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: \(type)\r\n\(framing)\r\n\r\n"
    }
}
