package import RepriseCore
package import RepriseWire

/// A message that somebody wants stored.
package struct NewMessage: Hashable, Sendable {
    package var channel: ChannelName
    /// The idempotency key, unique over the whole log: see `AppendResult/duplicate(seq:)`.
    package var id: EntryID
    /// The message of the same channel that must be stored before this one, if there is one.
    package var after: EntryID?
    /// JSON that has been validated and is within ``RepriseWire/WireLimits/bodyBytes``; the log stores the bytes and never looks at them.
    package var body: [UInt8]

    package init(channel: ChannelName, id: EntryID, after: EntryID? = nil, body: [UInt8]) {
        self.channel = channel
        self.id = id
        self.after = after
        self.body = body
    }
}
