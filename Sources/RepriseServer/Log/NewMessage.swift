package import RepriseCore
package import RepriseWire

/// A message that somebody wants stored: what a `publish` asks for, by whichever way it came, and
/// who asks.
///
/// Here the body has been validated and is within ``RepriseWire/WireLimits/bodyBytes``; the log
/// stores its bytes and never looks at them. The id is unique over the whole log: see
/// `AppendResult/duplicate(seq:)`.
package struct NewMessage: Hashable, Sendable {
    /// What is asked for.
    package var publish: ClientFrame.Publish
    /// Who asks; nil where the server does not ask who is who.
    package var from: UserID?
    /// Whether messages of others may be deleted too: an owner of the channel, an admin, or a
    /// server that asks nobody.
    package var mayChangeOthers: Bool

    package init(
        _ publish: ClientFrame.Publish, from: UserID? = nil, mayChangeOthers: Bool = false
    ) {
        self.publish = publish
        self.from = from
        self.mayChangeOthers = mayChangeOthers
    }

    package init(
        channel: ChannelName, id: EntryID, after: EntryID? = nil,
        change: MessageChange<EntryID>? = nil, from: UserID? = nil, mayChangeOthers: Bool = false,
        body: [UInt8]
    ) {
        self.init(
            .init(channel: channel, id: id, after: after, change: change, body: body),
            from: from, mayChangeOthers: mayChangeOthers)
    }

    package var channel: ChannelName { publish.channel }
    package var id: EntryID { publish.id }
    package var after: EntryID? { publish.after }
    package var change: MessageChange<EntryID>? { publish.change }
    package var body: [UInt8] { publish.body }
}
