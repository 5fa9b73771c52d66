import RepriseServer
import RepriseWire

/// One channel of one connection.
final class ServerSubscription {
    let channel: ChannelName
    unowned let connection: ServerConnection
    var machine: ServerSubscriptionMachine
    var isRegistered = false
    /// What the user may do, as it was asked last.
    var grant: Grant
    /// The target of the catch-up, for a wrong driver that ends it too early; nil once it has.
    var target: LogChannelState?

    init(
        _ channel: ChannelName, _ connection: ServerConnection, grant: Grant,
        machine: ServerSubscriptionMachine
    ) {
        self.grant = grant
        self.channel = channel
        self.connection = connection
        self.machine = machine
    }
}
