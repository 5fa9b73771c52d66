import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseWire
import Synchronization

/// Prints messages, a line each, whole and at once.
final class MessagePrinter: Sendable {
    private let isJSON: Bool
    private let showsChannel: Bool
    /// Channels are handled side by side; their lines must not be.
    private let turn = Mutex(())

    init(isJSON: Bool, showsChannel: Bool) {
        self.isJSON = isJSON
        self.showsChannel = showsChannel
    }

    /// Returns when the line is with the kernel: only then is the message handled.
    ///
    /// - Throws: ``BrokenPipe``; ``CommandFailure``.
    func print(_ message: Message) throws {
        let line = isJSON ? Self.json(message) : Array((text(message) + "\n").utf8)
        try turn.withLock { _ in try StandardOutput.write(line) }
    }

    private static func json(_ message: Message) -> [UInt8] {
        var writer = JSONWriter(reserving: message.body.count + 160)
        writer.object { json in
            json.key("channel")
            json.plain(message.channel.text)
            json.key("seq")
            json.integer(message.seq)
            json.key("id")
            json.plain(message.id.text)
            json.key("body")
            // White space between tokens may hold line breaks; within strings they are escaped.
            json.raw(message.body.map { $0 == 0x0a || $0 == 0x0d ? 0x20 : $0 })
            json.key("attempt")
            json.integer(Int64(message.attempt))
            if let author = message.from {
                json.key("from")
                json.string(author.text)
            }
            switch message.change {
            case .edits(let seq):
                json.key("edits")
                json.integer(seq)
            case .deletes(let seq):
                json.key("deletes")
                json.integer(seq)
            case nil: break
            }
            guard message.isDeleted else { return }
            json.key("deleted")
            json.bool(true)
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    private func text(_ message: Message) -> String {
        let place = (showsChannel ? "\(message.channel) " : "") + "\(message.seq)"
        let again = message.attempt > 1 ? " (attempt \(message.attempt))" : ""
        let author = message.from.map { " \($0.text):" } ?? ""
        return Terminal.output.paint(place + again + author.printable, .dim) + " "
            + Self.words(message.body, change: message.change, isDeleted: message.isDeleted)
            .printable
    }

    /// A message's text, and its effect on an earlier one.
    ///
    /// - Parameters:
    ///   - body: JSON.
    ///   - change: its effect.
    ///   - isDeleted: whether it was deleted itself.
    ///   - words: makes words of a body.
    /// - Returns: not yet escaped.
    static func words(
        _ body: [UInt8], change: MessageChange<Int64>?, isDeleted: Bool,
        words: ([UInt8]) -> String = { MessagePrinter.words($0) }
    ) -> String {
        switch change {
        case .deletes(let seq): "(deletes \(seq))"
        case .edits(let seq) where isDeleted: "(edits \(seq)) (deleted)"
        case .edits(let seq): "(edits \(seq)) " + words(body)
        case nil: isDeleted ? "(deleted)" : words(body)
        }
    }

    /// A string's content; other JSON as it is.
    static func words(_ body: [UInt8]) -> String {
        let text = body.withUnsafeBufferPointer { bytes -> String? in
            var scanner = JSONScanner(bytes)
            guard let value = try? scanner.value(), value.kind == .string else { return nil }
            return try? scanner.string(value)
        }
        return text ?? String(decoding: body, as: UTF8.self)
    }
}
