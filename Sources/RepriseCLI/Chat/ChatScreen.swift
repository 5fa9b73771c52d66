import RepriseChannels
import RepriseCommandLine
import RepriseCore

/// The chat's layout: the newest messages, typing users, a status line, and the input line.
///
/// A pure function of its inputs, so that a test sees the same as a person.
struct ChatScreen: Sendable {
    let width: Int
    let height: Int
    let terminal: Terminal

    struct Picture: Hashable, Sendable {
        let lines: [String]
        /// The cursor's column in the last line, from 0.
        let cursor: Int
    }

    /// Draws everything.
    ///
    /// - Returns: exactly `height` lines, none wider than `width`.
    func draw(_ chat: ChatSnapshot, _ editor: LineEditor) -> Picture {
        let notice = chat.notice.flatMap { $0.drawable.wrapped(width) }
        let below = notice.map { paint($0, .dim) } + [typing(chat)]
        let room = max(height - below.count - 2, 0)
        var lines = Array(messages(chat, atLeast: room).suffix(room))
        lines = Array(repeating: "", count: room - lines.count) + lines + below
        let (input, cursor) = input(editor)
        return Picture(lines: Array((lines + [state(chat), input]).suffix(height)), cursor: cursor)
    }

    /// From the newest on, until the screen is full.
    private func messages(_ chat: ChatSnapshot, atLeast room: Int) -> [String] {
        var blocks: [[String]] = []
        var count = 0
        let first = chat.divider.flatMap { divider in
            chat.items.firstIndex { !$0.isMine && ($0.seq ?? 0) > divider }
        }
        for (index, item) in chat.items.enumerated().reversed() {
            guard count < room else { break }
            var block = lines(of: item)
            if index == first { block.insert(rule("new"), at: 0) }
            count += block.count
            blocks.append(block)
        }
        return blocks.reversed().flatMap(\.self)
    }

    private func rule(_ word: String) -> String {
        let line = String(repeating: "─", count: max((width - word.count - 2) / 2, 0))
        return paint("\(line) \(word) \(line)".fitting(width), .yellow)
    }

    private func lines(of item: ChatItem) -> [String] {
        let author = item.author.printable.fitting(16)
        let head = item.time.hourAndMinute + " " + author
        let indent = head.columns + 2
        let text = item.isDeleted ? "(deleted)" : item.text.drawable
        let mark = mark(of: item)
        let full = text + (item.isEdited && !item.isDeleted ? " (edited)" : "") + mark
        let wrapped = full.wrapped(max(width - indent, 8))
        let first =
            paint(item.time.hourAndMinute, .dim) + " "
            + paint(author, item.isMine ? .green : .bold) + "  " + (wrapped.first ?? "")
        return [first]
            + wrapped.dropFirst().map { String(repeating: " ", count: indent) + $0 }
    }

    /// `…` waits here, `✓` on the server, `✓✓` delivered, `✓✓ read` read.
    private func mark(of item: ChatItem) -> String {
        guard item.isMine, !item.isDeleted else { return "" }
        switch item.status {
        case .pending: return "  …"
        case .sent: return "  ✓"
        case .delivered: return "  ✓✓"
        case .read: return "  ✓✓ read"
        case .failed(let reason): return "  ✗ \(reason.drawable)"
        }
    }

    private func typing(_ chat: ChatSnapshot) -> String {
        let names = chat.typists.prefix(3).map { $0.printable.fitting(16) }
        guard !names.isEmpty else { return "" }
        let others = chat.typists.count - names.count
        let who = names.joined(separator: ", ") + (others > 0 ? " and \(others) more" : "")
        let verb = chat.typists.count == 1 ? "is" : "are"
        return paint("\(who) \(verb) typing …".fitting(width), .dim)
    }

    private func state(_ chat: ChatSnapshot) -> String {
        var counts: [String] = []
        if chat.unread > 0 { counts.append("\(chat.unread.grouped) unread") }
        if chat.waiting > 0 { counts.append("\(chat.waiting.grouped) to be sent") }
        if chat.dead > 0 { counts.append("\(chat.dead.grouped) not sent: /dead") }
        let standing =
            chat.catchUp.map { "catching up " + Self.bar($0) } ?? chat.trouble ?? chat.connection
        let parts = [chat.channel, chat.presence, chat.user, standing].compactMap(\.self)
        let head = parts.joined(separator: " · ").drawable
        // However long the trouble's words are, the counts are seen.
        let tail = counts.map { " · " + $0 }.joined()
        let line = (head.fitting(max(width - tail.columns, 0)) + tail).fitting(width)
        return paint(line, chat.isConnected && chat.trouble == nil ? .dim : .yellow)
    }

    /// `[####······] 40/100`.
    static func bar(_ progress: ChatSnapshot.Progress) -> String {
        let total = max(progress.total, 1)
        let received = min(max(progress.received, 0), total)
        let full = Int(received * 20 / total)
        return "[" + String(repeating: "#", count: full)
            + String(repeating: "·", count: 20 - full)
            + "] \(received.grouped)/\(total.grouped)"
    }

    private func input(_ editor: LineEditor) -> (line: String, cursor: Int) {
        let room = max(width - 3, 1)
        let before = editor.before.drawable.ending(room)
        let after = editor.after.drawable.prefix(columns: room - before.columns)
        return ("> " + before + after, 2 + before.columns)
    }

    private func paint(_ text: String, _ colour: Terminal.Colour) -> String {
        terminal.paint(text, colour)
    }
}

extension String {
    /// Harmless, and as wide as it is counted: a tab has no width of its own.
    fileprivate var drawable: String { printable.replacing("\t", with: " ") }
}
