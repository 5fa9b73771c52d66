import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("The HTTP API")
struct HTTPRoutesTests {
    private static let room = "/v1/channels/room/messages"
    private static let json: HTTPFields = [.contentType: "application/json"]
    private static let lines: HTTPFields = [.contentType: "application/x-ndjson; charset=utf-8"]

    @Test("stores one message and answers its position, and the same for the same id")
    func publishOne() async throws {
        try await withAPI { api in
            let body = #"{"id":"order-1","body":{ "a" : [1, 2.0] }}"#
            let first = try await api.post(Self.room, Self.json, body)
            #expect(first.status == .ok)
            #expect(first.text == #"{"id":"order-1","seq":1}"#)
            let second = try await api.post(Self.room, Self.json, body)
            #expect(second.text == #"{"id":"order-1","seq":1,"duplicate":true}"#)
            let after = #"{"id":"order-2","after":"order-1","body":2}"#
            #expect(
                try await api.post(Self.room, Self.json, after).text == #"{"id":"order-2","seq":2}"#
            )
            let history = try await api.get(Self.room)
            #expect(history.text.contains(#""body":{ "a" : [1, 2.0] }}"#))
        }
    }

    @Test("makes an id where none is given, and names it")
    func makesID() async throws {
        try await withAPI { api in
            let answer = try await api.post(Self.room, Self.json, #"{"body":"hello"}"#)
            let object = try #require(answer.object)
            let id = try #require(object["id"] as? String)
            #expect(id.count == 32)
            #expect(object["seq"] as? Int == 1)
        }
    }

    @Test(
        "answers every bad request with its status and a JSON error",
        .limit("accounts.texts", "accounts.retention"),
        arguments: [
            (#"{"id":"a","body":}"#, 400, "malformed"), (#"{"id":"a"}"#, 400, "malformed"),
            (#"{"id":"a b","body":1}"#, 400, "badID"), (#"{"id":"","body":1}"#, 400, "badID"),
            (#"["id","a"]"#, 400, "malformed"), ("", 400, "malformed"),
            (#"{"id":"a","body":1}x"#, 400, "malformed"),
            (#"{"id":"a","body":1,"body":2}"#, 400, "malformed"),
            (#"{"id":"a","after":"b","body":1}"#, 409, "predecessorMissing"),
            (#"{"id":"taken","body":1}"#, 409, "conflict"),
            (
                "{\"id\":\"a\",\"body\":\"" + String(repeating: "x", count: 65_535) + "\"}", 413,
                "tooLarge"
            ),
            (
                "{\"id\":\"a\",\"body\":\"" + String(repeating: "x", count: 90_000) + "\"}", 413,
                "tooLarge"
            ),
        ])
    func badMessages(body: String, status: Int, code: String) async throws {
        try await withAPI { api in
            _ = try await api.post(
                "/v1/channels/other/messages", Self.json, #"{"id":"taken","body":1}"#)
            let answer = try await api.post(Self.room, Self.json, body)
            #expect(answer.status.code == status)
            #expect(answer.errorCode == code)
            #expect(answer.headers[.contentType] == "application/json")
            #expect(try await api.log.state(of: try ChannelName("room")).head == 0)
        }
    }

    private static let unknownFields: [(HTTPRequest.Method, String, String, String)] = [
        (
            .put, "/v1/channels/room", #"{"visibility":"public","keepMessages":7}"#,
            "The field “keepMessages” is unknown here. Known are visibility, history, "
                + "retention, title."
        ),
        (
            .patch, "/v1/channels/room", #"{"retention":{"days":7}}"#,
            "The field retention: The field “days” is unknown here. Known are messages, "
                + "seconds, bytes."
        ),
        (
            .post, Self.room, #"{"id":"a","edit":"b","body":1}"#,
            "The field “edit” is unknown here. Known are id, after, edits, deletes, body."
        ),
        (
            .patch, Self.room + "/a", #"{"edits":"b","body":1}"#,
            "The field “edits” is unknown here. Known are id, after, body."
        ),
        (
            .put, "/v1/channels/room", #"{"visibility":"public","\u001b\n":7}"#,
            #"The field “\u{1b}\n” is unknown here. Known are visibility, history, "#
                + "retention, title."
        ),
    ]

    @Test(
        "refuses an unknown field of a body, and names it and those that are known",
        arguments: unknownFields)
    func unknownField(
        method: HTTPRequest.Method, path: String, body: String, message: String
    ) async throws {
        try await withAPI { api in
            let answer = try await api.send(method, path, Self.json, Array(body.utf8))
            #expect(answer.status == .badRequest)
            #expect(answer.errorCode == "malformed")
            #expect(answer.errorMessage == message)
            #expect(try await api.log.state(of: try ChannelName("room")).head == 0)
            #expect(try await api.accounts.channel(try ChannelName("room")) == nil)
        }
    }

    @Test("an unknown field of a line is refused with that line, and the others are stored")
    func unknownFieldOfLine() async throws {
        try await withAPI { api in
            let body = "{\"id\":\"a\",\"edit\":\"b\",\"body\":1}\n{\"body\":2}\n"
            let answer = try await api.post(Self.room, Self.lines, body)
            #expect(answer.status.code == 207)
            let first = try #require(answer.text.split(separator: "\n").first)
            for part in [#""line":1"#, #""id":"a""#, #""code":"malformed""#, "“edit”"] {
                #expect(first.contains(part), "\(first)")
            }
            #expect(try await api.log.state(of: try ChannelName("room")).head == 1)
        }
    }

    @Test("a channel that was made says when; one that nobody has made is there without it")
    func made() async throws {
        try await withAPI { api in
            let put = try await api.send(
                .put, "/v1/channels/room", Self.json, Array(#"{"visibility":"public"}"#.utf8))
            let made = try #require(try await api.accounts.channel(try ChannelName("room"))?.made)
            #expect(put.object?["made"] as? Int64 == made.milliseconds)
            let found = try await api.get("/v1/channels/room")
            #expect(found.object?["made"] as? Int64 == made.milliseconds)
            let other = try await api.get("/v1/channels/other")
            #expect(other.status == .ok && other.object?["visibility"] as? String == "public")
            #expect(other.object?["made"] == nil)
        }
    }

    @Test("a malformed token is told apart from a malformed header, and not repeated")
    func malformedToken() async throws {
        try await withAPI(services: { $0.authenticator = TableAuthenticator() }) { api in
            for (field, words) in [
                ("Bearer abc", "The token is malformed."), ("Bearer a.b.c.d", "three parts"),
                ("Bearer", "Send one header"), ("Basic a.b.c", "Send one header"),
            ] {
                let answer = try await api.send(.get, "/v1/me", [.authorization: field], [])
                #expect(answer.status == .unauthorized)
                #expect(answer.errorCode == "unauthorized")
                #expect(answer.errorMessage?.contains(words) == true, "\(field)")
                #expect(!answer.text.contains("abc"))
            }
        }
    }

    @Test(
        "a refused token is told in the challenge, and none where there was none",
        arguments: [
            (nil, nil), ("Basic x.ada.x", nil), ("Bearer abc", #"error="invalid_token""#),
            (
                "Bearer x.ended.x",
                #"error="invalid_token", error_description="The token has ended.""#
            ),
        ] as [(String?, String?)])
    func challenge(field: String?, error: String?) async throws {
        try await withAPI(services: { $0.authenticator = TableAuthenticator() }) { api in
            let answer = try await api.send(
                .get, "/v1/me", field.map { [.authorization: $0] } ?? [:], [])
            #expect(answer.status == .unauthorized)
            let parts = [#"Bearer realm="reprise""#, error].compactMap(\.self)
            #expect(answer.headers[.wwwAuthenticate] == parts.joined(separator: ", "))
        }
    }

    @Test("refuses invalid UTF-8")
    func invalidUTF8() async throws {
        try await withAPI { api in
            var bytes = Array(#"{"id":"a","body":"xx"}"#.utf8)
            bytes[19] = 0xff
            let answer = try await api.send(.post, Self.room, Self.json, bytes)
            #expect(answer.status == .badRequest)
            #expect(answer.errorCode == "malformed")
        }
    }

    @Test(
        "refuses unknown paths, methods, channel names, types and parameters with a JSON error",
        .limit("http.historyPage"))
    func routing() async throws {
        try await withAPI { api in
            let bad = "/v1/channels/-room/messages"
            let cases: [(HTTPRequest.Method, String, HTTPFields, Int, String)] = [
                (.get, "/v1/nothing", [:], 404, "notFound"),
                (.get, "/", [:], 404, "notFound"),
                (.delete, Self.room, [:], 405, "methodNotAllowed"),
                (.post, "/healthz", [:], 405, "methodNotAllowed"),
                (.get, bad, [:], 400, "badChannelName"),
                (.post, bad, Self.json, 400, "badChannelName"),
                (.get, "/v1/channels/a%20b/messages", [:], 400, "badChannelName"),
                (.post, Self.room, [:], 415, "unsupportedMediaType"),
                (.post, Self.room, [.contentType: "text/plain"], 415, "unsupportedMediaType"),
                (.get, Self.room + "?limit=0", [:], 400, "malformed"),
                (.get, Self.room + "?limit=1001", [:], 400, "malformed"),
                (.get, Self.room + "?after=-1", [:], 400, "malformed"),
                (.get, Self.room + "?after=x", [:], 400, "malformed"),
            ]
            for (method, path, headers, status, code) in cases {
                let answer = try await api.send(method, path, headers, [])
                #expect(answer.status.code == status, "\(method) \(path)")
                #expect(answer.errorCode == code, "\(method) \(path)")
            }
            let zipped: HTTPFields = [.contentType: "application/json", .contentEncoding: "gzip"]
            #expect(try await api.post(Self.room, zipped, "x").status == .unsupportedMediaType)
            let put = try await api.send(.put, Self.room, [:], [])
            #expect(put.headers[.allow] == "GET, HEAD, POST")
            let escaped = try await api.post(
                "/v1/channels/a%3Ab/messages", Self.json, #"{"body":1}"#)
            #expect(escaped.status == .ok)
            #expect(try await api.log.state(of: try ChannelName("a:b")).head == 1)
        }
    }

    @Test("answers NDJSON line by line in order, and a bad line harms no other")
    func stream() async throws {
        try await withAPI { api in
            let long = String(repeating: "x", count: 80_000)
            let body = [
                #"{"id":"a","body":1}"#, "", #"{"id":"b","after":"a","body":{"x":"y"}}"#,
                "   ", #"{"id":"c","body":"#, #"{"id":"a","body":1}"#,
                #"{"id":"d","body":"\#(long)"}"#, #"{"id":"e","after":"zzz","body":1}"#,
                #"{"id":"f","body":3}"#,
            ].joined(separator: "\n")
            let answer = try await api.post(Self.room, Self.lines, body)
            #expect(answer.status.code == 207)
            #expect(answer.headers[.contentType] == "application/x-ndjson")
            let lines = answer.text.split(separator: "\n").map(String.init)
            #expect(lines.count == 7)
            try #require(lines.count == 7)
            #expect(lines[0] == #"{"id":"a","seq":1}"#)
            #expect(lines[1] == #"{"id":"b","seq":2}"#)
            #expect(lines[2].hasPrefix(#"{"error":{"code":"malformed""#))
            #expect(lines[2].hasSuffix(#""line":3}"#))
            #expect(lines[3] == #"{"id":"a","seq":1,"duplicate":true}"#)
            #expect(lines[4].hasPrefix(#"{"error":{"code":"tooLarge""#))
            #expect(lines[4].hasSuffix(#""line":5}"#))
            #expect(lines[5].hasPrefix(#"{"error":{"code":"predecessorMissing""#))
            #expect(lines[5].hasSuffix(#""id":"e","line":6}"#))
            #expect(lines[6] == #"{"id":"f","seq":3}"#)
        }
    }

    @Test("answers a stream with 200 if all is stored, with its refusal if nothing is")
    func streamStatus() async throws {
        try await withAPI { api in
            let many = (1...1_000).map { #"{"id":"m\#($0)","body":\#($0)}"# }.joined(
                separator: "\n")
            let all = try await api.post(Self.room, Self.lines, many + "\n")
            #expect(all.status == .ok)
            let expected = (1...1_000).map { #"{"id":"m\#($0)","seq":\#($0)}"# + "\n" }.joined()
            #expect(all.text == expected)
            let none = try await api.post(Self.room, Self.lines, "x\ny\n")
            #expect(none.status == .badRequest)
            let empty = try await api.post(Self.room, Self.lines, "")
            #expect(empty.status == .ok)
            #expect(empty.text.isEmpty)
        }
    }

    @Test(
        "cuts a stream at its limits: the lines before are stored and answered, then one line says why",
        .limit("http.message")
    )
    func streamBounds() async throws {
        var limits = HTTPLimits()
        limits.streamLines = 2
        try await withAPI(limits) { api in
            let answer = try await api.post(
                Self.room, Self.lines,
                "{\"id\":\"a\",\"body\":1}\n{\"id\":\"b\",\"body\":1}\n{\"body\":1}\n")
            let lines = answer.text.split(separator: "\n")
            #expect(answer.status.code == 207)
            #expect(lines.prefix(2) == [#"{"id":"a","seq":1}"#, #"{"id":"b","seq":2}"#])
            #expect(lines.last?.hasPrefix(#"{"error":{"code":"tooLarge""#) == true)
        }
    }

    @Test("a page has at most 4 MiB of bodies", .limit("http.historyPage"))
    func largeHistory() async throws {
        try await withAPI { api in
            let room = try ChannelName("room")
            let body = "\"" + String(repeating: "x", count: 65_534) + "\""
            let messages = (0..<70).map { _ in message(room, body: body) }
            _ = try await api.committer.commit(messages)
            var after = 0
            for count in [64, 6, 0] {
                let path = Self.room + "?limit=1000&after=\(after)"
                let page = try #require(try await api.get(path).object)
                #expect((page["messages"] as? [Any])?.count == count)
                after += count
            }
        }
    }

    @Test("reads a channel page by page, and names what is gone")
    func history() async throws {
        try await withAPI { api in
            let room = try ChannelName("room")
            for _ in 0..<6 { _ = try await api.committer.commit([message(room, body: "\"x\"")]) }
            _ = try await api.log.trim(room, through: 2)
            let page = try #require(try await api.get(Self.room + "?after=1&limit=2").object)
            #expect(page["channelId"] as? String == "room")
            #expect(page["head"] as? Int == 6)
            #expect(page["floor"] as? Int == 2)
            #expect((page["epoch"] as? String)?.count == 32)
            let messages = try #require(page["messages"] as? [[String: Any]])
            #expect(messages.map { $0["seq"] as? Int } == [3, 4])
            #expect(messages[0]["body"] as? String == "x")
            #expect(messages[0]["timestamp"] is Int)
            #expect(messages[0]["prev"] == nil)
            let gone = try #require(page["gone"] as? [[String: Any]])
            #expect(gone.count == 1)
            #expect(gone[0]["after"] as? Int == 1)
            #expect(gone[0]["through"] as? Int == 2)
            #expect(gone[0]["reason"] as? String == "retention")
            let end = try #require(try await api.get(Self.room + "?after=6").object)
            #expect((end["messages"] as? [Any])?.isEmpty == true)
            #expect(end["gone"] == nil)
            let head = try await api.send(.head, Self.room, [:], [])
            #expect(head.status == .ok)
            #expect(head.text.isEmpty)
        }
    }

    @Test("answers 503 with Retry-After while the log cannot store, and 200 again afterwards")
    func unavailable() async throws {
        let log = ScriptedLog()
        try await withAPI(log: log) { api in
            let body = #"{"id":"a","body":1}"#
            log.fail(with: RepriseError(.diskFull, "full"))
            let answer = try await api.post(Self.room, Self.json, body)
            #expect(answer.status == .serviceUnavailable)
            #expect(answer.errorCode == "unavailable")
            #expect(answer.headers[.retryAfter] == "1")
            let stream = try await api.post(Self.room, Self.lines, body)
            #expect(stream.status == .serviceUnavailable)
            #expect(stream.headers[.retryAfter] == "1")
            #expect(try await api.get("/readyz").status == .serviceUnavailable)
            #expect(try await api.get("/healthz").text == #"{"status":"ok"}"#)
            log.fail(with: nil)
            try await eventually("a probe finds it out") {
                try await api.get("/readyz").text == #"{"status":"ready"}"#
            }
            #expect(try await api.post(Self.room, Self.json, body).status == .ok)
            api.committer.shutdown()
            #expect(try await api.get("/readyz").status == .serviceUnavailable)
            #expect(try await api.get("/healthz").status == .ok)
            #expect(try await api.post(Self.room, Self.json, body).status == .serviceUnavailable)
        }
    }

    @Test("answers overloaded at once when the queue is full; a stream waits first")
    func overloaded() async throws {
        var limits = HTTPLimits()
        limits.queueTime = .milliseconds(50)
        var queue = Committer.Limits()
        queue.waitingMessages = 0
        try await withAPI(limits, queue: queue) { api in
            let answer = try await api.post(Self.room, Self.json, #"{"body":1}"#)
            #expect(answer.status == .serviceUnavailable)
            #expect(answer.errorCode == "overloaded")
            #expect(answer.headers[.retryAfter] == "1")
            let stream = try await api.post(Self.room, Self.lines, #"{"body":1}"#)
            #expect(stream.status == .serviceUnavailable)
            #expect(stream.text.contains("overloaded"))
        }
    }
}
