import RepriseCore
public import RepriseWire

extension Channel {
    /// Reports that the user has read everything up to a message.
    ///
    /// It is durable here when this returns, counts at once in ``unread``, and is sent to the
    /// server and the user's other devices as soon as a connection exists. It never goes back. For
    /// a channel that this device does not know yet it does nothing.
    ///
    /// - Parameter seq: the sequence of the message.
    /// - Throws: the journal's errors.
    public func markRead(through seq: Int64) async throws {
        try await channels.presence.markRead(name, through: seq)
    }

    /// How far the others have read the channel and received it: the last known positions, then
    /// each change.
    ///
    /// At most ``RepriseWire/WireLimits/positions`` users. Buffers the newest value.
    public var positions: AsyncStream<[UserID: ServerFrame.Position]> {
        channels.watch(name) { db in try ReceiptRows.positions(of: name, db) }
    }

    /// How many messages the user has not read: the current count, then each change.
    ///
    /// Counted here while the journal has everything, otherwise the server's count; a count of an
    /// older head never follows one of a newer. Buffers the newest value; older ones are dropped.
    public var unread: AsyncStream<Unread> {
        channels.watch(name) { db in try ReceiptRows.unread(in: name, db) }
    }

    /// The beginning of the unread messages: the current one, then each change.
    package var unreadStart: AsyncStream<UnreadStart> {
        let presence = channels.presence
        return channels.watch(name) { [name] db in
            UnreadStart(
                unread: try ReceiptRows.unread(in: name, db),
                after: try ReceiptRows.readPosition(in: name, db),
                isKnown: presence.knowsRead(name))
        }
    }

    /// The user types: call it at each key.
    ///
    /// The others are told at once and then every 4 s, and of the end 5 s after the last call.
    /// Without a connection it does nothing.
    public func typing() { channels.presence.typed(in: name) }

    /// The user has discarded the text; publishing does this itself.
    public func stopTyping() { channels.presence.stoppedTyping(in: name) }

    /// The other users who type, in the order in which they began: the current ones, then each
    /// change.
    ///
    /// A user has stopped after 10 s without a report, and all have when the connection ends.
    public var typists: AsyncStream<[UserID]> { channels.presence.typists(in: name).watch() }
}

/// How much a user has not read, and from where on, at one moment.
package struct UnreadStart: Hashable, Sendable {
    package let unread: Unread
    /// Unread messages have a greater sequence.
    package let after: Int64
    /// Whether the read positions of the user's other devices are known, as far as a connection
    /// exists to tell them.
    package let isKnown: Bool

    package init(unread: Unread, after: Int64, isKnown: Bool) {
        self.unread = unread
        self.after = after
        self.isKnown = isKnown
    }
}
