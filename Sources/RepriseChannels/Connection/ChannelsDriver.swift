import RepriseCore
import RepriseJournal
import RepriseWire

/// Performs what the machines decide: one connection, and all the channels on it.
///
/// Frames are decoded and judged here, up to a thousand at a time; what they change is written in one transaction while the
/// next ones are decoded. Memory is ahead of the disk by that one batch only, and comes back to it if it fails.
actor ChannelsDriver {
    enum Timer: Hashable, Sendable {
        case connection
        case channel(ChannelName)
    }

    let store: ChannelStore
    let outbox: Outbox
    let configuration: Channels.Configuration
    let connectionStates: Announcer<ConnectionState>
    let readers: Readers
    private let server: String
    private let dialer: any SocketDialer

    var subscriptions: [ChannelName: Subscription] = [:]
    var positions: [ChannelName: LogPosition] = [:]
    var connection: ConnectionMachine
    /// Set while a connection is up.
    var socket: (any Socket)?
    var timers = Deadlines<Timer>()
    private var alarm: (due: Duration, task: Task<Void, any Error>)?
    /// Channels to ask for with the next frame.
    var asks: [ClientFrame.Subscription] = []
    /// The commit that is under way: at most one.
    var commit: Task<Void, Never>?
    var generation = 0
    /// Memory is not known to agree with the disk.
    var isStale = false
    /// What makes going on useless.
    var fatal: (any Error)?
    /// Commits that failed in a row.
    var failedCommits = 0
    /// Frames that could not be read, or belong to no channel of ours.
    var strays: Int64 = 0

    init(
        store: ChannelStore, server: String, dialer: any SocketDialer, readers: Readers,
        states: Announcer<ConnectionState>, configuration: Channels.Configuration
    ) {
        self.store = store
        self.server = server
        self.dialer = dialer
        self.readers = readers
        self.configuration = configuration
        outbox = Outbox(configuration: configuration)
        connectionStates = states
        connection = ConnectionMachine(settings: .init(reconnect: configuration.reconnect))
    }

    var now: Duration { configuration.timekeeper.uptime() }

    private var url: String {
        (server.hasSuffix("/") ? server.dropLast() : server[...]) + WireHandshake.path
    }

    // MARK: The life of the connection

    /// Connects, and connects again, until the task is cancelled.
    ///
    /// - Throws: what makes going on useless.
    func run() async throws {
        let device = try await store.device()
        connection = ConnectionMachine(settings: .init(reconnect: configuration.reconnect))
        fatal = nil
        for subscription in subscriptions.values {
            subscription.states.announce(subscription.machine.state)
        }
        defer { rested() }
        var steps = connection.started()
        while let step = steps.first, !Task.isCancelled {
            switch step {
            case .dial: steps = await converse(as: device)
            case .wait(let delay): steps = await rest(delay)
            case .stop, .sayHello, .begin, .close, .scheduleTimer: throw stopped()
            }
            if let fatal { throw fatal }
        }
    }

    private func rested() {
        connectionStates.announce(.idle)
        for subscription in subscriptions.values { subscription.states.announce(.closed) }
    }

    private func rest(_ delay: Duration) async -> [ConnectionMachine.Action] {
        connectionStates.announce(.waiting(delay: delay, because: ending))
        do {
            try await configuration.timekeeper.sleep(for: delay)
        } catch {
            return []
        }
        return connection.timerFired(at: now)
    }

    /// Why the last connection ended.
    var ending = Disconnection()

    private func stopped() -> RepriseError {
        connectionStates.announce(.stopped(ending))
        return RepriseError(
            .refused, "The server refuses this client. \(ending)",
            remedy: "Update the app, or check its credentials.", cause: ending.error)
    }

    /// Dials, and talks until the connection has ended.
    ///
    /// - Returns: what to do next.
    private func converse(as device: EntryID) async -> [ConnectionMachine.Action] {
        connectionStates.announce(.connecting)
        let socket: any Socket
        do {
            if isStale { try await reload() }
            socket = try await dialer.dial(
                url: url, protocol: WireHandshake.subprotocol,
                maximumFrameBytes: WireLimits.frameBytes)
        } catch {
            ending = Disconnection(error: Self.described(error))
            return connection.dialFailed(at: now, jitter: configuration.jitter())
        }
        ending = Disconnection()
        self.socket = socket
        await perform(connection.dialSucceeded(at: now), device: device)
        await withTaskCancellationHandler {
            await receive(from: socket)
        } onCancel: {
            Task { await socket.close(code: CloseCode.normal.number) }
        }
        await socket.close(code: CloseCode.normal.number)
        await hangUp()
        let code = await socket.closeCode.map { CloseCode($0) }
        if ending == Disconnection() { ending = Disconnection(closeCode: code) }
        return connection.ended(closeCode: code, at: now, jitter: configuration.jitter())
    }

    /// Nothing of this connection may be left when the next one is made.
    private func hangUp() async {
        socket = nil
        outbox.disconnected()
        await store.journal.close(.session)
        if let commit {
            commit.cancel()  // no more attempts to reload; a write under way is not cut
            await commit.value
        }
        asks = []
        wantsReconnect = false
        timers.cancelAll()
        alarm?.task.cancel()
        alarm = nil
        for subscription in subscriptions.values {
            subscription.drop()
            show(subscription.machine.disconnected(), of: subscription)
        }
    }

    static func described(_ error: any Error) -> RepriseError {
        if let error = error as? RepriseError { return error }
        return RepriseError(.unreachable, "The connection failed.", cause: error)
    }

    // MARK: Effects

    func perform(_ actions: [ConnectionMachine.Action], device: EntryID? = nil) async {
        for action in actions {
            switch action {
            case .sayHello:
                guard let device else { continue }
                let hello = ClientFrame.Hello(device: device, client: configuration.client)
                await send([ClientFrame.hello(hello).encoded()])
            case .begin: break  // `greet` knows what the server said
            case .close(let code):
                if let error = Self.reason(code) { ending = Disconnection(error: error) }
                await socket?.close(code: code.number)
            case .scheduleTimer(let moment): schedule(.connection, at: moment)
            case .dial, .wait, .stop: break  // steps of `run`
            }
        }
    }

    private static func reason(_ code: CloseCode) -> RepriseError? {
        switch code {
        case .unsupportedVersion:
            RepriseError(.refused, "The server speaks another version of the protocol.")
        case .handshakeTimedOut:
            RepriseError(.timedOut, "The server did not welcome us in time.")
        case .idle: RepriseError(.timedOut, "Nothing came from the server for too long.")
        default: nil
        }
    }

    /// The server has welcomed us.
    func begin(_ welcome: ServerFrame.Welcome) async {
        connectionStates.announce(.connected)
        let now = now
        for subscription in subscriptions.values {
            perform(subscription.machine.connected(at: now), of: subscription)
        }
        await flush()
        if let socket { outbox.connected(to: socket, serverTime: welcome.time) }
        await store.journal.serverTimeReceived(welcome.time)
        await store.journal.open(.session)
    }

    func perform(_ actions: [SubscriptionMachine.Action], of subscription: Subscription) {
        for action in actions {
            switch action {
            case .subscribe(let epoch, let coverage):
                asks.removeAll { $0.channel == subscription.channel }
                asks.append(
                    ClientFrame.Subscription(
                        channel: subscription.channel, epoch: epoch, coverage: coverage))
            case .startEpoch(let epoch, let missing):
                subscription.stage { segment in
                    segment.epoch = epoch
                    segment.formerMissing = missing
                }
            case .recordLoss(let ranges, let reason):
                subscription.stage { $0.losses.append(.init(ranges: ranges, reason: reason)) }
            case .scheduleTimer(let moment):
                schedule(.channel(subscription.channel), at: moment)
            case .reconnect: wantsReconnect = true
            case .enter(let state): subscription.states.announce(state)
            }
        }
    }

    /// A subscription has given this connection up.
    var wantsReconnect = false

    private func show(_ actions: [SubscriptionMachine.Action], of subscription: Subscription) {
        for case .enter(let state) in actions { subscription.states.announce(state) }
    }

    /// Sends what has been asked for.
    func flush() async {
        if wantsReconnect {
            wantsReconnect = false
            await perform(connection.reconnectRequested())
        }
        let asks = asks
        self.asks = []
        guard !asks.isEmpty else { return }
        // A coverage of 256 ranges has 9 KB: a hundred of them fit into a frame.
        await send(
            stride(from: 0, to: asks.count, by: 100).map { start in
                ClientFrame.subscribe(Array(asks[start..<min(start + 100, asks.count)])).encoded()
            })
    }

    /// A send that fails needs no care of its own: the connection has ended, and `receive` says so.
    func send(_ frames: [[UInt8]]) async { try? await socket?.send(frames) }

    // MARK: Time

    private func schedule(_ timer: Timer, at moment: Duration) {
        timers.set(timer, at: moment)
        arm()
    }

    private func arm() {
        guard let due = timers.soonest else { return }
        if let alarm, alarm.due <= due { return }
        alarm?.task.cancel()
        let timekeeper = configuration.timekeeper
        alarm = (
            due,
            Task { [weak self] in
                try await timekeeper.sleep(until: due)
                await self?.ring()
            }
        )
    }

    private func ring() async {
        alarm = nil
        let now = now
        for timer in timers.take(at: now) {
            switch timer {
            case .connection: await perform(connection.timerFired(at: now))
            case .channel(let name):
                guard let subscription = subscriptions[name] else { continue }
                perform(subscription.machine.timerFired(at: now), of: subscription)
            }
        }
        await flush()
        arm()
    }
}
