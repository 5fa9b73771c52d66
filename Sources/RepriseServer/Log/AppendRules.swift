package import RepriseCore
package import RepriseWire

/// Decides what becomes of a message that is to be stored: the log's rules, wherever it keeps its rows.
package enum AppendRules {
    /// Where a message lies.
    package struct Position: Hashable, Sendable {
        package let channel: Int64
        package let seq: Int64

        package init(channel: Int64, seq: Int64) {
            self.channel = channel
            self.seq = seq
        }
    }

    /// What is remembered of a channel between two messages.
    package struct Head: Hashable, Sendable {
        package let key: Int64
        package private(set) var seq: Int64
        /// How many messages are stored.
        package var count: Int64
        package private(set) var time: WallTime

        package init(key: Int64, seq: Int64, count: Int64, time: WallTime) {
            self.key = key
            self.seq = seq
            self.count = count
            self.time = time
        }

        /// Gives a message its place: behind the newest, and not earlier than it.
        ///
        /// - Throws: ``RepriseCore/RepriseError`` `.full` if the channel has no sequences left.
        package mutating func take(
            _ message: NewMessage, now: WallTime
        ) throws -> ServerFrame.Event {
            guard seq < WireLimits.greatestSequence else {
                throw RepriseError(.full, "The channel has no sequences left.")
            }
            time = max(now, time)
            count += 1
            defer { seq += 1 }
            return ServerFrame.Event(
                channel: message.channel, seq: seq + 1, prev: seq, id: message.id, time: time,
                body: message.body)
        }
    }

    /// Why a message is not stored; nil if it is to be.
    ///
    /// `channel` is the key of the message's channel, nil if nothing was stored in it yet; `position` says where the message with an id
    /// was stored.
    package static func obstacle(
        to message: NewMessage, in channel: Int64?, position: (EntryID) throws -> Position?
    ) rethrows -> AppendResult? {
        if let known = try position(message.id) {
            guard known.channel == channel else {
                return .refused(.conflict, "The id belongs to a message in another channel.")
            }
            return .duplicate(seq: known.seq)
        }
        guard let after = message.after else { return nil }
        guard let channel, try position(after)?.channel == channel else {
            return .refused(
                .predecessorMissing, "The message named in after is not stored yet.")
        }
        return nil
    }
}
