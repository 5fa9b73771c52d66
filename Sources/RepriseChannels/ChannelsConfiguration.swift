public import RepriseCore

extension Channels {
    /// What can be set about the connection and the repair of holes.
    ///
    /// The defaults suit an app.
    public struct Configuration: Sendable {
        /// The waits between attempts to connect.
        public var reconnect = Backoff(base: .milliseconds(500), longest: .seconds(60))
        /// How long nothing may come in an open catch-up before what is missing is asked for again.
        public var inactivity: Duration = .seconds(30)
        /// How long an open catch-up may last without any progress before the connection is made
        /// anew.
        public var noProgress: Duration = .seconds(60)
        /// The waits between two requests for the same holes, while a server keeps answering
        /// without filling them.
        public var askAgain = Backoff(base: .seconds(1), longest: .seconds(30))
        /// The waits between attempts to load a snapshot; see ``Channel/onSnapshot(_:)``.
        public var snapshotAgain = Backoff(base: .seconds(1), longest: .seconds(60))
        /// How many frames may share one transaction, at most.
        public var framesPerCommit = 1_000
        /// After how long an attempted message of the outbox is not sent again, because the server
        /// may have forgotten its id: DESIGN gives 30 days.
        public var outboxWindow: Duration = .seconds(30 * 86_400)
        /// How often the position up to which this device has everything is told to the server, at
        /// most.
        public var receiptInterval: Duration = .seconds(1)
        /// Once it has moved by so many sequences it is told before that.
        public var receiptStep: Int64 = 100
        /// How many messages may wait to be sent; beyond it publishing throws `.full`.
        public var outboxLimit = 10_000
        /// Name and version of the app, for the server's log; at most 256 bytes.
        public var client = "reprise-swift"

        /// Who is signed in; nil: nobody, which a server that asks for tokens refuses.
        public var identity: Identity?
        /// How long the app may take to return a token.
        public var tokenPatience: Duration = .seconds(30)
        /// Says whether there is a network; nil: it is dialled, network or not.
        public var network: (any NetworkStatus)?
        /// How long before the end of the time granted in the background the connection is closed.
        public var backgroundMargin: Duration = .seconds(2)

        /// Whether there is a connection at all; without one the readers run on what is in the
        /// journal.
        package var dials = true
        package var timekeeper: any Timekeeper = SystemTimekeeper()
        /// Draws from 0..<1.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }

        /// The defaults.
        public init() {}

        package var outbox: OutboxMachine.Settings {
            .init(window: outboxWindow, patience: inactivity)
        }

        package var machine: ChannelsMachine.Settings {
            .init(
                connection: .init(reconnect: reconnect),
                subscription: .init(
                    inactivity: inactivity, noProgress: noProgress, askAgain: askAgain),
                tokens: .init(user: identity?.user, patience: tokenPatience),
                framesPerCommit: framesPerCommit, client: client)
        }
    }
}
