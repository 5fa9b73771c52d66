import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseTestSupport
import RepriseWire
import Testing

@testable import RepriseCLI

@Suite("chat screen")
struct ChatScreenTests {
    private func draw(_ chat: ChatSnapshot, typed: String = "", width: Int = 40, height: Int = 8)
        -> ChatScreen.Picture
    {
        var editor = LineEditor()
        for scalar in typed.unicodeScalars { _ = editor.press(.character(scalar)) }
        return ChatScreen(width: width, height: height, terminal: .output).draw(chat, editor)
    }

    private func item(
        _ seq: Int64?, _ author: String, _ text: String, _ status: ChannelMessage.Status = .sent
    ) -> ChatItem {
        ChatItem(
            id: .random(), seq: seq, author: author, text: text, time: .init(milliseconds: 0),
            isMine: author == "ada", status: status)
    }

    @Test("the user's own messages have marks of their delivery, and others' have none")
    func marks() {
        var chat = ChatSnapshot(channel: "general", user: "ada")
        chat.items = [
            item(1, "bob", "zero"), item(2, "ada", "one", .read), item(3, "ada", "two", .delivered),
            item(4, "ada", "three"), item(nil, "ada", "four", .pending),
            item(nil, "ada", "five", .failed(reason: "too large")),
        ]
        let lines = draw(chat, height: 9).lines.map { $0.dropFirst(6) }
        #expect(
            lines.prefix(6) == [
                "bob  zero", "ada  one  ✓✓ read", "ada  two  ✓✓", "ada  three  ✓",
                "ada  four  …", "ada  five  ✗ too large",
            ])
    }

    @Test("the divider stands before the first message that is new")
    func divider() {
        var chat = ChatSnapshot(channel: "general", user: "ada")
        chat.items = (1...3 as ClosedRange<Int64>).map { item($0, "bob", "m\($0)") }
        chat.divider = 1
        let lines = draw(chat).lines
        let place = lines.firstIndex { $0.contains("─ new ─") }
        #expect(place.map { lines[$0 + 1].hasSuffix("m2") } == true, "\(lines)")
    }

    @Test("the status line shows a catch-up's progress, unread and waiting messages")
    func state() {
        var chat = ChatSnapshot(channel: "general", user: "ada")
        chat.catchUp = .init(received: 50, total: 200)
        chat.unread = 1_234
        chat.waiting = 2
        chat.typists = ["bob", "cem"]
        let lines = draw(chat, width: 100).lines
        #expect(
            lines[6]
                == "general · ada · catching up [#####···············] 50/200 · 1,234 unread · 2 to be sent"
        )
        #expect(lines[5] == "bob, cem are typing …")
        chat.presence = "2 online"
        #expect(draw(chat, width: 100).lines[6].hasPrefix("general · 2 online · ada · catching"))
    }

    @Test(
        "one other user is shown by name, several by number, and none while presence is unknown")
    func presence() {
        let now = WallTime(milliseconds: 400_000_000)
        func words(_ users: [UserPresence]) -> String? {
            ChatRoom.words(Dictionary(uniqueKeysWithValues: users.map { ($0.user, $0) }), at: now)
        }
        func gone(_ milliseconds: Int64) -> UserPresence {
            .init(
                user: bob, state: .offline,
                seen: WallTime(milliseconds: now.milliseconds - milliseconds))
        }
        #expect(words([]) == nil)
        #expect(words([.init(user: bob, state: .idle)]) == "bob idle")
        #expect(words([.init(user: bob, state: .offline)]) == "bob offline")
        #expect(words([gone(-5)]) == "bob last seen just now")
        #expect(words([gone(59 * 60_000)]) == "bob last seen 59 min ago")
        #expect(words([gone(3_600_000)]) == "bob last seen 1 h ago")
        #expect(words([gone(48 * 3_600_000)]) == "bob last seen 2 days ago")
        let eve = UserID(unchecked: "eve")
        #expect(
            words([.init(user: bob, state: .online), .init(user: eve, state: .idle)]) == "1 online")
    }

    private let bob = UserID(unchecked: "bob")

    @Test(
        "a screen has its height, and no line is wider than it, for all contents",
        arguments: [1, 2, 3, 10, 40, 80], [1, 2, 5, 24])
    func bounds(width: Int, height: Int) {
        var chat = ChatSnapshot(channel: "general", user: "ada")
        let wide = String(repeating: "漢字 ", count: 40) + String(repeating: "x", count: 200)
        chat.items = (1...30 as ClosedRange<Int64>).map {
            item($0, "someone with a long name", wide)
        }
        chat.notice = [wide, wide]
        chat.typists = [wide]
        chat.trouble = wide
        let picture = draw(chat, typed: wide, width: width, height: height)
        #expect(picture.lines.count == height)
        guard width >= 40 else { return }
        for line in picture.lines { #expect(line.columns <= width, "\(line)") }
        #expect(picture.cursor < width)
    }

    @Test("a message can neither move the cursor nor pretend to be two")
    func hostile() {
        var chat = ChatSnapshot(channel: "general", user: "ada")
        chat.items = [item(1, "b\u{1b}[2Job", "x\u{1b}]0;t\u{7}\r\nbob  y")]
        chat.presence = "b\u{1b}[2Job\r\nonline"
        for line in draw(chat, width: 100).lines {
            #expect(!line.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f })
        }
    }

    @Test("keys come whole, however their bytes are cut")
    func keys() {
        let typed = Array(
            "aü漢👍\r\u{7f}\u{1b}[A\u{1b}[3~\u{1b}OH\u{1b}[200~x\ny\u{1b}[201~\u{4}\u{1b}[99;99;Zq"
                .utf8)
        let expected: [Key] = [
            .character("a"), .character("ü"), .character("漢"), .character("👍"), .enter,
            .backspace, .up, .delete, .home, .character("x"), .character(" "), .character("y"),
            .endOfInput, .character("q"),
        ]
        for size in [1, 2, 3, typed.count] {
            var decoder = KeyDecoder()
            var keys: [Key] = []
            for start in stride(from: 0, to: typed.count, by: size) {
                keys += decoder.decode(Array(typed[start..<min(start + size, typed.count)]))
            }
            #expect(keys == expected, "in pieces of \(size)")
        }
    }

    @Test("bytes that are no text and sequences without end do no harm", .limit("tool.key"))
    func garbage() {
        var decoder = KeyDecoder()
        for byte in [0xff, 0xc0, 0x80, 0xf5, 0xe2, 0x28, 0x1b, 0x5b] as [UInt8] {
            _ = decoder.decode([byte])
        }
        _ = decoder.decode(Array(repeating: 0x31, count: 1_000))
        #expect(decoder.decode(Array("z".utf8)) == [.character("z")])
        // A sequence of 32 bytes is one that is not known; of a longer one the rest is taken for
        // text.
        let sequence = { (length: Int) -> [UInt8] in
            [0x1b, 0x5b] + Array(repeating: 0x31, count: length)
        }
        #expect(decoder.decode(sequence(32) + [0x7a]) == [])
        #expect(decoder.decode(sequence(33) + [0x7a]) == [.character("z")])
    }

    @Test(
        "a line is edited by characters as people count them, and earlier ones come back",
        .limit("tool.line"))
    func editing() {
        var editor = LineEditor()
        func type(_ text: String) {
            for scalar in text.unicodeScalars { _ = editor.press(.character(scalar)) }
        }
        type("ne\u{301}e")
        _ = editor.press(.backspace)
        _ = editor.press(.backspace)
        #expect(editor.text == "n")
        type("o way")
        _ = editor.press(.deleteWord)
        #expect(editor.text == "no ")
        _ = editor.press(.home)
        type("oh ")
        #expect(editor.press(.enter) == .submitted("oh no "))
        type("draft")
        _ = editor.press(.up)
        #expect(editor.text == "oh no ")
        _ = editor.press(.down)
        #expect(editor.text == "draft")
        #expect(editor.press(.deleteToStart) == .changed)
        #expect(editor.press(.enter) == .changed, "nothing is sent")
        #expect(editor.press(.endOfInput) == .ended)
        for _ in 0..<(LineEditor.longestLine + 10) { _ = editor.press(.character("x")) }
        #expect(editor.text.count == LineEditor.longestLine)
    }

    @Test(
        "one's last 200 messages are shown and can be named, older ones are not",
        .limit("tool.chat"))
    func oldest() {
        #expect(ChatCommandLine("/delete #200") == .delete(back: 200))
        for line in ["/delete #201", "/delete #0", "/edit #201 x"] {
            guard case .unknown(let help) = ChatCommandLine(line) else {
                Issue.record("\(line)")
                continue
            }
            #expect(help.contains("at most #200"))
        }
    }

    @Test("the lines of /help fit into 80 columns", arguments: ChatCommandLine.helpLines)
    func help(line: String) { #expect(line.count <= 80) }

    @Test("a slash begins a command, two begin a message")
    func commands() {
        #expect(ChatCommandLine("hello /there") == .say("hello /there"))
        #expect(ChatCommandLine("//etc") == .say("/etc"))
        #expect(ChatCommandLine("/withdraw  a1 ") == .withdraw("a1"))
        #expect(ChatCommandLine("/who") == .who)
        #expect(ChatCommandLine("/retry a1") == .retry("a1"))
        #expect(ChatCommandLine("/retry") == .retry(nil))
        #expect(ChatCommandLine("/edit a  b") == .edit(back: 1, "a  b"))
        #expect(ChatCommandLine("/edit #2 #3 b") == .edit(back: 2, "#3 b"))
        #expect(ChatCommandLine("/delete") == .delete(back: 1))
        #expect(ChatCommandLine("/delete #3") == .delete(back: 3))
        for line in [
            "/", "/nonsense", "/edit", "/edit #2", "/edit #0 x", "/edit #x y", "/delete it",
            "/delete #-1", "/delete #201", "/delete #2 x", "/delete #99999999999999999999",
        ] {
            guard case .unknown = ChatCommandLine(line) else {
                Issue.record("\(line) is \(ChatCommandLine(line))")
                continue
            }
        }
    }
}
