package import RepriseWire

/// Decides when receipts of a connection are made durable: one move per channel at a time; receipts
/// that arrive meanwhile are merged.
///
/// So a client that sends a receipt for each of a thousand messages costs a few writes.
package struct ReceiptCoalescer: Sendable {
    /// The merged receipt behind a channel's move in flight.
    private var waiting: [ChannelName: ClientFrame.Receipt?] = [:]

    package init() {}

    /// The number of channels with a move in flight.
    package var movesUnderWay: Int { waiting.count }

    /// A permitted receipt arrived.
    ///
    /// - Returns: the move to make durable now; nil if one of the channel is in flight.
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
    /// - Returns: the next move to make durable.
    package mutating func moved(in channel: ChannelName) -> ClientFrame.Receipt? {
        guard let next = waiting[channel] ?? nil else {
            waiting[channel] = nil
            return nil
        }
        waiting[channel] = .some(nil)
        return next
    }

    /// A move of the channel was refused: its right is to be looked up again.
    ///
    /// - Returns: what it was to make durable, and the receipts since; they count as not arrived.
    package mutating func refused(_ receipt: ClientFrame.Receipt) -> ClientFrame.Receipt {
        let next = waiting.removeValue(forKey: receipt.channel) ?? nil
        return next?.merged(with: receipt) ?? receipt
    }

    /// The user may no longer read the channel; the pending receipt is dropped.
    package mutating func ended(in channel: ChannelName) {
        if waiting[channel] != nil { waiting[channel] = .some(nil) }
    }
}

extension ClientFrame.Receipt {
    /// The maximum of each position.
    fileprivate func merged(with other: Self) -> Self {
        Self(
            channel: channel, read: [read, other.read].compactMap { $0 }.max(),
            delivered: [delivered, other.delivered].compactMap { $0 }.max())
    }
}
