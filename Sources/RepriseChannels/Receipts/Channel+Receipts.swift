import RepriseCore
public import RepriseWire

extension Channel {
    /// Says that the user has read everything up to a message.
    ///
    /// It is durable here when this returns, counts at once in ``unread``, and is told to the
    /// server and the user's other devices as soon as there is a connection. It never goes back.
    /// For a channel that this device has never been told about it does nothing.
    ///
    /// - Parameter seq: the sequence of the message.
    /// - Throws: what the journal throws.
    public func markRead(through seq: Int64) async throws {
        try await channels.presence.markRead(name, through: seq)
    }

    /// How far the others have read the channel and received it: as last known, then after each
    /// change.
    ///
    /// At most ``RepriseWire/WireLimits/positions`` users. Who reads slowly gets the newest.
    public var positions: AsyncStream<[UserID: ServerFrame.Position]> {
        channels.watch(name) { db in try ReceiptRows.positions(of: name, db) }
    }

    /// How many messages the user has not read: now, then after each change.
    ///
    /// It is counted here while the journal has everything, and is otherwise what the server has
    /// counted; a count of an older head never follows one of a newer. Who reads slowly gets the
    /// newest.
    public var unread: AsyncStream<Unread> {
        channels.watch(name) { db in try ReceiptRows.unread(in: name, db) }
    }

    /// Where what the user has not read begins: now, then after each change.
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
    /// The others are told at once and then every 4 s, and that it ended 5 s after the last call.
    /// Without a connection it does nothing.
    public func typing() { channels.presence.typed(in: name) }

    /// The user has thrown the text away; publishing says so by itself.
    public func stopTyping() { channels.presence.stoppedTyping(in: name) }

    /// Who else types, in the order in which they began: now, then each change.
    ///
    /// Somebody of whom nothing is heard for 10 s has stopped, and so has everybody when the
    /// connection ends.
    public var typists: AsyncStream<[UserID]> { channels.presence.typists(in: name).watch() }
}

/// How much a user has not read, and from where on, of one moment.
package struct UnreadStart: Hashable, Sendable {
    package let unread: Unread
    /// Unread messages have a greater sequence.
    package let after: Int64
    /// Whether what the user has read on other devices is known, as far as there is a connection to
    /// tell.
    package let isKnown: Bool

    package init(unread: Unread, after: Int64, isKnown: Bool) {
        self.unread = unread
        self.after = after
        self.isKnown = isKnown
    }
}
