import RepriseWire

/// What a client sends after its hello, and what it must get.
struct RFC6455Case: Sendable {
    enum Answer: Equatable, Sendable {
        /// The text is a message to the server: it is a publish, and is answered.
        case published
        case pong([UInt8])
        case refused(RefusalCode)
    }

    enum Ending: Equatable, Sendable {
        /// The connection stays open, until the client closes it with 1000.
        case stays
        /// The server says why, closes with this code, and ends the connection at once when it is
        /// answered.
        ///
        /// A publish right before the violation is stored, and may be left without its answer.
        case closed(CloseCode)
        /// The server echoes the client's close frame with this code, and ends the connection at
        /// once.
        case echoed(UInt16)
    }

    /// As Autobahn counts.
    let number: String
    let what: String
    /// What is written, one write after the other.
    let writes: [[UInt8]]
    let answers: [Answer]
    let ending: Ending
}

/// Autobahn's cases (its test suite 0.8), in our own words.
///
/// Our protocol echoes nothing. What Autobahn wants echoed is a `publish` with that text in its
/// body, which must be answered with `published`. What is sent there as binary must be refused. 12
/// and 13 are of a compression that the server does not offer; 10 is one case of 5. Of 9 the sizes
/// are sampled. The handshakes are in `HandshakeCases`.
struct RFC6455Cases {
    static let sections: [(name: String, fill: @Sendable (inout RFC6455Cases) -> Void)] = [
        ("1: framing", { $0.framing() }), ("2: pings and pongs", { $0.pings() }),
        ("3: reserved bits", { $0.reserved() }), ("4: opcodes", { $0.opcodes() }),
        ("5: fragments", { $0.fragmented() }), ("6: UTF-8", { $0.encodings() }),
        ("7: closing", { $0.closing() }), ("9: sizes", { $0.sizes() }),
    ]

    private(set) var cases: [RFC6455Case] = []

    init(_ section: String) {
        for one in Self.sections where one.name == section { one.fill(&self) }
    }

    private mutating func add(
        _ number: String, _ what: String, _ writes: [[UInt8]],
        _ answers: [RFC6455Case.Answer] = [], _ ending: RFC6455Case.Ending = .stays
    ) {
        cases.append(
            RFC6455Case(
                number: number, what: what, writes: writes, answers: answers, ending: ending))
    }

    private mutating func addTaken(_ number: String, _ what: String, _ writes: [UInt8]...) {
        add(number, what, writes, [.published])
    }

    private mutating func addClosed(
        _ number: String, _ what: String, _ code: CloseCode, _ writes: [UInt8]...
    ) {
        add(number, what, writes, [], .closed(code))
    }
}

// MARK: - Bytes

extension RFC6455Cases {
    static let text: UInt8 = 0x1
    static let binary: UInt8 = 0x2
    static let close: UInt8 = 0x8
    static let ping: UInt8 = 0x9
    static let pong: UInt8 = 0xa
    private static let word = Array("payload".utf8)
    private static let ping1 = frame(ping, word)
    private static let good = frame(text, publish())
    private static let start = Array(
        #"{"type":"publish","channelId":"rfc","id":"same","body":""#.utf8)
    private static let end = Array(#""}"#.utf8)

    static func frame(
        _ opcode: UInt8, _ payload: [UInt8] = [], isFinal: Bool = true, reserved: UInt8 = 0
    ) -> [UInt8] {
        TestClient.frame((isFinal ? 0x80 : 0) | reserved << 4 | opcode, payload)
    }

    private static func part(_ opcode: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
        frame(opcode, payload, isFinal: false)
    }

    private static func join(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap { $0 } }

    /// A publish with this text in it, of so many bytes if told so.
    static func publish(_ content: [UInt8] = [0x78], bytes: Int = 0) -> [UInt8] {
        let message = join(start, content, end)
        return message + [UInt8](repeating: 0x20, count: max(0, bytes - message.count))
    }

    private static func sized(_ bytes: Int) -> [UInt8] { frame(text, publish(bytes: bytes)) }
    private static func filler(_ count: Int) -> [UInt8] { [UInt8](repeating: 0xfe, count: count) }

    /// A message in fragments of so many bytes.
    private static func fragments(of message: [UInt8], size: Int) -> [[UInt8]] {
        chopped(message, size).enumerated().map { index, piece in
            let isLast = (index + 1) * size >= message.count
            return frame(index == 0 ? text : 0, piece, isFinal: isLast)
        }
    }

    private static func chopped(_ bytes: [UInt8], _ size: Int) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: size).map {
            Array(bytes[$0..<min(bytes.count, $0 + size)])
        }
    }

    /// Byte by byte, each in a write of its own.
    private static func dripped(_ bytes: [UInt8]) -> [[UInt8]] { chopped(bytes, 1) }

    static func closeFrame(_ code: UInt16, _ reason: [UInt8] = []) -> [UInt8] {
        frame(close, [UInt8(code >> 8), UInt8(code & 0xff)] + reason)
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0, radix: 16) }.joined(separator: " ")
    }
}

// MARK: - 1 to 4

extension RFC6455Cases {
    private mutating func framing() {
        addClosed(
            "1.1.1", "an empty text is a message, and none of this protocol", .malformedFrame,
            Self.frame(Self.text))
        for (index, size) in [125, 126, 127, 128, 65_535, 65_536].enumerated() {
            addTaken("1.1.\(index + 2)", "a text of \(size) bytes", Self.sized(size))
        }
        add(
            "1.1.8", "a text of 65,536 bytes in writes of 997",
            Self.chopped(Self.sized(65_536), 997), [.published])
        for (index, size) in [0, 125, 126, 127, 128, 65_535, 65_536].enumerated() {
            addClosed(
                "1.2.\(index + 1)", "a binary message of \(size) bytes", .notText,
                Self.frame(Self.binary, Self.filler(size)))
        }
        let chopped = Self.chopped(Self.frame(Self.binary, Self.filler(65_536)), 997)
        add("1.2.8", "65,536 bytes of binary in writes of 997", chopped, [], .closed(.notText))
        addClosed(
            "1.x", "a length of 16 bits that fits 7 (§5.2)", .protocolError,
            Self.longForm(Self.good, bits: 16))
        addClosed(
            "1.x", "a length of 64 bits that fits 7, in a ping", .protocolError,
            Self.longForm(Self.ping1, bits: 64))
        add(
            "1.x", "a length of 64 bits that fits 16, behind a good frame",
            [Self.join(Self.good, Self.longForm(Self.sized(300), bits: 64))], [.published],
            .closed(.protocolError))
        addClosed(
            "1.x", "a frame without a mask (§5.1)", .protocolError,
            TestClient.frame(0x81, Self.publish(), isMasked: false))
    }

    /// The frame with its length in more bytes than it needs.
    private static func longForm(_ frame: [UInt8], bits: Int) -> [UInt8] {
        var length = Int(frame[1] & 0x7f)
        var rest = 2
        if length == 126 {
            length = Int(frame[2]) << 8 | Int(frame[3])
            rest = 4
        }
        let bytes = (0..<bits / 8).reversed().map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
        return join([frame[0], bits == 16 ? 0xfe : 0xff], bytes, Array(frame[rest...]))
    }

    private mutating func pings() {
        let long = Self.filler(125)
        add("2.1", "a ping without payload", [Self.frame(Self.ping)], [.pong([])])
        add("2.2", "a ping with text", [Self.ping1], [.pong(Self.word)])
        let odd: [UInt8] = [0, 0xff, 0xfe, 0xfd, 0x80]
        add("2.3", "a ping with bytes that are no text", [Self.frame(Self.ping, odd)], [.pong(odd)])
        add("2.4", "a ping of 125 bytes", [Self.frame(Self.ping, long)], [.pong(long)])
        addClosed(
            "2.5", "a ping of 126 bytes", .protocolError, Self.frame(Self.ping, Self.filler(126)))
        add(
            "2.6", "a ping of 125 bytes, byte by byte", Self.dripped(Self.frame(Self.ping, long)),
            [.pong(long)])
        add("2.7", "a pong that nobody asked for", [Self.frame(Self.pong)])
        add("2.8", "such a pong with payload", [Self.frame(Self.pong, Self.word)])
        add(
            "2.9", "such a pong, then a ping",
            [Self.join(Self.frame(Self.pong, [1]), Self.ping1)], [.pong(Self.word)])
        let ten = (0..<10).map { Self.frame(Self.ping, [$0]) }
        let pongs = (0..<10).map { RFC6455Case.Answer.pong([$0]) }
        add("2.10", "ten pings, answered in order", ten, pongs)
        add("2.11", "ten pings, byte by byte", ten.flatMap(Self.dripped), pongs)
    }

    private mutating func reserved() {
        let message = Self.publish()
        func text(_ bits: UInt8) -> [UInt8] { Self.frame(Self.text, message, reserved: bits) }
        let ping = Self.frame(Self.ping)
        addClosed("3.1", "a text with RSV 1", .protocolError, text(1))
        add(
            "3.2", "a good text, one with RSV 2, a ping that is not looked at",
            [Self.join(Self.good, text(2), ping)], [.published], .closed(.protocolError))
        add(
            "3.3", "the same with RSV 3, each in a write", [Self.good, text(3), ping], [.published],
            .closed(.protocolError))
        add(
            "3.4", "the same with RSV 4, byte by byte", Self.dripped(Self.join(Self.good, text(4))),
            [.published], .closed(.protocolError))
        addClosed(
            "3.5", "a binary message with RSV 5", .protocolError,
            Self.frame(Self.binary, Self.word, reserved: 5))
        addClosed(
            "3.6", "a ping with RSV 6", .protocolError,
            Self.frame(Self.ping, Self.word, reserved: 6))
        addClosed(
            "3.7", "a close frame with RSV 7", .protocolError, Self.frame(Self.close, reserved: 7))
    }

    private mutating func opcodes() {
        for opcode: UInt8 in 3...7 {
            for payload in [[], Self.word] {
                addClosed(
                    "4.1.\(opcode - 2)", "opcode \(opcode)", .protocolError,
                    Self.join(Self.frame(opcode, payload), Self.ping1))
            }
        }
        for opcode: UInt8 in 0xb...0xf {
            for payload in [[], Self.word] {
                add(
                    "4.2.\(opcode - 10)", "control opcode \(opcode), behind a text",
                    [Self.join(Self.good, Self.frame(opcode, payload), Self.ping1)], [.published],
                    .closed(.protocolError))
            }
        }
    }
}

// MARK: - 5, 6

extension RFC6455Cases {
    private mutating func fragmented() {
        let half = Self.publish().count / 2
        let first = Self.part(Self.text, Array(Self.publish()[..<half]))
        let last = Self.frame(0, Array(Self.publish()[half...]))
        let stray = Self.part(0, Self.word)
        let strayEnd = Self.frame(0, Self.word)
        for (number, opcode) in [("5.1", Self.ping), ("5.2", Self.pong)] {
            addClosed(
                number, "opcode \(opcode) in two fragments", .protocolError,
                Self.part(opcode, Self.word), strayEnd)
        }
        let both = Self.join(first, last)
        addTaken("5.3", "a text in two fragments", first, last)
        addTaken("5.4", "a text in two fragments, in one write", both)
        add("5.5", "a text in two fragments, byte by byte", Self.dripped(both), [.published])
        let between = Self.join(first, Self.ping1, last)
        let pingFirst: [RFC6455Case.Answer] = [.pong(Self.word), .published]
        add("5.6", "a ping between fragments", [first, Self.ping1, last], pingFirst)
        add("5.7", "a ping between fragments, in one write", [between], pingFirst)
        add("5.8", "a ping between fragments, byte by byte", Self.dripped(between), pingFirst)
        for (number, piece) in [("5.9–5.11", strayEnd), ("5.12–5.14", stray)] {
            let what = "a fragment of nothing, then a text"
            addClosed(number, what, .protocolError, piece, Self.good)
            addClosed(number, what + ", in one write", .protocolError, Self.join(piece, Self.good))
            add(
                number, what + ", byte by byte", Self.dripped(Self.join(piece, Self.good)), [],
                .closed(.protocolError))
        }
        add(
            "5.15", "a text in fragments, then a fragment of nothing, then a text",
            [Self.join(both, stray, Self.good)], [.published], .closed(.protocolError))
        addClosed(
            "5.16", "fragments of nothing and a text, twice", .protocolError,
            Self.join(stray, Self.good, strayEnd, Self.good))
        addClosed(
            "5.17", "a last fragment of nothing and a text in fragments", .protocolError,
            Self.join(strayEnd, both))
        addClosed(
            "5.18", "a text within a text", .protocolError,
            Self.join(first, Self.frame(Self.text, Array(Self.publish()[half...]))))
        let five = Self.fragments(of: Self.publish(bytes: 100), size: 20)
        let mixed = Array(five.flatMap { [$0, Self.ping1] }.dropLast())
        let answers = Array(repeating: RFC6455Case.Answer.pong(Self.word), count: 4)
        add("5.19", "five fragments with pings between", mixed, answers + [.published])
        add("5.20", "the same in one write", [mixed.flatMap { $0 }], answers + [.published])
    }

    private mutating func encodings() {
        addClosed(
            "6.1.1", "three empty fragments are an empty text", .malformedFrame,
            Self.part(Self.text), Self.part(0), Self.frame(0))
        addTaken(
            "6.1.2", "an empty fragment before a text and behind it", Self.part(Self.text),
            Self.part(0, Self.publish()), Self.frame(0))
        addTaken(
            "6.1.3", "a text in the middle of empty fragments, twice", Self.part(Self.text),
            Self.part(0, Array(Self.publish()[..<9])), Self.part(0),
            Self.frame(0, Array(Self.publish()[9...])))
        let scripts = Self.publish(Array("Hello-µ@ßöäüàá-UTF-8!!".utf8))
        addTaken("6.2.1", "text of many scripts", Self.frame(Self.text, scripts))
        add(
            "6.2.2", "the same, cut between two bytes of a character",
            Self.fragments(of: scripts, size: Self.start.count + 7), [.published])
        add("6.2.3", "the same in single bytes", Self.fragments(of: scripts, size: 1), [.published])
        let greek = Array("κόσμε".utf8)
        add(
            "6.2.4", "κόσμε in single bytes", Self.fragments(of: Self.publish(greek), size: 1),
            [.published])
        let surrogate = Self.publish(Self.join(greek, [0xed, 0xa0, 0x80], Array("edited".utf8)))
        addClosed(
            "6.3.1", "a surrogate behind good text", .invalidText, Self.frame(Self.text, surrogate))
        add(
            "6.3.2", "the same in single bytes", Self.fragments(of: surrogate, size: 1), [],
            .closed(.invalidText))
        let begin = Self.join(Self.start, greek)
        addClosed(
            "6.4.1", "a bad second fragment ends it, before the last has come", .invalidText,
            Self.part(Self.text, begin), Self.part(0, [0xf4, 0x90, 0x80, 0x80]))
        addClosed(
            "6.4.2", "a character that begins well and ends badly, over two fragments",
            .invalidText, Self.part(Self.text, begin + [0xf4]), Self.part(0, [0x90]))
        add(
            "6.4.3–4", "in one frame that is dripped it shows at its end",
            Self.dripped(Self.frame(Self.text, surrogate)), [], .closed(.invalidText))
        addClosed(
            "6.x", "a text that ends within a character", .invalidText,
            Self.part(Self.text, begin), Self.frame(0, [0xe2, 0x82]))
        for bytes in Self.goodText {
            let message = Self.publish(bytes)
            addTaken("6.5–6.23", "good: \(Self.hex(bytes))", Self.frame(Self.text, message))
            add(
                "6.5–6.23", "good in single bytes: \(Self.hex(bytes))",
                Self.fragments(of: message, size: 1), [.published])
        }
        for bytes in Self.badText {
            let message = Self.publish(bytes)
            addClosed(
                "6.6–6.23", "bad: \(Self.hex(bytes))", .invalidText,
                Self.frame(Self.text, message))
            // The byte behind may be what shows it; the rest of the message never comes.
            let pieces = Self.fragments(of: message, size: 1).dropLast()
            add(
                "6.6–6.23", "bad in single bytes: \(Self.hex(bytes))", Array(pieces), [],
                .closed(.invalidText))
        }
    }

    /// The ends of each range of RFC 3629, and what lies beside the holes in them.
    private static let goodText: [[UInt8]] = [
        [0x20], [0x7f], [0xc2, 0x80], [0xdf, 0xbf], [0xe0, 0xa0, 0x80], [0xe2, 0x82, 0xac],
        [0xed, 0x9f, 0xbf], [0xee, 0x80, 0x80], [0xef, 0xbf, 0xbd], [0xef, 0xbf, 0xbe],
        [0xef, 0xbf, 0xbf], [0xef, 0xb7, 0x90], [0xf0, 0x90, 0x80, 0x80], [0xf0, 0x9f, 0xbf, 0xbf],
        [0xf3, 0xa0, 0x80, 0x81], [0xf4, 0x8f, 0xbf, 0xbe], [0xf4, 0x8f, 0xbf, 0xbf],
    ]

    /// Lone bytes, cut characters, five and six bytes, longer than need be, surrogates, beyond the
    /// end.
    private static let badText: [[UInt8]] = [
        [0x80], [0xbf], [0x80, 0xbf], [0x80, 0xbf, 0x80, 0xbf, 0x80, 0xbf], [0xc3, 0x20],
        [0xe1, 0x20], [0xf1, 0x20], [0xf8, 0x20], [0xfc, 0x20], [0xe1, 0x80, 0x20],
        [0xf1, 0x80, 0x80, 0x20], [0xdf, 0x41], [0xef, 0xbf, 0x41], [0xf8, 0x88, 0x80, 0x80, 0x80],
        [0xfb, 0xbf, 0xbf, 0xbf, 0xbf], [0xfc, 0x84, 0x80, 0x80, 0x80, 0x80],
        [0xfd, 0xbf, 0xbf, 0xbf, 0xbf, 0xbf], [0xfe], [0xff], [0xfe, 0xfe, 0xff, 0xff],
        [0xc0, 0xaf], [0xe0, 0x80, 0xaf], [0xf0, 0x80, 0x80, 0xaf], [0xc1, 0xbf],
        [0xe0, 0x9f, 0xbf], [0xf0, 0x8f, 0xbf, 0xbf], [0xc0, 0x80], [0xe0, 0x80, 0x80],
        [0xed, 0xa0, 0x80], [0xed, 0xad, 0xbf], [0xed, 0xae, 0x80], [0xed, 0xbf, 0xbf],
        [0xed, 0xa0, 0x80, 0xed, 0xb0, 0x80], [0xed, 0xaf, 0xbf, 0xed, 0xbf, 0xbf],
        [0xf4, 0x90, 0x80, 0x80], [0xf7, 0xbf, 0xbf, 0xbf],
    ]
}

// MARK: - 7, 9

extension RFC6455Cases {
    private mutating func closing() {
        let normal = Self.closeFrame(1_000)
        add(
            "7.1.1", "a message, then a close frame", [Self.good, normal], [.published],
            .echoed(1_000))
        add(
            "7.1.1", "both in one write", [Self.join(Self.good, normal)], [.published],
            .echoed(1_000))
        addEchoed("7.1.2", "two close frames", 1_000, Self.join(normal, normal))
        addEchoed(
            "7.1.3", "a ping behind the close frame is not answered", 1_000,
            Self.join(normal, Self.ping1))
        addEchoed(
            "7.1.4", "a text behind the close frame is not taken", 1_000,
            Self.join(normal, Self.good))
        addEchoed(
            "7.1.5", "a close frame between fragments", 1_000,
            Self.join(Self.part(Self.text, Self.start), normal, Self.frame(0, Self.end)))
        add(
            "7.1.6", "a message of 256 KiB, a ping, a close frame",
            [Self.join(Self.sized(262_144), Self.ping1, normal)],
            [.pong(Self.word), .published], .echoed(1_000))
        addEchoed("7.3.1", "a close frame without a code", 1_000, Self.frame(Self.close))
        addClosed("7.3.2", "a close frame of one byte", .protocolError, Self.frame(Self.close, [3]))
        addEchoed("7.3.3", "a close frame with a code", 1_000, normal)
        addEchoed(
            "7.3.4", "a close frame with a reason", 1_000, Self.closeFrame(1_000, Self.word))
        let reason = [UInt8](repeating: 0x2a, count: 123)
        addEchoed("7.3.5", "a reason of 123 bytes", 1_000, Self.closeFrame(1_000, reason))
        addClosed(
            "7.3.6", "a reason of 124 bytes", .protocolError,
            Self.closeFrame(1_000, reason + [0x2a]))
        addClosed(
            "7.5.1", "a reason that is not UTF-8", .invalidText,
            Self.closeFrame(1_000, [0xed, 0xa0, 0x80]))
        let sent: [UInt16] = [
            1_000, 1_001, 1_002, 1_003, 1_007, 1_008, 1_009, 1_010, 1_011, 3_000, 3_999, 4_000,
            4_999, 1_012, 1_013, 1_014,  // the last three were registered after the RFC
        ]
        for (index, code) in sent.enumerated() {
            addEchoed("7.7.\(index + 1)", "\(code)", code, Self.closeFrame(code))
        }
        let unsent: [UInt16] = [
            0, 999, 1_004, 1_005, 1_006, 1_016, 1_100, 2_000, 2_999, 1_015, 5_000, 65_535,
        ]
        for (index, code) in unsent.enumerated() {
            let number = index < 10 ? "7.9.\(index + 1)" : "7.13.\(index - 9)"
            addClosed(number, "\(code)", .protocolError, Self.closeFrame(code))
        }
    }

    private mutating func addEchoed(
        _ number: String, _ what: String, _ code: UInt16, _ write: [UInt8]
    ) {
        add(number, what, [write], [], .echoed(code))
    }

    private mutating func sizes() {
        addTaken("9.1.1", "a text of 64 KiB", Self.sized(65_536))
        addTaken("9.1.3", "a text of 1 MiB, the most there is", Self.sized(1_048_576))
        addClosed(
            "9.1.4", "a text of 4 MiB, refused by its header", .frameTooLarge,
            [0x81, 0xff, 0, 0, 0, 0, 0, 0x40, 0, 0, 1, 2, 3, 4])
        add(
            "9.1.x", "a body beyond the protocol's bound",
            [Self.frame(Self.text, Self.publish([UInt8](repeating: 0x78, count: 65_537)))],
            [.refused(.tooLarge)])
        addClosed(
            "9.2.1", "a binary message of 64 KiB", .notText,
            Self.frame(Self.binary, Self.filler(65_536)))
        let whole = Self.publish(bytes: 1_048_576)
        add(
            "9.3.1", "1 MiB in fragments of 256 bytes",
            [Self.fragments(of: whole, size: 256).flatMap { $0 }], [.published])
        add(
            "9.3.5", "1 MiB in fragments of 16 KiB", Self.fragments(of: whole, size: 16_384),
            [.published])
        add(
            "9.3.x", "one byte more than 1 MiB, in two fragments",
            Self.fragments(of: whole + [0x20], size: 1_048_576), [], .closed(.frameTooLarge))
        add(
            "9.5.1", "1 MiB in writes of 64 KiB",
            Self.chopped(Self.frame(Self.text, whole), 65_536), [.published])
        add(
            "9.7.1", "1,000 texts of no great length",
            [Array(repeating: Self.good, count: 1_000).flatMap { $0 }],
            Array(repeating: .published, count: 1_000))
        add(
            "9.7.4", "100 texts of 4 KiB", Array(repeating: Self.sized(4_096), count: 100),
            Array(repeating: .published, count: 100))
    }
}
