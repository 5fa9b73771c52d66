package import RepriseCore
package import RepriseWire

/// Decides for one connection and all its channels: which frames are sent, what is written
/// together, and what is read again after a failed write.
///
/// Frames are decoded and checked here, at most one transaction's worth at a time. One batch may be
/// on its way to the disk and one may wait behind it; then nothing more is read (``mayRead``). So
/// memory is ahead of the disk by those two only, and returns to it if a commit fails.
///
/// Its driver performs the actions in their order. It reports each event once, and each end of a
/// started effect: `dial`, `commit` and `reload` have exactly one answer.
package struct ChannelsMachine: Sendable {
    package struct Settings: Sendable {
        package var connection: ConnectionMachine.Settings
        package var subscription: SubscriptionMachine.Settings
        package var tokens: TokenMachine.Settings
        /// The most frames that share one transaction: the most that
        /// ``ChannelsMachine/framesReceived(_:at:jitter:)`` gets at once.
        package var framesPerCommit: Int
        /// Name and version of the app.
        package var client: String

        package init(
            connection: ConnectionMachine.Settings = .init(),
            subscription: SubscriptionMachine.Settings = .init(),
            tokens: TokenMachine.Settings = .init(), framesPerCommit: Int = 1_000,
            client: String = "reprise-swift"
        ) {
            self.connection = connection
            self.subscription = subscription
            self.tokens = tokens
            self.framesPerCommit = framesPerCommit
            self.client = client
        }
    }

    package enum Action: Sendable {
        /// Answered by `dialSucceeded` or `dialFailed`.
        case dial
        /// End the current dial; it is still answered.
        case abandonDial
        /// Ask the app for a token; answered by `tokenReceived` or `tokenFailed` with this number.
        case askToken(Int, TokenRequest.Reason)
        /// The app's token is no longer needed.
        case abandonToken
        /// Ping the peer; answered by `probeAnswered` or `probeFailed` with this number.
        case probe(Int)
        /// A retry is useless.
        case stop(any Error)
        case send([[UInt8]])
        case close(CloseCode)
        /// Write it, if the logs are at these positions; answered by `committed` or `commitFailed`.
        case commit(StagedBatch, at: [ChannelName: LogPosition])
        /// Read the journal's state; answered by `reloaded` or `reloadFailed`.
        case reload([ChannelName])
        /// Call `woke` then; replaces an earlier one. nil: no longer needed.
        case wake(at: Duration?)
        case announce(ConnectionState)
        case enter(ChannelName, ChannelState)
        /// The outbox may send.
        case openSession(serverTime: WallTime, user: UserID?)
        case closeSession
        /// The server reports positions, or typing users.
        case heard(ServerFrame)
        /// The server has answered the outbox.
        case published(ServerFrame.Published, isSubscribed: Bool)
        case refused(ServerFrame.Refused)
        /// Readers of these channels may find new messages.
        case signalReaders([ChannelName])
        /// Have the app load a snapshot; answered by `snapshotTaken`, at any time.
        case requestSnapshot(ChannelName, SubscriptionMachine.Snapshot)
    }

    enum Timer: Hashable, Comparable, Sendable {
        case sleep
        case token
        case connection
        case reload
        case channel(ChannelName)
    }

    /// The state between memory and disk.
    enum Disk: Sendable {
        case idle
        /// A batch that touches these channels is being written; `revisions` become durable with
        /// it.
        case writing(channels: [ChannelName], revisions: [StagedBatch.Revision])
        /// A commit has failed; a timer is set.
        case pausing
        case reloading
    }

    /// How the connection ended, while some of its data is still on its way to the disk.
    struct Ending: Sendable { var closeCode: CloseCode? }

    let settings: Settings
    var device = EntryID(unchecked: "")
    var connection: ConnectionMachine
    var tokens: TokenMachine
    var decoder = FrameDecoder()
    /// In the order in which they were made: nothing here depends on an order of hashes.
    var subscriptions: [Subscription] = []
    var places: [ChannelName: Int] = [:]
    var positions: [ChannelName: LogPosition] = [:]
    var timers = Deadlines<Timer>()
    /// The moment of the driver's current wake-up.
    private var alarm: Duration?
    /// Visible channels.
    var onScreen: Set<ChannelName> = []
    /// Channels for which the app loads snapshots.
    var snapshotChannels: Set<ChannelName> = []
    var tally = ConnectionTally()
    /// Channels to request with the next frame.
    var asks: [ClientFrame.Subscription] = []
    /// A subscription has given this connection up.
    var wantsReconnect = false
    var disk = Disk.idle
    /// The batch that waits for the one being written.
    var behind: StagedBatch?
    /// Memory may differ from the disk.
    package internal(set) var isStale = false
    /// Commits that failed in a row.
    var failedCommits = 0
    /// An error that makes a retry useless.
    var fatal: (any Error)?
    /// A dial waits for memory to be read again.
    var dialsAfterReload = false
    /// A dial waits for the app's token.
    var awaitsToken = false
    /// The server takes this connection for another user's: nothing on it is read.
    var isStranger = false
    /// The close code of the last connection.
    var disposition: CloseCode?
    var ending: Ending?
    /// Why the last connection ended.
    var disconnection = Disconnection()
    /// Frames that are unreadable, or belong to none of the channels.
    package internal(set) var unroutableFrames: Int64 = 0
    /// The actions of the current event.
    private var actions: [Action] = []

    package init(settings: Settings = Settings()) {
        self.settings = settings
        connection = ConnectionMachine(settings: settings.connection)
        tokens = TokenMachine(settings: settings.tokens)
    }

    // MARK: The driver's queries

    /// Whether frames may be read from the connection now.
    package var mayRead: Bool {
        switch disk {
        case .idle, .writing: behind == nil
        case .pausing, .reloading: false
        }
    }

    /// Whether a retry is useless, whatever is still to be read from the connection.
    package var isFatal: Bool { fatal != nil }

    /// Whether nothing is on its way to the disk or back.
    package var isSettled: Bool {
        if case .idle = disk { behind == nil } else { false }
    }

    /// Whether a channel's state may be read from the journal, for `subscribed`: an earlier
    /// subscription of it can still be on its way to the disk.
    package func mayLoad(_ channel: ChannelName) -> Bool {
        guard case .writing(let channels, let revisions) = disk else { return true }
        return !channels.contains(channel) && !revisions.contains { $0.channel == channel }
    }

    // MARK: The life of the connection

    /// The driver runs, as the device of this id.
    package mutating func started(as device: EntryID, at now: Duration) -> [Action] {
        self.device = device
        fatal = nil
        disconnection = Disconnection()
        for subscription in subscriptions {
            emit(.enter(subscription.channel, subscription.machine.state))
        }
        perform(connection.started(at: now), at: now)
        return take()
    }

    /// The driver has ended.
    package mutating func stopped() -> [Action] {
        connection.stopped()
        dialsAfterReload = false
        awaitsToken = false
        perform(tokens.abandoned(), at: .zero, jitter: 0)
        emit(.announce(.idle))
        for subscription in subscriptions { emit(.enter(subscription.channel, .closed)) }
        return take()
    }

    package mutating func dialSucceeded(at now: Duration) -> [Action] {
        disconnection = Disconnection()
        decoder = FrameDecoder()
        perform(connection.dialSucceeded(at: now), at: now)
        return take()
    }

    package mutating func dialFailed(_ error: any Error, at now: Duration, jitter: Double)
        -> [Action]
    {
        disconnection = Disconnection(error: Self.described(error))
        tally.lastError = disconnection.error
        perform(connection.dialFailed(at: now, jitter: jitter), at: now)
        return take()
    }

    package mutating func woke(at now: Duration, jitter: Double) -> [Action] {
        alarm = nil
        for timer in timers.take(at: now) {
            switch timer {
            case .sleep: perform(connection.sleepDue(at: now), at: now)
            case .token:
                perform(tokens.timerFired(at: now, jitter: jitter), at: now, jitter: jitter)
            case .connection: perform(connection.timerFired(at: now), at: now)
            case .reload: reload()
            case .channel(let name):
                guard let place = places[name] else { continue }
                perform(subscriptions[place].machine.timerFired(at: now), of: place)
            }
        }
        flush()
        // A new timer may be later than the one before it.
        if let soonest = timers.soonest, soonest < alarm ?? soonest + .seconds(1) {
            wake(at: soonest)
        }
        return take()
    }

    /// The connection has ended.
    ///
    /// Nothing of it may remain when the next one is made: received frames are written, requests
    /// are forgotten.
    package mutating func disconnected(
        closeCode: CloseCode?, error: (any Error)?, at now: Duration, jitter: Double
    ) -> [Action] {
        if let error, disconnection == Disconnection() {
            disconnection = Disconnection(error: Self.described(error))
        }
        if disconnection == Disconnection() { disconnection = Disconnection(closeCode: closeCode) }
        tally.connectedAt = nil
        tally.lastError = disconnection.error ?? tally.lastError
        emit(.closeSession)
        asks = []
        wantsReconnect = false
        tokens.disconnected()
        timers.cancelAll { $0 == .sleep || $0 == .token }
        if alarm != timers.soonest { wake(at: timers.soonest) }
        for place in subscriptions.indices {
            subscriptions[place].drop()
            show(subscriptions[place].machine.disconnected(), of: place)
        }
        ending = Ending(closeCode: closeCode)
        if case .pausing = disk { disk = .idle }  // it is stale: the next dial begins with a reload
        finishEnding(at: now, jitter: jitter)
        return take()
    }

    /// Continues once nothing of the connection is on its way to the disk.
    mutating func finishEnding(at now: Duration, jitter: Double) {
        guard let ending, isSettled else { return }
        self.ending = nil
        let isForgiven = judgeToken(connection.disposition(closeCode: ending.closeCode))
        let steps = connection.ended(
            closeCode: ending.closeCode, isForgiven: isForgiven, at: now, jitter: jitter)
        if let fatal { return emit(.stop(fatal)) }
        perform(steps, at: now)
    }

    // MARK: Effects

    /// Sends the collected requests.
    mutating func flush() {
        if wantsReconnect {
            wantsReconnect = false
            // It closes, and that takes no time.
            perform(connection.reconnectRequested(), at: .zero)
        }
        guard !asks.isEmpty else { return }
        emit(.send(SubscribeFrames.encoded(asks)))
        asks = []
    }

    mutating func schedule(_ timer: Timer, at moment: Duration) {
        timers.set(timer, at: moment)
        if let alarm, alarm <= moment { return }
        wake(at: moment)
    }

    private mutating func wake(at moment: Duration?) {
        alarm = moment
        emit(.wake(at: moment))
    }

    mutating func emit(_ action: Action) { actions.append(action) }

    mutating func take() -> [Action] {
        defer { actions = [] }
        return actions
    }
}
