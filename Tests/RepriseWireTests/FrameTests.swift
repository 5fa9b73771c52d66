import RepriseCore
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Frames")
struct FrameTests {
    static func event(body: String, seq: Int64 = 5, prev: Int64 = 4) throws -> ServerFrame.Event {
        ServerFrame.Event(
            channel: try ChannelName("giridih_id"), seq: seq, prev: prev, id: try EntryID("m-1"),
            time: WallTime(milliseconds: 1_765_869_151_000), body: Array(body.utf8))
    }

    static func serverFrames() throws -> [ServerFrame] {
        let channel = try ChannelName("general")
        let epoch = try Epoch("e1")
        let time = WallTime(milliseconds: 7)
        return try [
            .welcome(
                .init(version: 1, time: time, heartbeat: .seconds(25), server: "a\"\\\n\u{1}é")),
            .welcome(
                .init(
                    version: 1, time: time, heartbeat: .seconds(25), server: "",
                    session: .init(user: UserID("ada"), expires: time),
                    directory: .directory(of: UserID("ada")))),
            .subscribed(.init(channel: channel, epoch: epoch, head: 9, floor: 2)),
            .subscribed(.init(channel: channel, epoch: epoch, head: 9, floor: 2, reset: true)),
            .subscribed(.init(channel: channel, epoch: epoch, head: 9, floor: 2, request: 7)),
            .refused(
                .init(channel: "a", id: nil, code: .forbidden, message: "No.", request: 0)),
            .event(try event(body: #"{"text":"hi"}"#)), .event(try event(body: "1", prev: 2)),
            .gone(
                channel: channel,
                Gone(range: try #require(SequenceRange(after: 0, through: 3)), reason: .retention)),
            .syncComplete(.init(channel: channel, epoch: epoch, through: 9, time: time)),
            .heartbeat(time: time, heads: [channel: 3, try ChannelName("b"): 4]),
            .published(.init(channel: channel, id: try EntryID("x"), seq: 4)),
            .refused(
                .init(
                    channel: "no good", id: nil, code: .rateLimited, message: "Slow.",
                    retryAfter: .seconds(2))),
            .error(code: .outOfOrder, message: "Say hello first."),
        ] + withUsers(channel, time)
    }

    /// Those in which a user is named.
    static func withUsers(_ channel: ChannelName, _ time: WallTime) throws -> [ServerFrame] {
        let ada = try UserID("ada@example.org")
        let session = ServerFrame.Session(user: ada, expires: time)
        let position = ServerFrame.Position(user: ada, read: 3, delivered: 7)
        var written = try event(body: "1")
        written.from = ada
        var edit = written
        edit.change = .edits(2)
        var deletion = try event(body: "null")
        deletion.change = .deletes(2)
        var deleted = try event(body: "null")
        deleted.isDeleted = true
        return [
            .welcome(
                .init(
                    version: 1, time: time, heartbeat: .seconds(25), server: "s", session: session)),
            .authenticated(session), .event(written), .event(edit), .event(deletion),
            .event(deleted), .receipt(channel: channel, position),
            .positions(
                .init(channel: channel, positions: [position], unread: .init(count: 2, head: 9))),
            .positions(
                .init(
                    channel: channel, positions: [],
                    unread: .init(count: 2, head: 9, mentions: 1))),
            .typing(channel: channel, user: ada, isTyping: true, expires: .seconds(10)),
            .typing(channel: channel, user: ada, isTyping: false, expires: .zero),
            .welcome(
                .init(
                    version: 1, time: time, heartbeat: .seconds(25), server: "s", session: session,
                    hasPresence: true)),
            .presence(
                .init(
                    channel: channel,
                    users: [
                        .init(user: ada, state: .online), .init(user: ada, state: .idle),
                        .init(user: ada, state: .offline, seen: time),
                    ])),
            .presence(.init(users: [.init(user: ada, state: .offline)])),
            .presence(.init(channel: channel, users: [], refusal: .tooManyMembers)),
        ]
    }

    static func clientFrames() throws -> [ClientFrame] {
        let channel = try ChannelName("general")
        var coverage = Coverage(through: 4)
        coverage.insert(after: 7, through: 9)
        return [
            .hello(.init(device: try EntryID("d"), client: "reprise/\u{7f}\t")),
            .subscribe([
                .init(channel: channel, epoch: try Epoch("e"), coverage: coverage),
                .init(channel: try ChannelName("b"), epoch: nil, coverage: Coverage()),
            ]),
            .unsubscribe([channel]),
            .publish(
                .init(
                    channel: channel, id: try EntryID("x"), after: try EntryID("w"),
                    body: Array("[ 1,2 ]".utf8))),
            .hello(
                .init(device: try EntryID("d"), client: "c", token: try AccessToken("e30.e30.x"))),
            .hello(.init(device: try EntryID("d"), client: "c", isIdle: true)),
            .authenticate(try AccessToken("e30.e30._-9")),
            .subscribe([
                .init(channel: channel, epoch: nil, coverage: Coverage(), isFirst: true)
            ]),
            .publish(
                .init(
                    channel: channel, id: try EntryID("x"), change: .edits(try EntryID("w")),
                    body: Array("1".utf8))),
            .publish(
                .init(
                    channel: channel, id: try EntryID("x"), change: .deletes(try EntryID("w")),
                    body: Array("null".utf8))),
            .receipt(.init(channel: channel, read: 4)),
            .receipt(.init(channel: channel, read: 4, delivered: 6)),
            .typing(channel, isTyping: true), .typing(channel, isTyping: false),
            .presence(.online), .presence(.idle), .watch([]),
            .watch([
                .init(channel: channel),
                .init(
                    channel: try ChannelName("b"), users: [try UserID("ada"), try UserID("ben")]),
                .init(channel: try ChannelName("c"), users: []),
            ]),
        ]
    }

    @Test(
        "a watch names as many channels and users as are allowed, and each channel once",
        .limit("wire.watch"))
    func watches() throws {
        func read(channels: Int, users: Int, repeats: Bool = false) throws -> ClientFrame {
            var decoder = FrameDecoder()
            let names = try (0..<users).map { try UserID("u\($0)") }
            let watched = try (0..<channels).map {
                ClientFrame.Watch(channel: try ChannelName("c\(repeats ? 0 : $0)"), users: names)
            }
            return try decoder.clientFrame(ClientFrame.watch(watched).encoded())
        }
        _ = try read(channels: WireLimits.watchedChannels, users: WireLimits.watchedUsers)
        for (channels, users, repeats) in [
            (WireLimits.watchedChannels + 1, 0, false), (1, WireLimits.watchedUsers + 1, false),
            (2, 0, true),
        ] {
            #expect(throws: RepriseError.self) {
                try read(channels: channels, users: users, repeats: repeats)
            }
        }
        var decoder = FrameDecoder()
        #expect(throws: RepriseError.self) {
            try decoder.clientFrame(Array(#"{"type":"presence","state":"offline"}"#.utf8))
        }
    }

    @Test("a frame in which some names are bad is read without them, where they can be refused")
    func badNames() throws {
        var decoder = FrameDecoder()
        let text =
            #"{"type":"subscribe","request":3,"channels":"#
            + #"[{"channelId":"b c","first":true},{"channelId":"good"}]}"#
        let request = try decoder.clientRequest(Array(text.utf8))
        guard case .subscribe(let wanted) = request.frame else {
            Issue.record("\(request.frame)")
            return
        }
        #expect(wanted.map(\.channel.text) == ["good"])
        #expect(request.number == 3)
        #expect(request.refused.map(\.channel) == ["b c"])
        #expect(request.refused.map(\.request) == [3])
        #expect(throws: RepriseError.self) { try decoder.clientFrame(Array(text.utf8)) }
        for broken in [
            #"{"type":"subscribe","request":-1,"channels":[]}"#,
            #"{"type":"subscribe","request":"1","channels":[]}"#,
            #"{"type":"subscribe","channels":[{"channelId":1}]}"#,
            #"{"type":"subscribe","channels":[{"channelId":"b c","coverage":7}]}"#,
            #"{"type":"unsubscribe","channels":[1]}"#,
        ] {
            #expect(throws: RepriseError.self) {
                try decoder.clientRequest(Array(broken.utf8))
            }
        }
    }

    @Test("a token is in no description and no dump")
    func tokenIsSecret() throws {
        let token = try AccessToken("e30.e30.secret")
        var dumped = ""
        dump(ClientFrame.authenticate(token), to: &dumped)
        for text in ["\(token)", String(reflecting: token), "\([token])", dumped] {
            #expect(!text.contains("secret"))
        }
    }

    @Test(
        "a text that is not a token's three parts, or is too long, is refused",
        arguments: [
            "", ".", "..", "a.b", "a.b.c.d", "a b.c.d", ".b.c", "a..c", "a.b.c=",
            String(repeating: "a", count: 8_190) + ".b.c",
        ])
    func noToken(text: String) {
        #expect(throws: RepriseError.self) { try AccessToken(text) }
    }

    @Test(
        "a message that edits and deletes, and positions of too many users, are malformed",
        .limit("http.positions"))
    func contradictions() {
        let users = (0...WireLimits.positions)
            .map { "{\"user\":\"u\($0)\",\"read\":0,\"delivered\":0}" }.joined(separator: ",")
        var decoder = FrameDecoder()
        #expect(throws: RepriseError.self) {
            try decoder.clientFrame(
                Array(
                    #"{"type":"publish","channelId":"a","id":"i","edits":"x","deletes":"y","body":1}"#
                        .utf8))
        }
        #expect(throws: RepriseError.self) {
            try decoder.serverFrame(
                Array(
                    "{\"type\":\"positions\",\"channelId\":\"a\",\"users\":[\(users)],\"unread\":0,\"head\":1}"
                        .utf8))
        }
    }

    @Test("every frame that the server writes is read back by a client")
    func serverRoundTrip() throws {
        var decoder = FrameDecoder()
        for frame in try Self.serverFrames() {
            #expect(try decoder.serverFrame(frame.encoded()) == frame)
        }
    }

    @Test("every frame that a client writes is read back by the server")
    func clientRoundTrip() throws {
        var decoder = FrameDecoder()
        for frame in try Self.clientFrames() {
            #expect(try decoder.clientFrame(frame.encoded()) == frame)
        }
    }

    @Test(
        "a body stays the bytes that came in",
        arguments: [
            "{ \"b\" : 1.0e2 , \"a\":\"\\u00e9\\/\" }", "\"ein \\\"Wort\\\" é😀\"", "0", "null",
            "[1.00000000000000000000001]", "{\"type\":\"sync_complete\",\"catchUpComplete\":true}",
        ])
    func bodyIsOpaque(body: String) throws {
        let event = try Self.event(body: body)
        let text = String(decoding: event.encoded(), as: UTF8.self)
        #expect(text.contains("\"body\":" + body))
        var decoder = FrameDecoder()
        #expect(try decoder.serverFrame(event.encoded()) == .event(event))
    }

    @Test("channels whose names are of one length are told apart")
    func channelsInTurn() throws {
        var decoder = FrameDecoder()
        for name in ["aa", "ab", "aa", "bb"] {
            var event = try Self.event(body: "1")
            event.channel = try ChannelName(name)
            #expect(try decoder.serverFrame(event.encoded()) == .event(event))
        }
    }

    @Test("the completion frame of case-catch-up is read, with our fields beside its own")
    func completion() throws {
        var decoder = FrameDecoder()
        let text = """
            {"type":"sync_complete","channelId":"giridih_id","catchUpComplete":true,
             "timestamp":1765869151000,"epoch":"e","through":200}
            """
        guard case .syncComplete(let complete) = try decoder.serverFrame(Array(text.utf8)) else {
            Issue.record("not a completion")
            return
        }
        #expect(complete.through == 200)
        #expect(complete.time.milliseconds == 1_765_869_151_000)
    }

    @Test("the order of fields, white space, escapes and unknown fields make no difference")
    func tolerant() throws {
        var decoder = FrameDecoder()
        let text = #"""
             { "future":[{"x":1}], "body": {"a":1} , "timestamp":1765869151000, "id":"m-1",
              "seq":5, "channelId":"giridih\u005fid", "t\u0079pe":"ev\u0065nt" }
            """#
        #expect(
            try decoder.serverFrame(Array(text.utf8)) == .event(try Self.event(body: #"{"a":1}"#)))
    }

    @Test("a frame of an unknown type from the server is skipped, from a client refused")
    func unknownType() throws {
        var decoder = FrameDecoder()
        let text = Array(#"{"type":"hologram"}"#.utf8)
        #expect(try decoder.serverFrame(text) == nil)
        expectError(.malformed) { try decoder.clientFrame(text) }
    }

    private func refusal(of text: String) -> RepriseError? {
        var decoder = FrameDecoder()
        do {
            _ = try decoder.clientRequest(Array(text.utf8))
            return nil
        } catch {
            return error as? RepriseError
        }
    }

    @Test(
        "the error of a client's frame names the field and what is expected",
        arguments: [
            ("{}", "The field type is missing."),
            (#"{"type":7}"#, "The field type: a string is expected, not 7."),
            (#"{"type":"hello","version":1}"#, "The field device is missing."),
            (
                #"{"type":"hello","version":"secret","device":"d"}"#,
                "The field version: a whole number is expected, not a string."
            ),
            (
                #"{"type":"hello","version":1.5,"device":"d"}"#,
                "The field version: a whole number is expected, not 1.5."
            ),
            (
                #"{"type":"hello","version":1,"device":"d","idle":[]}"#,
                "The field idle: true or false is expected, not an array."
            ),
            (
                #"{"type":"hello","version":1,"device":"a b"}"#,
                "The field device: An id must have 1 to 128 printable ASCII characters, none of "
                    + "them a space, a quote or a backslash."
            ),
            (
                #"{"type":"receipt","channelId":"a","read":-1}"#,
                "The field read: a whole number from 0 to 9007199254740991 is expected, not -1."
            ),
            (
                #"{"type":"typing","channelId":{}}"#,
                "The field channelId: a string is expected, not an object."
            ),
            (
                #"{"type":"unsubscribe","channels":["a",null]}"#,
                "In channels[1]: a string is expected, not null."
            ),
            (
                #"{"type":"subscribe","channels":{}}"#,
                "The field channels: an array is expected, not an object."
            ),
            (
                #"{"type":"subscribe","channels":[7]}"#,
                "In channels[0]: an object is expected, not 7."
            ),
            (
                #"{"type":"subscribe","channels":[{"channelId":"a"},{"epoch":"e"}]}"#,
                "In channels[1]: The field channelId is missing."
            ),
            (
                #"{"type":"subscribe","channels":[{"channelId":"a","coverage":[[0,true]]}]}"#,
                "In channels[0]: The field coverage: a whole number is expected, not true."
            ),
            (
                #"{"type":"watch","channels":[{"channelId":"a","users":[7]}]}"#,
                "In channels[0]: In users[0]: a string is expected, not 7."
            ),
            (
                #"{"type":"presence","state":"away"}"#,
                "The field state is one of: online, idle."
            ),
            (#"{"type":"hello","a":1,"\u0061":2}"#, "The field “a” is there twice."),
        ])
    func namesField(text: String, message: String) {
        #expect(refusal(of: text)?.code == (text.contains("a b") ? .badID : .malformed))
        #expect(refusal(of: text)?.message == message)
    }

    @Test("the type of an unknown frame is named: its beginning, without control characters")
    func namesType() throws {
        let error = try #require(refusal(of: #"{"type":"\u001b[2J\nhologram"}"#))
        #expect(error.message == #"The frame type “\u{1b}[2J\nhologram” is unknown."#)
        #expect(error.remedy?.contains("subscribe") == true)
        let long = String(repeating: "x", count: 100_000)
        let cut = try #require(refusal(of: #"{"type":"\#(long)"}"#))
        #expect(cut.message.utf8.count < 100)
        let twice = try #require(refusal(of: #"{"\#(long)":1,"\#(long)":2}"#))
        #expect(twice.message.utf8.count < 100)
    }

    @Test(
        "a frame that is wrong in any one way is refused", .limit("wire.fields", "wire.sequence"),
        arguments: [
            #"[]"#, #"{}"#, #"{"type":1}"#, #"{"type":"event"}"#, #"null"#, #""event""#, "",
            #"{"type":"event","channelId":"a","seq":5,"id":"x","timestamp":1}"#,
            #"{"type":"event","channelId":"a","seq":"5","id":"x","timestamp":1,"body":1}"#,
            #"{"type":"event","channelId":"a","seq":5.0,"id":"x","timestamp":1,"body":1}"#,
            #"{"type":"event","channelId":"a","seq":0,"id":"x","timestamp":1,"body":1}"#,
            #"{"type":"event","channelId":"a","seq":-1,"id":"x","timestamp":1,"body":1}"#,
            #"{"type":"event","channelId":"a","seq":5,"prev":5,"id":"x","timestamp":1,"body":1}"#,
            #"{"type":"event","channelId":"a","seq":5,"seq":6,"id":"x","timestamp":1,"body":1}"#,
            #"{"type":"event","channelId":"a b","seq":5,"id":"x","timestamp":1,"body":1}"#,
            #"{"type":"event","channelId":"a","seq":5,"id":"","timestamp":1,"body":1}"#,
            #"{"type":"event","channelId":"a","seq":5,"id":"x","timestamp":1,"body":1"#,
            #"{"type":"event","channelId":"a","seq":9007199254740993,"id":"x","timestamp":1,"body":1}"#,
            #"{"type":"gone","channelId":"a","after":4,"through":4,"reason":"erased"}"#,
            #"{"type":"gone","channelId":"a","after":4,"through":9,"reason":"bored"}"#,
            #"{"type":"heartbeat","timestamp":1,"heads":{"a":-1}}"#,
            #"{"type":"heartbeat","timestamp":1,"heads":[]}"#,
            #"{"type":"sync_complete","channelId":"a","epoch":"e","timestamp":1}"#,
            #"{"type":"heartbeat","timestamp":1,"heads":{},"#  // 33 fields
                + (4...33).map { #""f\#($0)":1"# }.joined(separator: ",") + "}",
        ])
    func refused(text: String) {
        var decoder = FrameDecoder()
        #expect(throws: RepriseError.self) { try decoder.serverFrame(Array(text.utf8)) }
    }

    @Test("no single broken byte makes the decoder trap")
    func brokenBytes() throws {
        var decoder = FrameDecoder()
        var refusals = 0
        for frame in try Self.serverFrames() {
            let good = frame.encoded()
            for index in good.indices {
                for byte: UInt8 in [0, 0x22, 0x2c, 0x5c, 0x7b, 0x7d, 0x80, 0xff] {
                    var bad = good
                    bad[index] = byte
                    do { _ = try decoder.serverFrame(bad) } catch { refusals += 1 }
                }
                do { _ = try decoder.serverFrame(Array(good[..<index])) } catch { refusals += 1 }
            }
        }
        #expect(refusals > 5_000)
    }

    @Test("a frame over the limit is refused before it is read", .limit("wire.frame"))
    func tooLarge() {
        var decoder = FrameDecoder()
        let bytes = [UInt8](repeating: 0x20, count: WireLimits.frameBytes + 1)
        expectError(.tooLarge) { try decoder.serverFrame(bytes) }
    }

    @Test(
        "a text is cut to so many bytes, not characters, and no character is cut in two",
        .limit("wire.text"))
    func cutTexts() throws {
        var decoder = FrameDecoder()
        // One character to Swift, with as many bytes as its author likes.
        let long = "a" + String(repeating: "\u{301}", count: 100_000)
        for text in [String(repeating: "é", count: 200), "x" + long, long] {
            let frames: [ServerFrame] = [
                .error(code: .normal, message: text),
                .refused(
                    .init(channel: text, id: text, code: RefusalCode(text), message: text)),
            ]
            for frame in frames {
                switch try decoder.serverFrame(frame.encoded()) {
                case .error(_, let message): try isCut(message, from: text)
                case .refused(let refused):
                    for found in [
                        refused.channel, refused.id, refused.code.name, refused.message,
                    ] { try isCut(try #require(found), from: text) }
                default: Issue.record("another frame")
                }
            }
            let publish = #"{"type":"publish","channelId":"\#(text)","id":"\#(text)"}"#
            let names = try #require(FrameDecoder.names(in: Array(publish.utf8)))
            try isCut(try #require(names.channel), from: text)
            try isCut(try #require(names.id), from: text)
        }
    }

    private func isCut(_ text: String, from whole: String) throws {
        try #require((253...WireLimits.textBytes).contains(text.utf8.count))
        #expect(Array(whole.utf8).starts(with: text.utf8))
    }

    @Test("a key that is there twice is refused, however it is spelled")
    func twice() {
        var decoder = FrameDecoder()
        for text in [
            #"{"type":"published","channelId":"a","id":"x","seq":4,"s\u0065q":5}"#,
            #"{"type":"published","t\u0079pe":"gone","channelId":"a","id":"x","seq":4}"#,
            #"{"type":"heartbeat","timestamp":1,"heads":{"a":1,"a":2}}"#,
            #"{"type":"heartbeat","timestamp":1,"heads":{"a":1,"\u0061":2}}"#,
        ] {
            expectError(.malformed, "\(text)") {
                try decoder.serverFrame(Array(text.utf8))
            }
        }
    }

    @Test(
        "a time is a whole number of milliseconds from 0 to 2⁵³ − 1",
        arguments: ["-1", "9007199254740992", "9223372036854775807", "-9223372036854775808"])
    func times(number: String) {
        var decoder = FrameDecoder()
        let text = #"{"type":"heartbeat","timestamp":\#(number),"heads":{}}"#
        expectError(.malformed) {
            try decoder.serverFrame(Array(text.utf8))
        }
    }

    @Test(
        "a close code says what to do next",
        arguments: [
            (4000, .reconnect), (4001, .reconnect), (4099, .reconnect), (4100, .reconnectLater),
            (4150, .reconnectLater), (4200, .stop), (4299, .stop), (1000, .reconnect),
            (1001, .reconnectLater), (1006, .reconnect), (1009, .stop), (3000, .reconnect),
        ] as [(UInt16, CloseCode.Advice)])
    func advice(row: (UInt16, CloseCode.Advice)) {
        #expect(CloseCode(row.0).advice == row.1)
    }
}
