package import RepriseCore
package import RepriseWire

/// A message to store: the content of a `publish`, over any transport, and its user.
///
/// The body is validated and within ``RepriseWire/WireLimits/bodyBytes``; the log stores its bytes
/// and never inspects them. The id is unique over the whole log: see
/// `AppendResult/duplicate(seq:)`.
package struct NewMessage: Hashable, Sendable {
    /// The requested publish.
    package var publish: ClientFrame.Publish
    /// The publishing user; nil where access is open.
    package var from: UserID?
    /// Whether messages of others may be deleted too: by an owner of the channel, an admin, or
    /// anyone under open access.
    package var mayChangeOthers: Bool
    /// Whether the user's token makes him an admin.
    ///
    /// In a cluster that alone goes into the journal: what else he may do is decided when the
    /// message is applied.
    package var isAdmin: Bool
    /// The connection that it came by, in a cluster.
    package var fence: FencingToken?

    package init(
        _ publish: ClientFrame.Publish, from: UserID? = nil, mayChangeOthers: Bool = false,
        isAdmin: Bool = false, fence: FencingToken? = nil
    ) {
        self.publish = publish
        self.from = from
        self.mayChangeOthers = mayChangeOthers
        self.isAdmin = isAdmin
        self.fence = fence
    }

    package init(
        channel: ChannelName, id: EntryID, after: EntryID? = nil,
        change: MessageChange<EntryID>? = nil, from: UserID? = nil, mayChangeOthers: Bool = false,
        isAdmin: Bool = false, body: [UInt8]
    ) {
        self.init(
            .init(channel: channel, id: id, after: after, change: change, body: body),
            from: from, mayChangeOthers: mayChangeOthers, isAdmin: isAdmin)
    }

    package var channel: ChannelName { publish.channel }
    package var id: EntryID { publish.id }
    package var after: EntryID? { publish.after }
    package var change: MessageChange<EntryID>? { publish.change }
    package var body: [UInt8] { publish.body }
}
