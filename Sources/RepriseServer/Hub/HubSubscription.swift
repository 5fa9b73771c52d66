import RepriseWire

/// One channel of one connection.
final class HubSubscription {
    /// A catch-up in progress.
    struct CatchUp {
        let began: Duration
        /// How many sequences the device lacked, and in how many ranges.
        let backlog: Int64
        let holes: Int
        /// The messages sent so far.
        var events = 0
    }

    let channel: ChannelName
    unowned let connection: ConnectionHandler
    var machine: ServerSubscriptionMachine
    var grant: Grant
    /// Whether a person is looking at the channel: it is caught up before the connection's others.
    var isFirst: Bool
    /// The number of the request that the next `subscribed` answers; nil without one, or once
    /// answered.
    var number: Int64?
    /// Whether positions have moved that were not sent.
    var owesPositions = false
    /// Whether the state being read is sent with the positions in any case.
    var tellsPositions = false
    /// The catch-up in progress; nil without one.
    var catchUp: CatchUp?
    /// Its index among the subscribers of the channel.
    var index = 0

    init(
        _ request: ClientFrame.Subscription, connection: ConnectionHandler, grant: Grant
    ) {
        channel = request.channel
        self.connection = connection
        self.grant = grant
        isFirst = request.isFirst
        machine = ServerSubscriptionMachine(
            epoch: request.epoch, coverage: request.coverage, joined: grant.joined)
    }

    /// A user's position as sent to this connection: the user's own is never before the joining.
    func seen(_ position: ServerFrame.Position) -> ServerFrame.Position {
        guard position.user == connection.principal.user else { return position }
        var own = position
        own.read = max(own.read, grant.unreadAfter)
        return own
    }
}

/// The subscribers of a channel on one event loop.
///
/// Removing one costs the same among thousands.
final class Subscribers {
    private(set) var all: ContiguousArray<HubSubscription> = []

    func add(_ subscription: HubSubscription) {
        subscription.index = all.count
        all.append(subscription)
    }

    func remove(_ subscription: HubSubscription) {
        let last = all.removeLast()
        guard last !== subscription else { return }
        last.index = subscription.index
        all[subscription.index] = last
    }
}
