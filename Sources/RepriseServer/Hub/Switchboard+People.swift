import Metrics
import NIOCore
import RepriseCore
import RepriseWire

/// What people do in channels besides publishing: they may or may not, they read, they type.
extension Switchboard {
    func accessChanged(_ channel: ChannelName, _ user: UserID?) {
        guard let user else {
            for connection in Array(connections.values) { connection.accessChanged(channel) }
            return
        }
        for id in users[user] ?? [] { connections[id]?.accessChanged(channel) }
    }

    // MARK: Positions

    /// Encoded once, for all who are told on this loop.
    func tell(_ telling: PositionNews.Telling) {
        guard let subscribers = channels[telling.channel]?.all else { return }
        let frame = WebSocketFraming.frame(
            .receipt(channel: telling.channel, telling.position))
        gateway.metrics.positionsTold.increment()
        if telling.isPrivate || subscribers.count > WireLimits.positions {
            for id in users[telling.position.user] ?? [] where id != telling.except {
                guard let connection = connections[id],
                    let subscription = connection.subscriptions[telling.channel]
                else { continue }
                connection.tell(frame, to: subscription)
            }
        } else {
            for subscription in subscribers where subscription.connection.id != telling.except {
                subscription.connection.tell(frame, to: subscription)
            }
        }
    }

    // MARK: Typing

    func typed(_ isTyping: Bool, by user: UserID, at id: UInt64, in channel: ChannelName) {
        let told = typists.typed(
            isTyping, by: user, at: id, in: channel, now: gateway.clock.uptime())
        if let told { gateway.hub.typing(told) }
    }

    /// A connection does not subscribe any more, so its user does not type there.
    func left(_ subscription: Subscription) {
        guard !typists.isEmpty, let user = subscription.connection.principal.user else { return }
        let told = typists.left(subscription.connection.id, of: user, in: subscription.channel)
        if let told { gateway.hub.typing(told) }
    }

    /// Told to others only, and to nobody who has more unsent than is good: it would be old when it came.
    func tell(_ told: TypingBoard.Told) {
        guard let subscribers = channels[told.channel]?.all,
            subscribers.count <= gateway.limits.typingSubscribers
        else { return }
        let frame = WebSocketFraming.frame(
            .typing(
                channel: told.channel, user: told.user, isTyping: told.isTyping,
                expires: WireLimits.typing))
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

    func catchUpBegan(_ subscription: Subscription, _ now: Duration) {
        if subscription.catchUpBegan == nil { gateway.catchUpsChanged(by: 1) }
        subscription.catchUpBegan = now
    }

    /// It is complete; or, without a time, it was left.
    func catchUpEnded(_ subscription: Subscription, _ now: Duration?) {
        guard let began = subscription.catchUpBegan else { return }
        subscription.catchUpBegan = nil
        gateway.catchUpsChanged(by: -1)
        if let now { gateway.metrics.caughtUp(after: now - began) }
    }
}
