import GRDB
public import RepriseCore
public import RepriseJournal
import RepriseWire
import Synchronization

/// The channels feature: one connection to one server, and all its traffic.
///
/// `RepriseClient` makes one for each account.
public final class Channels: AppLifeFollower, Sendable {
    /// The kinds of entries that this feature records, for `Journal.open`.
    public static let kinds = [OutboxMachine.kind, conversationKind]

    let journal: Journal
    let configuration: Configuration
    let readers: Readers
    let presence: Presence
    let presenceWatch: PresenceWatch
    let driver: ChannelsDriver
    private let connection: StateBroadcaster<ConnectionState>
    /// The running task, and whether it was told to end.
    private let running = Mutex<(task: Task<Void, any Error>?, isStopped: Bool)>((nil, false))
    package let follower: ConversationFollower
    private let broadcasters = ChannelStateBroadcasters()

    /// The signed-in user; nil: nobody.
    package var identity: Identity? { configuration.identity }

    /// Whether nobody is signed in, to a server that has users.
    package var isAnonymous: Bool { identity == nil && !configuration.dials }

    /// Makes the feature.
    ///
    /// Nothing is sent before ``run()``.
    ///
    /// - Parameters:
    ///   - journal: opened with ``kinds`` and ``schema``.
    ///   - server: `http://` or `https://` with host and port.
    ///   - dialer: opens connections.
    ///   - configuration: the options.
    public init(
        journal: Journal, server: String, dialer: any SocketDialer,
        configuration: Configuration = Configuration()
    ) {
        self.journal = journal
        self.configuration = configuration
        readers = Readers(journal: journal, configuration: configuration)
        connection = StateBroadcaster(.idle)
        presence = Presence(
            journal: journal, changeNotifier: readers.changeNotifier, configuration: configuration)
        driver = ChannelsDriver(
            store: ChannelStore(journal: journal), server: server, dialer: dialer,
            readers: readers, presence: presence, states: connection,
            configuration: configuration)
        presenceWatch = driver.presenceWatch
        follower = ConversationFollower(
            journal: journal, configuration: configuration, readers: readers, driver: driver,
            states: broadcasters)
    }

    /// A handle on a channel.
    ///
    /// - Parameter name: 1 to 128 characters of `A–Z a–z 0–9 . _ : -`.
    /// - Returns: the handle; nothing is requested yet.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`.
    public func channel(_ name: String) throws -> Channel {
        Channel(name: try ChannelName(name), channels: self)
    }

    /// Connects, reconnects, and delivers messages to readers, until the task is cancelled.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.refused` if the server says that reconnecting is
    ///   useless, `.ownershipLost`, `.closed`; the connection's state is then
    ///   ``ConnectionState/stopped(_:)``. Cancellation is no error.
    public func run() async throws {
        let outbox = driver.outbox
        journal.handleBatches(of: OutboxMachine.kind.name) { batch in outbox.dispatched(batch) }
        let task = running.withLock { running -> Task<Void, any Error>? in
            guard !running.isStopped else { return nil }
            let task = Task { try await runUntilEnded() }
            running.task = task
            return task
        }
        guard let task else { throw Self.closed }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        if running.withLock({ $0.isStopped }), !Task.isCancelled { throw Self.closed }
        do {
            try result.get()
        } catch let error as RepriseError where error.code == .ownershipLost {
            connection.announce(.stopped(Disconnection(error: error)))
            throw error
        } catch is CancellationError {
            // Whoever cancelled this knows.
        }
    }

    private static let closed = RepriseError(.closed, "The journal is closed.")

    private func runUntilEnded() async throws {
        await driver.onWelcome { [weak follower] in follower?.welcomed(directory: $0) }
        try await withThrowingTaskGroup(of: Void.self) {
            [driver, readers, journal, follower] group in
            if configuration.dials {
                group.addTask { try await driver.run() }
            } else {
                driver.expectRun(false)
            }
            if configuration.followsConversations {
                group.addTask { try await follower.run() }
            }
            group.addTask { try await readers.run() }
            group.addTask { try await journal.watchOwnership() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Ends ``run()`` for good, and returns at its end, or after a timeout: the caller may be a
    /// handler.
    package func stop() async {
        let task = running.withLock { running in
            running.isStopped = true
            return running.task
        }
        defer { readers.end() }
        guard let task else { return }
        task.cancel()
        let ended = Signal()
        let waits = [
            Task {
                _ = await task.result
                ended.raise()
            },
            Task {
                try await Task.sleep(for: Self.stopPatience)
                ended.raise()
            },
        ]
        await ended.wait()
        for wait in waits { wait.cancel() }
    }

    /// How long ``stop()`` waits for running handlers.
    static let stopPatience = Duration.seconds(2)

    /// Dials at once, whatever the client waits for: on a person's request, or after a sign-in.
    ///
    /// It continues from ``ConnectionState/stopped(_:)``, if the token was the reason. Without a
    /// network it does nothing; with a connection it only checks that it is alive.
    public func reconnect() async { await driver.reconnect() }

    /// The app is in the background: see ``RepriseCore/AppLife/background(granted:)``.
    public func background(granted: Duration) async {
        await enter(.background(granted: granted))()
    }

    /// The app is in the foreground: the client dials without waiting, and an open connection has
    /// to prove that it is alive.
    public func foreground() async { await enter(.foreground)() }

    /// As ``foreground()`` for the connection, for work that the system has woken the app for.
    package func connectInBackground() async {
        driver.phases.withLock { $0.append(.foreground) }
        await driver.follow()
    }

    /// Takes the app's new phase.
    ///
    /// - Returns: the work that is left for it.
    package func enter(_ phase: AppPhase) -> @Sendable () async -> Void {
        driver.phases.withLock { $0.append(phase) }
        presenceWatch.phaseChanged(isInBackground: phase != .foreground)
        return { [driver, journal] in
            await driver.follow()
            guard phase != .foreground else { return }
            await driver.rests()
            // Acknowledgements of ended deliveries are written before this.
            try? await journal.write { _ in }
        }
    }

    /// Whether ``run()`` is about to be called: until the client dials then, or is known not to,
    /// time in the background is not over early.
    package func expectRun(_ isExpected: Bool) { driver.expectRun(isExpected) }

    /// Whether the app was last reported in the foreground.
    package var isAwake: Bool { get async { await driver.machine.isAwake } }

    /// Whether the app's background time is over: the client does not dial.
    package var isAsleep: Bool {
        get async {
            await driver.follow()
            return await driver.machine.isAsleep
        }
    }

    /// The connection's state: the current one, then each change.
    ///
    /// Buffers the newest 64 values; older ones are dropped.
    public var connectionStates: AsyncStream<ConnectionState> { connection.watch() }
}

/// The requests of a ``Channel``.
extension Channels {
    func subscribe(_ name: ChannelName) async throws {
        follower.subscribed(name)
        try await driver.subscribe(name, states: broadcaster(of: name))
    }

    func unsubscribe(_ name: ChannelName) async {
        follower.unsubscribed(name)
        await driver.unsubscribe(name)
        readers.changeNotifier.tell(.left(name))
    }

    func read(
        _ name: ChannelName, reader: String, options: ReaderOptions, effect: Readers.Effect
    ) async throws {
        try await readers.add(.init(channel: name, name: reader), options: options, effect: effect)
        try await subscribe(name)
    }

    func forget(_ reader: String, in name: ChannelName) async throws {
        try await readers.forget(.init(channel: name, name: reader))
    }

    func state(of name: ChannelName) -> ChannelState { broadcaster(of: name).value }

    func states(of name: ChannelName) -> AsyncStream<ChannelState> { broadcaster(of: name).watch() }

    func caughtUp(_ name: ChannelName) async throws {
        // The states of a channel go on when the journal is closed.
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.waitUntilCaughtUp(name) }
            group.addTask { [journal] in try await journal.ended() }
            defer { group.cancelAll() }
            try await group.next()
        }
        try Task.checkCancellation()
    }

    private func waitUntilCaughtUp(_ name: ChannelName) async throws {
        for await state in states(of: name) {
            if case .refused(let code, let message) = state {
                throw RepriseError(.refused, "The server refuses \(name) (\(code)): \(message)")
            }
            if state == .live { break }
        }
        for line in readers.lines(of: name) {
            let newest = try await line.store.newest()
            for await through in line.through.watch() where through >= newest { break }
        }
    }

    func failures(of reader: String, in name: ChannelName, limit: Int) async throws
        -> [FailedMessage]
    {
        try await store(of: name, reader).failures(limit: limit)
    }

    func retry(_ id: EntryID, reader: String, in name: ChannelName) async throws {
        try await store(of: name, reader).restate(id, as: .waiting)
        readers.signal(.init(channel: name, name: reader))
    }

    func discard(_ id: EntryID, reader: String, in name: ChannelName) async throws {
        try await store(of: name, reader).restate(id, as: .dead)
        readers.signal(.init(channel: name, name: reader))
    }

    private func store(of name: ChannelName, _ reader: String) -> ReaderStore {
        readers.store(.init(channel: name, name: reader))
    }

    private func broadcaster(of name: ChannelName) -> StateBroadcaster<ChannelState> {
        broadcasters[name]
    }
}
