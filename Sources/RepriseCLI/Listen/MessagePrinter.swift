import RepriseChannels
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
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    private func text(_ message: Message) -> String {
        let place = (showsChannel ? "\(message.channel) " : "") + "\(message.seq)"
        let again = message.attempt > 1 ? " (attempt \(message.attempt))" : ""
        return Terminal.output.paint(place + again, .dim) + " " + Self.words(message.body).printable
    }

    /// What a string says; other JSON as it stands.
    static func words(_ body: [UInt8]) -> String {
        let text = body.withUnsafeBufferPointer { bytes -> String? in
            var scanner = JSONScanner(bytes)
            guard let value = try? scanner.value(), value.kind == .string else { return nil }
            return try? scanner.string(value)
        }
        return text ?? String(decoding: body, as: UTF8.self)
    }
}
