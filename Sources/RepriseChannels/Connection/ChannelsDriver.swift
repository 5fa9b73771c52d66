import DequeModule
import Logging
import RepriseCore
import RepriseJournal
import RepriseWire
import Synchronization

/// Performs the decisions of ``ChannelsMachine``: one connection, and all its channels.
actor ChannelsDriver {
    /// The loop's next step.
    private enum Step {
        case dial
        case stop(any Error)
    }

    let outbox: OutboxDriver
    private let store: ChannelStore
    private let server: String
    private let dialer: any SocketDialer
    private let readers: Readers
    let presence: Presence
    let presenceWatch: PresenceWatch
    private let connectionStates: StateBroadcaster<ConnectionState>
    let configuration: Channels.Configuration
    /// Phases of the app that the machine has not taken yet, in order.
    nonisolated let phases = Mutex<Deque<AppPhase>>([])
    /// ``run()`` is on its way: that nothing is open yet is no rest.
    private nonisolated let isRunExpected = Mutex(false)

    private(set) var machine: ChannelsMachine
    private var states: [ChannelName: StateBroadcaster<ChannelState>] = [:]
    /// Set while a connection is up.
    private var socket: (any Socket)?
    private var frameSender: FrameSender?
    private var step: Step?
    private var catchUps = CatchUpSignposts()
    /// The task was cancelled: the end of its connection is no failure then.
    private var isEnding = false
    private let alarm: Alarm
    /// The current dial.
    private var dialling: Task<any Socket, any Error>?
    /// The pending request to the app.
    private var asking: Task<Void, Never>?
    private var pendingSubscriptions = PendingSubscriptions()
    /// Channels whose logs could not be read, each told once.
    private var unreadable: Set<ChannelName> = []
    private var snapshotHandlers: [ChannelName: Channel.SnapshotHandler] = [:]
    private var snapshotTasks: [ChannelName: Task<Void, Never>] = [:]
    /// Called after each welcome, with the channel that tells the user's conversations.
    private var welcomed: (@Sendable (ChannelName?) -> Void)?
    /// Notified when the machine or the next step has changed.
    private nonisolated let changes = ConditionVariable()

    init(
        store: ChannelStore, server: String, dialer: any SocketDialer, readers: Readers,
        presence: Presence, states: StateBroadcaster<ConnectionState>,
        configuration: Channels.Configuration
    ) {
        self.store = store
        self.server = server
        self.dialer = dialer
        self.readers = readers
        self.presence = presence
        self.configuration = configuration
        presenceWatch = PresenceWatch(isInBackground: configuration.reportsPhases)
        alarm = Alarm(configuration.timekeeper)
        outbox = OutboxDriver(changeNotifier: readers.changeNotifier, configuration: configuration)
        connectionStates = states
        machine = ChannelsMachine(settings: configuration.machine)
    }

    /// The server's time, and when it was received.
    private(set) var serverClock: (time: WallTime, at: Duration)?
    var now: Duration { configuration.timekeeper.uptime() }
    private var jitter: Double { configuration.jitter() }

    // MARK: The loop

    /// Connects, and reconnects, until the task is cancelled.
    ///
    /// - Throws: an error that makes a retry useless.
    func run() async throws {
        defer { expectRun(false) }
        let device = try await device()
        isEnding = false
        var hasGivenUp = false
        defer {
            asking?.cancel()
            for channel in snapshotTasks.keys { stopLoadingSnapshot(of: channel) }
            isEnding = false
            for action in machine.stopped() {
                // The reason for giving up stays visible.
                if hasGivenUp, case .announce(.idle) = action { continue }
                announce(action)
            }
            changes.notifyAll()  // It is at rest now.
        }
        let network = Task { await watchNetwork() }
        defer { network.cancel() }
        step = nil  // of a former run
        await perform(machine.started(as: device, at: now))
        expectRun(false)
        while !Task.isCancelled {
            await changes.wait(isCancellable: true) { step != nil }
            let next = step
            step = nil
            switch next {
            case .dial where !Task.isCancelled: await converse()
            case .stop(let error):
                if case .stopped = connectionStates.value { hasGivenUp = true }
                throw error
            case .dial, nil: break
            }
        }
    }

    /// This device's id; read again while the disk fails.
    private func device() async throws -> EntryID {
        var failures = 0
        while true {
            do {
                return try await store.device()
            } catch {
                failures += 1
                guard
                    let wait = ReaderRetryPolicy.wait(
                        after: error, failures: failures, jitter: jitter)
                else { throw error }
                if failures == 1 {
                    configuration.logger.tell(
                        .error, "The journal cannot be read, and is tried again.",
                        ["error": "\(error)"])
                }
                try await configuration.timekeeper.sleep(for: wait)
            }
        }
    }

    private func watchNetwork() async {
        guard let network = configuration.network else { return }
        // A platform reports the current path at once, which is no change while a network is
        // available.
        var known = NetworkPath(isUsable: true, interface: nil)
        for await path in network.paths {
            let isNews = path.isUsable != known.isUsable || known.interface != nil && path != known
            known = path
            guard isNews else { continue }
            await perform(machine.networkChanged(isUsable: path.isUsable, at: now))
        }
    }

    private var url: String {
        (server.hasSuffix("/") ? server.dropLast() : server[...]) + WireHandshake.path
    }

    /// Dials, and runs until the connection has ended and none of its data is on its way to the
    /// disk.
    private func converse() async {
        let socket: any Socket
        do {
            // A new owner of the journal has this device's id, and each would end the other's
            // connection.
            try await store.journal.checkOwnership()
            socket = try await dial()
        } catch let error as RepriseError where error.code == .ownershipLost {
            return proceed(.stop(error))
        } catch {
            isEnding = Task.isCancelled
            return await perform(machine.dialFailed(error, at: now, jitter: jitter))
        }
        self.socket = socket
        machine.isUnused = presenceWatch.dialed()
        await perform(machine.dialSucceeded(at: now))
        let failure = await withTaskCancellationHandler {
            await receive(from: socket)
        } onCancel: {
            Task { await socket.close(code: CloseCode.normal.number) }
        }
        isEnding = Task.isCancelled
        await socket.close(code: CloseCode.normal.number)
        self.socket = nil
        let code = await socket.closeCode.map { CloseCode($0) }
        await perform(
            machine.disconnected(closeCode: code, error: failure, at: now, jitter: jitter))
        await changes.wait { machine.isSettled }
    }

    private func dial() async throws -> any Socket {
        let task = Task { [dialer, url] in
            try await dialer.dial(
                url: url, protocol: WireHandshake.subprotocol,
                maximumFrameBytes: WireLimits.frameBytes)
        }
        dialling = task
        defer { dialling = nil }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Reads until the connection ends; returns the error, if it did not end normally.
    private func receive(from socket: any Socket) async -> (any Error)? {
        let limit = configuration.framesPerCommit
        do {
            while let frames = try await socket.receive() {
                for start in stride(from: 0, to: frames.count, by: limit) {
                    await changes.wait(isCancellable: true) { machine.mayRead || machine.isFatal }
                    guard machine.mayRead, !machine.isFatal else { return nil }
                    let end = min(start + limit, frames.count)
                    await perform(
                        machine.framesReceived(frames[start..<end], at: now, jitter: jitter))
                }
            }
            return nil
        } catch {
            return error
        }
    }

    func onWelcome(_ body: @escaping @Sendable (ChannelName?) -> Void) { welcomed = body }

    // MARK: Subscriptions

    func isSubscribed(_ channel: ChannelName) -> Bool { machine.isSubscribed(channel) }

    func notSubscribed(of channels: Set<ChannelName>) -> Set<ChannelName> {
        channels.filter { !machine.isSubscribed($0) }
    }

    func unsubscribe(_ channel: ChannelName) async {
        stopLoadingSnapshot(of: channel)
        presence.left(channel)
        await perform(machine.unsubscribed(channel))
    }

    /// Concurrent callers are answered together by the next read of the journal, and requested in
    /// one frame.
    func subscribe(_ channel: ChannelName, states: StateBroadcaster<ChannelState>) async throws {
        guard !machine.isSubscribed(channel) else {
            return await perform(machine.subscribedAgain(channel, at: now))
        }
        try await withCheckedThrowingContinuation { answer in
            let mustRead = pendingSubscriptions.add(
                .init(channel: channel, states: states, answer: answer))
            if mustRead { Task { await readPendingSubscriptions() } }
        }
    }

    private func readPendingSubscriptions() async {
        while pendingSubscriptions.mustRead() {
            await changes.wait {
                pendingSubscriptions.channels.allSatisfy { machine.mayLoad($0) }
            }
            let requests = pendingSubscriptions.take()
            do {
                let stored = try await logs(of: requests.map(\.channel))
                for request in requests { states[request.channel] = request.states }
                await perform(
                    machine.subscribed(
                        requests.map { ($0.channel, stored[$0.channel] ?? nil) }, at: now))
                for request in requests { request.answer.resume() }
            } catch {
                for request in requests { request.answer.resume(throwing: error) }
            }
        }
    }

    func appeared(_ channel: ChannelName) async {
        await perform(machine.appeared(channel, at: now))
    }

    func disappeared(_ channel: ChannelName) { machine.disappeared(channel) }

    // MARK: Snapshots

    func takeSnapshots(_ channel: ChannelName, with handler: @escaping Channel.SnapshotHandler)
        async
    {
        snapshotHandlers[channel] = handler
        await perform(machine.snapshotsWanted(channel))
    }

    /// Calls the app's loader until it succeeds; then the subscription continues.
    private func load(_ snapshot: SubscriptionMachine.Snapshot, of channel: ChannelName) {
        guard let handler = snapshotHandlers[channel],
            let epoch = machine.machine(of: channel)?.epoch
        else { return }
        stopLoadingSnapshot(of: channel)
        let configuration = configuration
        snapshotTasks[channel] = Task {
            var failures = 0
            while !Task.isCancelled {
                do {
                    try await handler(
                        SnapshotRequest(
                            channel: channel, epoch: epoch, position: snapshot.position,
                            lost: snapshot.lost, reason: snapshot.reason, attempt: failures + 1))
                    return await taken(snapshot, of: channel)
                } catch {
                    failures += 1
                    await perform(machine.snapshotFailed(error, of: channel))
                    let wait = configuration.snapshotAgain.delay(
                        failures: failures, jitter: configuration.jitter())
                    try? await configuration.timekeeper.sleep(for: wait)
                }
            }
        }
    }

    private func taken(_ snapshot: SubscriptionMachine.Snapshot, of channel: ChannelName) async {
        await changes.wait(isCancellable: true) { machine.mayRead || machine.isFatal }
        guard machine.mayRead, !Task.isCancelled else { return }
        snapshotTasks[channel] = nil
        await perform(machine.snapshotTaken(snapshot, of: channel, at: now))
    }

    /// An unfinished snapshot is in the journal, and requested again.
    private func stopLoadingSnapshot(of channel: ChannelName) {
        snapshotTasks.removeValue(forKey: channel)?.cancel()
    }

    // MARK: Diagnostics

    func diagnostics(of channel: ChannelName) -> ChannelDiagnostics? {
        machine.diagnostics(of: channel, at: now)
    }

    func channelDiagnostics() -> [ChannelName: ChannelDiagnostics] {
        let now = now
        return Dictionary(
            uniqueKeysWithValues: machine.channelNames.compactMap { name in
                machine.diagnostics(of: name, at: now).map { (name, $0) }
            })
    }

    func diagnostics() -> ConnectionDiagnostics {
        machine.diagnostics(
            state: connectionStates.value, at: now, wall: configuration.timekeeper.wall())
    }

    // MARK: Effects

    private func perform(_ actions: [ChannelsMachine.Action]) async {
        changes.notifyAll()
        for action in actions {
            switch action {
            case .dial: proceed(.dial)
            case .abandonDial: dialling?.cancel()
            case .askToken(let number, let reason): askToken(number, reason)
            case .abandonToken: asking?.cancel()
            case .probe(let number): probe(number)
            case .stop(let error): proceed(.stop(error))
            case .send(let frames): await send(frames)
            case .close(let code): await socket?.close(code: code.number)
            case .commit(let batch, let positions): Task { await write(batch, at: positions) }
            case .reload(let channels): Task { await reload(channels) }
            case .wake(let moment): setAlarm(at: moment)
            case .announce, .enter: announce(action)
            case .openSession(let time, let user, let directory, let hasPresence):
                await openSession(serverTime: time, user: user, hasPresence: hasPresence)
                welcomed?(directory)
            case .closeSession:
                frameSender = nil
                await store.journal.setNotReady(.session)
                outbox.disconnected()
                presence.disconnected()
                presenceWatch.disconnected()
            case .heard(.presence(let told)): presenceWatch.heard(told)
            case .heard(let frame): presence.heard(frame)
            case .published(let published, let isSubscribed):
                outbox.published(published, isSubscribed: isSubscribed)
            case .refused(let refused): outbox.refused(refused)
            case .requestSnapshot(let channel, let snapshot): load(snapshot, of: channel)
            case .signalReaders(let channels): for channel in channels { readers.signal(channel) }
            }
        }
    }

    private func announce(_ action: ChannelsMachine.Action) {
        switch action {
        case .announce(let state):
            if !isEnding, connectionStates.announce(state) {
                configuration.logger.tell(
                    .info, "The connection is in another state.", ["state": "\(state)"])
            }
        case .enter(let channel, let state):
            catchUps.entered(state, of: channel)
            let last = states[channel]?.value
            if let last, states[channel]?.announce(state) == true {
                // Progress is a decision, another kind of state a fact.
                configuration.logger.tell(
                    last.isSameKind(as: state) ? .debug : .info,
                    "A channel is in another state.",
                    ["channel": channel.text, "state": "\(state)"])
            }
            readers.changeNotifier.tell(.changed(channel))
        default: break
        }
    }

    private func proceed(_ next: Step) {
        step = next
        changes.notifyAll()
    }

    /// A failed send needs no handling: the connection has ended, and `receive` reports it.
    private func send(_ frames: [[UInt8]]) async { try? await socket?.send(frames) }

    private func write(_ batch: StagedBatch, at positions: [ChannelName: LogPosition]) async {
        let moved: [ChannelName: LogPosition]
        do {
            moved = try await store.write(batch, at: positions)
        } catch {
            return await perform(machine.commitFailed(error, at: now, jitter: jitter))
        }
        if configuration.logger.logLevel <= .debug { tell(batch) }
        for segment in batch.segments {
            presence.delivered(
                segment.channel, through: segment.coverage.watermark, of: segment.of)
        }
        await perform(machine.committed(moved, at: now, jitter: jitter))
    }

    /// A line for each message that is durable now.
    private func tell(_ batch: StagedBatch) {
        for segment in batch.segments {
            let state = states[segment.channel]?.value
            for event in segment.events {
                configuration.logger.tell(
                    .debug, "A message is received.",
                    [
                        "message": event.id.text, "channel": event.channel.text,
                        "seq": "\(event.seq)", "state": state.map { "\($0)" },
                    ])
            }
        }
    }

    private func logs(of channels: [ChannelName]) async throws
        -> [ChannelName: ChannelStore.Stored?]
    {
        let found = try await store.stored(channels)
        for (channel, log) in found where log.map({ $0.epoch == nil }) ?? false {
            guard unreadable.insert(channel).inserted else { continue }
            configuration.logger.tell(
                .error, "What is stored of a channel cannot be read: it is requested anew.",
                ["channel": channel.text])
        }
        return found
    }

    private func reload(_ channels: [ChannelName]) async {
        let found: [ChannelName: ChannelStore.Stored?]
        do {
            found = try await logs(of: channels)
        } catch {
            return await perform(machine.reloadFailed(error, at: now, jitter: jitter))
        }
        await perform(machine.reloaded(found, at: now, jitter: jitter))
    }

    private func openSession(serverTime: WallTime, user: UserID?, hasPresence: Bool) async {
        serverClock = (serverTime, now)
        if let socket {
            let frameSender = FrameSender(socket)
            self.frameSender = frameSender
            outbox.connected(by: frameSender, serverTime: serverTime)
            presence.connected(by: frameSender, as: user)
            presenceWatch.connected(by: frameSender, isOffered: hasPresence)
        }
        await store.journal.serverTimeReceived(serverTime)
        await store.journal.setReady(.session)
    }

    private func setAlarm(at moment: Duration?) {
        alarm.set(moment) { [weak self] in await self?.timerFired() }
    }

    private func askToken(_ number: Int, _ reason: TokenRequest.Reason) {
        guard let identity = configuration.identity else { return }
        asking = Task {
            do {
                let token = try await identity.tokens(.init(user: identity.user, reason: reason))
                await perform(
                    machine.tokenReceived(token, for: number, at: now, jitter: jitter))
            } catch {
                await perform(machine.tokenFailed(error, for: number, at: now, jitter: jitter))
            }
        }
    }

    private func probe(_ number: Int) {
        guard let socket else { return }
        Task {
            do {
                try await socket.ping()
                await perform(machine.probeAnswered(number, at: now))
            } catch {
                await perform(machine.probeFailed(number, at: now))
            }
        }
    }

    private func timerFired() async {
        alarm.cancel()
        await perform(machine.woke(at: now, jitter: jitter))
    }

    // MARK: The app's life

    func reconnect() async { await perform(machine.dialRequested(at: now)) }

    /// Passes the app's phases to the machine in their order, whichever caller is first.
    func follow() async {
        while let phase = phases.withLock({ $0.popFirst() }) {
            let moment = now
            switch phase {
            case .foreground: await perform(machine.foregrounded(at: moment))
            case .background(let granted):
                let end = moment + max(granted - configuration.backgroundMargin, .zero)
                await perform(machine.backgrounded(until: end, at: moment))
            }
        }
    }

    /// Returns once everything is closed and durable, or the app is in the foreground again.
    func rests() async {
        await changes.wait {
            if isRunExpected.withLock(\.self), !machine.isAsleep { return machine.isAwake }
            return machine.isAtRest || machine.isAwake
        }
    }

    /// Whether ``run()`` is about to begin.
    nonisolated func expectRun(_ isExpected: Bool) {
        let isNews = isRunExpected.withLock { expected in
            defer { expected = isExpected }
            return expected && !isExpected
        }
        if isNews { changes.notifyAll() }
    }
}
