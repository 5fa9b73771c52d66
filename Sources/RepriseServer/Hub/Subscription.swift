import RepriseWire

/// One channel of one connection.
final class Subscription {
    let channel: ChannelName
    unowned let connection: ConnectionHandler
    var machine: SubscriptionMachine
    /// Its place among the subscribers of the channel.
    var index = 0

    init(
        channel: ChannelName, connection: ConnectionHandler, machine: SubscriptionMachine
    ) {
        self.channel = channel
        self.connection = connection
        self.machine = machine
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
