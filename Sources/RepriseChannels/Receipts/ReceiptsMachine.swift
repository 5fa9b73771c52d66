package import RepriseWire

/// Decides which receipts are sent when.
///
/// A read position is sent as soon as a connection exists, a delivered position now and then, each
/// until the server's echo has reached it. Nothing goes back, except with the epoch: a new one
/// makes all positions void.
package struct ReceiptsMachine: Sendable {
    package struct Settings: Hashable, Sendable {
        /// The shortest interval between delivered positions.
        package var interval: Duration
        /// After so many sequences it is sent earlier.
        package var step: Int64
        /// How long to wait for an echo before it is sent again.
        package var again: Duration

        package init(
            interval: Duration = .seconds(1), step: Int64 = 100, again: Duration = .seconds(10)
        ) {
            self.interval = interval
            self.step = max(1, step)
            self.again = again
        }
    }

    /// The positions of this device's user in a channel.
    package struct Status: Hashable, Sendable {
        package var read: Int64
        /// The durable part on this device without a hole.
        package var delivered: Int64
        /// The positions that the server is known to have.
        package var known: Known

        package init(read: Int64 = 0, delivered: Int64 = 0, known: Known = Known()) {
            self.read = read
            self.delivered = delivered
            self.known = known
        }
    }

    package struct Known: Hashable, Sendable {
        package var read: Int64 = 0
        package var delivered: Int64 = 0

        package init(read: Int64 = 0, delivered: Int64 = 0) {
            self.read = read
            self.delivered = delivered
        }
    }

    private struct Line {
        var standing = Status()
        /// Whether the server accepts receipts for it: it has answered the subscription on this
        /// connection.
        var isOpen = false
        /// Sent on this connection and not echoed.
        var sent = Known()
        var sentAt: Duration?
    }

    private let settings: Settings
    private var lines: [ChannelName: Line] = [:]

    package init(settings: Settings = Settings()) { self.settings = settings }

    /// When to call ``receipts(at:)`` without any event; nil: never.
    package func due(at now: Duration) -> Duration? {
        lines.values.compactMap { due($0, at: now) }.min()
    }

    // MARK: Events

    /// The server has welcomed the user and told all positions; `standing` is the journal's state
    /// then.
    ///
    /// A commit meanwhile may have moved more than that.
    package mutating func positionsReceived(_ channel: ChannelName, _ standing: Status) {
        lines[channel, default: Line()].isOpen = true
        echoReceived(
            channel, read: standing.known.read, delivered: standing.known.delivered)
        readMoved(channel, to: standing.read)
        deliveredMoved(channel, to: standing.delivered)
    }

    package mutating func disconnected() {
        for channel in lines.keys {
            lines[channel]?.isOpen = false
            lines[channel]?.sent = Known()
            lines[channel]?.sentAt = nil
        }
    }

    /// It is no longer subscribed to, or has another epoch.
    package mutating func left(_ channel: ChannelName) { lines[channel] = nil }

    /// The user has read on this device: it is durable.
    package mutating func readMoved(_ channel: ChannelName, to seq: Int64) {
        lines[channel, default: Line()].standing.read.grow(to: seq)
    }

    /// So much is durable on this device.
    package mutating func deliveredMoved(_ channel: ChannelName, to seq: Int64) {
        lines[channel, default: Line()].standing.delivered.grow(to: seq)
    }

    /// The server has this position of the user, from any device.
    package mutating func echoReceived(_ channel: ChannelName, read: Int64, delivered: Int64) {
        guard var line = lines[channel] else { return }
        line.standing.known.read.grow(to: read)
        line.standing.known.delivered.grow(to: delivered)
        line.standing.read.grow(to: read)
        lines[channel] = line
    }

    package func standing(of channel: ChannelName) -> Status? { lines[channel]?.standing }

    // MARK: Decision

    /// The receipts to send now.
    package mutating func receipts(at now: Duration) -> [ClientFrame.Receipt] {
        var receipts: [ClientFrame.Receipt] = []
        for channel in lines.keys.sorted() {
            guard var line = lines[channel], let due = due(line, at: now), now >= due else {
                continue
            }
            let standing = line.standing
            receipts.append(
                ClientFrame.Receipt(
                    channel: channel,
                    read: standing.read > standing.known.read ? standing.read : nil,
                    delivered: standing.delivered > standing.known.delivered
                        ? standing.delivered : nil))
            line.sent = Known(read: standing.read, delivered: standing.delivered)
            line.sentAt = now
            lines[channel] = line
        }
        return receipts
    }

    private func due(_ line: Line, at now: Duration) -> Duration? {
        let standing = line.standing
        guard line.isOpen else { return nil }
        let lacksRead = standing.read > standing.known.read
        let lacksDelivered = standing.delivered > standing.known.delivered
        guard lacksRead || lacksDelivered else { return nil }
        guard let sentAt = line.sentAt else { return now }
        if lacksRead, standing.read > line.sent.read { return now }
        let moved = standing.delivered - line.sent.delivered
        if lacksDelivered, moved >= settings.step { return now }
        if lacksDelivered, moved > 0 { return sentAt + settings.interval }
        return sentAt + settings.again
    }
}

extension Int64 {
    /// Positions never go back.
    fileprivate mutating func grow(to other: Int64) { self = Swift.max(self, other) }
}
