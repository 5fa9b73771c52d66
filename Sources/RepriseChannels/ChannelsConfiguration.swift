package import Logging
public import RepriseCore

extension Channels {
    /// The options of the connection and of the repair of holes.
    ///
    /// The defaults suit an app.
    public struct Configuration: Sendable {
        /// The waits between attempts to connect.
        public var reconnect = Backoff(base: .milliseconds(500), longest: .seconds(60))
        /// How long an open catch-up may be silent before the missing messages are requested again.
        public var inactivity: Duration = .seconds(30)
        /// How long an open catch-up may last without any progress before the connection is
        /// replaced.
        public var noProgress: Duration = .seconds(60)
        /// The waits between two requests for the same holes, while a server answers without
        /// filling them.
        public var askAgain = Backoff(base: .seconds(1), longest: .seconds(30))
        /// The waits between attempts to load a snapshot; see `onSnapshot(_:)`.
        public var snapshotAgain = Backoff(base: .seconds(1), longest: .seconds(60))
        /// The most frames that share one transaction.
        public var framesPerCommit = 1_000
        /// The age after which an attempted message of the outbox is not sent again, because the
        /// server may have forgotten its id: 30 days by default.
        public var outboxWindow: Duration = .seconds(30 * 86_400)
        /// The shortest interval between two reports to the server of the position up to which this
        /// device has everything.
        public var receiptInterval: Duration = .seconds(1)
        /// After so many sequences it is reported earlier.
        public var receiptStep: Int64 = 100
        /// How many messages may wait to be sent; beyond it publishing throws `.full`.
        public var outboxLimit = 10_000
        /// Whether the device follows every channel of which the user is a member, as the server
        /// tells them: subscribed to, also where the app has never named it.
        ///
        /// At most 900 channels, those joined last.
        public var followsConversations = true
        /// Name and version of the app, for the server's log; at most 256 bytes.
        public var client = "reprise-swift"

        /// The signed-in user; nil: nobody, which a server that requires tokens refuses.
        public var identity: Identity?
        /// The timeout for the app to return a token.
        public var tokenTimeout: Duration = .seconds(30)
        /// Reports whether a network is available; nil: the client always dials.
        public var network: (any NetworkStatus)?
        /// Whether the client is told when the app is in the foreground and in the background, as
        /// `SystemAppLife` of RepriseApple does.
        ///
        /// Then its user is idle until the app is in the foreground: the system may have launched
        /// it unseen, for a push or a slot. True on iOS, tvOS and visionOS, false elsewhere.
        public var reportsPhases: Bool = Self.isLaunchedUnseen
        /// How long before the end of the granted background time the connection is closed.
        public var backgroundMargin: Duration = .seconds(2)

        /// Whether to connect at all; otherwise the readers run on the journal alone.
        package var dials = true
        package var logger = Logger.silent
        /// The clocks; a test sets a `ManualClock` of RepriseTesting.
        public var timekeeper: any Timekeeper = SystemTimekeeper()
        /// Draws from 0..<1.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }

        /// The defaults.
        public init() {}

        private static var isLaunchedUnseen: Bool {
            #if os(iOS) || os(tvOS) || os(visionOS)
                return true
            #else
                return false
            #endif
        }

        package var outbox: OutboxMachine.Settings {
            .init(window: outboxWindow, timeout: inactivity)
        }

        package var machine: ChannelsMachine.Settings {
            .init(
                connection: .init(reconnect: reconnect),
                subscription: .init(
                    inactivity: inactivity, noProgress: noProgress, askAgain: askAgain),
                tokens: .init(user: identity?.user, timeout: tokenTimeout),
                framesPerCommit: framesPerCommit, client: client)
        }
    }
}
