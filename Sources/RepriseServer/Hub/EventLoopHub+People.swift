import Metrics
import NIOCore
import RepriseCore
import RepriseWire

/// Access changes, positions and typing.
extension EventLoopHub {
    func accessChanged(_ channel: ChannelName, _ user: UserID?) {
        guard let user else {
            for connection in Array(connections.values) { connection.accessChanged(channel) }
            return
        }
        for id in users[user] ?? [] { connections[id]?.accessChanged(channel) }
    }

    // MARK: Positions

    /// Encoded once for all subscribers on this loop.
    func tell(_ telling: PositionUpdates.Telling) {
        guard let subscribers = channels[telling.channel]?.all else { return }
        let position = told.newest(telling.position, in: telling.channel)
        let frame = WebSocketFraming.frame(.receipt(channel: telling.channel, position))
        gateway.metrics.positionsTold.increment()
        if telling.isPrivate || subscribers.count > WireLimits.positions {
            for id in users[position.user] ?? [] where id != telling.except {
                guard let subscription = connections[id]?.subscriptions[telling.channel] else {
                    continue
                }
                tell(position, as: frame, to: subscription)
            }
        } else {
            for subscription in subscribers where subscription.connection.id != telling.except {
                tell(position, as: frame, to: subscription)
            }
        }
    }

    private func tell(
        _ position: ServerFrame.Position, as frame: ByteBuffer, to subscription: HubSubscription
    ) {
        let own = subscription.seen(position)
        let frame =
            own == position
            ? frame : WebSocketFraming.frame(.receipt(channel: subscription.channel, own))
        subscription.connection.tell(frame, to: subscription)
    }

    /// The newest known position for a subscription, of positions read from the disk: not older
    /// than what was sent meanwhile.
    ///
    /// - Returns: the frame, and whether its count belongs to an older position and must be read
    ///   again.
    func newest(
        _ read: LogReader.Positions, for subscription: HubSubscription
    ) -> (frame: ByteBuffer, isStale: Bool) {
        var frame = read.frame
        var isStale = false
        for index in frame.positions.indices {
            let before = frame.positions[index]
            var position = before
            // A user's read position before the joining is not shown to others.
            if position.user == read.user { position.read = read.stored }
            position = told.newest(position, in: frame.channel)
            if position.user == read.user {
                position = subscription.seen(position)
                isStale = position.read > before.read
            }
            frame.positions[index] = position
        }
        let bytes =
            frame == read.frame ? read.bytes : WebSocketFraming.frame(.positions(frame))
        return (bytes, isStale)
    }

    // MARK: Typing

    func typed(_ isTyping: Bool, by user: UserID, at id: UInt64, in channel: ChannelName) {
        let told = typists.typed(
            isTyping, by: user, at: id, in: channel, now: gateway.clock.uptime())
        if let told { gateway.hub.typing(told) }
    }

    /// A connection has unsubscribed, so its user does not type there.
    func left(_ subscription: HubSubscription) {
        guard !typists.isEmpty, let user = subscription.connection.principal.user else { return }
        let told = typists.left(subscription.connection.id, of: user, in: subscription.channel)
        if let told { gateway.hub.typing(told) }
    }

    /// Sent to other users only, and not to connections under backpressure: it would be stale.
    func tell(_ told: TypingBoard.Told) {
        guard let subscribers = channels[told.channel]?.all,
            subscribers.count <= gateway.limits.typingSubscribers
        else { return }
        let frame = WebSocketFraming.frame(
            .typing(
                channel: told.channel, user: told.user, isTyping: told.isTyping,
                expires: told.isTyping ? WireLimits.typing : .zero))
        gateway.metrics.typingTold.increment()
        for subscription in subscribers {
            let connection = subscription.connection
            guard connection.principal.user != told.user, connection.isWritable,
                !subscription.machine.isOpening
            else { continue }
            connection.send(frame)
        }
    }

    // MARK: Catch-ups

    func catchUpBegan(_ subscription: HubSubscription, _ now: Duration) {
        if subscription.catchUpBegan == nil { gateway.catchUpsChanged(by: 1) }
        subscription.catchUpBegan = now
    }

    /// The catch-up is complete; or, without a time, was abandoned.
    func catchUpEnded(_ subscription: HubSubscription, _ now: Duration?) {
        guard let began = subscription.catchUpBegan else { return }
        subscription.catchUpBegan = nil
        gateway.catchUpsChanged(by: -1)
        if let now { gateway.metrics.caughtUp(after: now - began) }
    }
}
