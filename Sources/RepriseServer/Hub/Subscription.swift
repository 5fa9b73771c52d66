import RepriseWire

/// One channel of one connection.
final class Subscription {
    let channel: ChannelName
    unowned let connection: ConnectionHandler
    var machine: SubscriptionMachine
    var grant: Grant
    /// Whether a person looks at the channel: it is caught up before the connection's others.
    var isFirst: Bool
    /// The number of the request that the next `subscribed` answers; nil if it had none, or has its
    /// answer.
    var number: Int64?
    /// Whether positions have moved that it was not told.
    var owesPositions = false
    /// Whether the state that is being read is to be told with the positions, whatever else it
    /// says.
    var tellsPositions = false
    /// When the open catch-up began; nil if none is open.
    var catchUpBegan: Duration?
    /// Its place among the subscribers of the channel.
    var index = 0

    init(
        _ request: ClientFrame.Subscription, connection: ConnectionHandler, grant: Grant
    ) {
        channel = request.channel
        self.connection = connection
        self.grant = grant
        isFirst = request.isFirst
        machine = SubscriptionMachine(
            epoch: request.epoch, coverage: request.coverage, joined: grant.joined)
    }

    /// A user's position as this connection is told it: its own is never before where the user
    /// joined.
    func seen(_ position: ServerFrame.Position) -> ServerFrame.Position {
        guard position.user == connection.principal.user else { return position }
        var own = position
        own.read = max(own.read, grant.unreadAfter)
        return own
    }
}

/// Who listens to a channel on one event loop.
///
/// Leaving costs the same for one subscriber and for thousands.
final class Subscribers {
    private(set) var all: ContiguousArray<Subscription> = []

    func add(_ subscription: Subscription) {
        subscription.index = all.count
        all.append(subscription)
    }

    func remove(_ subscription: Subscription) {
        let last = all.removeLast()
        guard last !== subscription else { return }
        last.index = subscription.index
        all[subscription.index] = last
    }
}
