import RepriseCore
import RepriseWire

/// The users who type at another gateway: sent beside the journal, since it may be lost.
struct TypingNews: Hashable, Sendable {
    private static let format: UInt8 = 1

    /// The gateway's random number.
    var sender: Int64
    var told: TypingBoard.Told

    init(_ told: TypingBoard.Told, from sender: Int64) {
        (self.told, self.sender) = (told, sender)
    }

    var bytes: [UInt8] {
        var writer = BinaryWriter()
        writer.write(Self.format)
        writer.write(sender)
        writer.write(told.channel.text)
        writer.write(told.user.text)
        writer.write(told.isTyping)
        return writer.bytes
    }

    /// Nil for what this version does not know.
    init?(_ bytes: [UInt8]) {
        do {
            var reader = BinaryReader(bytes)
            guard try reader.byte() == Self.format else { return nil }
            sender = try reader.integer()
            told = TypingBoard.Told(
                channel: try ChannelName(reader.text()), user: try UserID(reader.text()),
                isTyping: try reader.bool())
            try reader.expectEnd()
        } catch {
            return nil
        }
    }
}
