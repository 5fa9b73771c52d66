package import RepriseWire

/// Decides which receipts of a connection are made durable when: one move a channel at a time, and
/// what comes meanwhile is one more.
///
/// So a client that sends a receipt for each of a thousand messages costs a few writes.
package struct ReceiptDesk: Sendable {
    /// What waits behind the move that is under way in a channel.
    private var waiting: [ChannelName: ClientFrame.Receipt?] = [:]

    package init() {}

    /// How many channels have a move under way.
    package var movesUnderWay: Int { waiting.count }

    /// A receipt came, and the user may send it.
    ///
    /// - Returns: what to make durable now; nil if a move of the channel is under way.
    package mutating func arrived(_ receipt: ClientFrame.Receipt) -> ClientFrame.Receipt? {
        guard let before = waiting[receipt.channel] else {
            waiting[receipt.channel] = .some(nil)
            return receipt
        }
        waiting[receipt.channel] = .some(before?.merged(with: receipt) ?? receipt)
        return nil
    }

    /// A move of the channel is durable.
    ///
    /// - Returns: what to make durable next.
    package mutating func moved(in channel: ChannelName) -> ClientFrame.Receipt? {
        guard let next = waiting[channel] ?? nil else {
            waiting[channel] = nil
            return nil
        }
        waiting[channel] = .some(nil)
        return next
    }

    /// The user may not read the channel any more; what waits is dropped.
    package mutating func ended(in channel: ChannelName) {
        if waiting[channel] != nil { waiting[channel] = .some(nil) }
    }
}

extension ClientFrame.Receipt {
    /// The farther of both, for each.
    fileprivate func merged(with other: Self) -> Self {
        Self(
            channel: channel, read: [read, other.read].compactMap { $0 }.max(),
            delivered: [delivered, other.delivered].compactMap { $0 }.max())
    }
}
