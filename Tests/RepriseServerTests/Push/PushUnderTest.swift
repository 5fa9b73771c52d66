import Logging
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// A dispatcher over a real log and real accounts, in manual time.
final class PushUnderTest {
    let folder: TemporaryFolder
    let clock = ManualClock()
    private(set) var provider: RecordingProvider
    /// The gateways that have log and accounts, of which the first pushes; nil for a single server.
    private let store: (any GatewaysUnderTest)?
    private(set) var log: any MessageLog
    private(set) var accounts: Accounts
    private(set) var dispatcher: PushDispatcher
    let metrics = ServerMetrics()
    /// Nil where it is not known which devices are connected.
    let connected: Connected?
    private var running: Task<Void, Never>?
    private let logger: Logger

    /// Ids of devices.
    final class Connected: Sendable {
        private let devices: Mutex<Set<String>>

        init(_ devices: Set<String>) { self.devices = Mutex(devices) }

        var all: Set<String> {
            get { devices.withLock { $0 } }
            set { devices.withLock { $0 = newValue } }
        }
    }

    init(
        _ provider: RecordingProvider = RecordingProvider(), connected: Set<String>? = nil,
        logger: Logger = RunningServer.logger
    ) throws {
        self.provider = provider
        self.logger = logger
        self.connected = connected.map { Connected($0) }
        store = nil
        folder = try TemporaryFolder()
        log = try Self.openLog(folder, clock)
        accounts = try Self.openAccounts(folder, clock)
        dispatcher = Self.dispatcher(
            provider, accounts, log, metrics, clock, self.connected, logger)
    }

    init(at place: AccountsPlace, _ provider: RecordingProvider) async throws {
        self.provider = provider
        logger = RunningServer.logger
        connected = nil
        var configuration = ClusterStore.configuration
        configuration.implicitChannels = false
        store = try await place.make?(clock, configuration)
        if let store {
            try await store.reopen()
            folder = store.folder
            log = store.log
            accounts = store.gateways[0].accounts
        } else {
            folder = try TemporaryFolder()
            log = try Self.openLog(folder, clock)
            accounts = try Self.openAccounts(folder, clock)
        }
        dispatcher = Self.dispatcher(provider, accounts, log, metrics, clock, nil, logger)
    }

    private static func openLog(
        _ folder: TemporaryFolder, _ clock: ManualClock, isRestored: Bool = false
    ) throws -> SQLiteMessageLog {
        var configuration = SQLiteMessageLog.Configuration()
        configuration.clock = clock
        configuration.isRestored = isRestored
        return try SQLiteMessageLog.open(at: folder.path, configuration)
    }

    private static func openAccounts(
        _ folder: TemporaryFolder, _ clock: ManualClock
    ) throws -> Accounts {
        try Accounts.open(
            at: folder.path, implicitChannels: false, clock: clock, heads: { _ in 1_000_000 })
    }

    private static func dispatcher(
        _ provider: RecordingProvider, _ accounts: Accounts, _ log: any MessageLog,
        _ metrics: ServerMetrics, _ clock: ManualClock, _ connected: Connected?, _ logger: Logger,
        lease: PushLease? = nil
    ) -> PushDispatcher {
        var check: ConnectedCheck?
        if let connected {
            check = { asked in
                let all = connected.all
                return Set(asked.filter { all.contains($0.device.text) })
            }
        }
        let dispatcher = PushDispatcher(
            provider, queue: accounts.pushQueue, lease: lease,
            unread: UnreadCounts(accounts: accounts, log: log), log: log,
            metrics: metrics, connected: check, clock: clock,
            logger: logger)
        accounts.pushQueue.onQueued(
            PushQueued(
                services: [provider.service],
                told: { _, _ in dispatcher.othersQueued() }))
        return dispatcher
    }

    /// Lets it push; returns once it has begun, so that what is stored from now on is pushed.
    func start() async throws {
        if let store {
            try await hold(store.gateways[0])
        } else {
            let dispatcher = dispatcher
            running = Task { await dispatcher.run() }
        }
        let service = provider.service
        let accounts = accounts
        try await eventually("it has begun") {
            try await accounts.pushQueue.scans.hasBegun(service)
        }
    }

    /// Pushes as long as it has the cluster's lease.
    private func hold(_ gateway: ClusterStore.Gateway) async throws {
        let (provider, accounts, log, metrics) = (provider, accounts, log, metrics)
        let (clock, logger) = (clock, logger)
        let submit: CommandSubmission = { try await gateway.replica.submit($0) }
        let leases = ClusterLeases(
            submit: submit, seen: { gateway.view.lease($0) }, clock: WallOf(clock))
        let (begun, begin) = AsyncStream<PushDispatcher>.makeStream()
        let push: @Sendable (HeldLease) async -> Void = { lease in
            let dispatcher = Self.dispatcher(
                provider, accounts, log, metrics, clock, nil, logger,
                lease: PushLease(provider.service, lease, submit: submit))
            begin.yield(dispatcher)
            await withTaskCancellationHandler {
                await dispatcher.run()
            } onCancel: {
                Task { await dispatcher.stop() }
            }
        }
        let role = provider.service.role
        running = Task { await leases.hold(role, push) }
        var dispatchers = begun.makeAsyncIterator()
        dispatcher = try #require(await dispatchers.next())
    }

    private func stop() async {
        running?.cancel()
        await dispatcher.stop()
        await running?.value
    }

    /// Ends everything at once, as a kill does: what is under way is not waited for.
    func kill() async {
        await stop()
        await accounts.close()
        await log.close()
    }

    /// A new process on the same folder.
    func reopen(
        _ provider: RecordingProvider = RecordingProvider(), isRestored: Bool = false
    ) throws {
        self.provider = provider
        log = try Self.openLog(folder, clock, isRestored: isRestored)
        accounts = try Self.openAccounts(folder, clock)
        dispatcher = Self.dispatcher(provider, accounts, log, metrics, clock, connected, logger)
    }

    func end() async {
        if let store {
            await stop()
            return await store.remove()
        }
        await kill()
        folder.remove()
    }

    // MARK: People

    func make(
        _ name: String = "room", title: String? = nil, members: [String]
    ) async throws {
        let channel = channel(name)
        try await accounts.setChannel(
            channel, ChannelSettings(visibility: .private, title: title),
            by: Principal(user: nil, isAdmin: true), at: clock.wall(), head: 0)
        for member in members {
            try await accounts.setMember(
                try UserID(member), role: .member, joined: 0, in: channel, at: clock.wall())
        }
    }

    func register(
        _ device: String, of user: String, token: String? = nil
    ) async throws {
        try await accounts.setDevice(
            RegisteredDevice(
                id: try EntryID(device), platform: "ios",
                pushToken: try PushToken(token ?? "aa" + device.utf8.map { "\($0)" }.joined()),
                lastSeen: clock.wall()), of: try UserID(user))
    }

    // MARK: What happens

    @discardableResult
    func publish(
        _ id: String, in name: String = "room", from: String? = nil,
        body: String = #"{"text":"Hello"}"#, change: MessageChange<EntryID>? = nil,
        isNoted: Bool = true
    ) async throws -> Int64 {
        var message = NewMessage(
            channel: channel(name), id: try EntryID(id), change: change,
            from: try from.map { try UserID($0) }, mayChangeOthers: true,
            body: Array(body.utf8))
        // A cluster asks its accounts.
        message.isAdmin = store != nil
        let results = try await log.append([message])
        let events = results.flatMap(\.events)
        if isNoted { dispatcher.committed(events) }
        return events.last?.seq ?? 0
    }

    func move(
        _ user: String, read: Int64? = nil, delivered: Int64? = nil, on device: String? = nil,
        in name: String = "room"
    ) async throws {
        _ = try await accounts.move(
            MovePosition(
                channel: channel(name), user: try UserID(user),
                device: try device.map { try EntryID($0) }, read: read, delivered: delivered))
    }

    /// Lets time pass in small steps, each with a moment of real time for what is due.
    func pass(_ duration: Duration, step: Duration = .milliseconds(500)) async throws {
        var passed = Duration.zero
        while passed < duration {
            clock.advance(by: step)
            passed += step
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Waits, while time passes, until so many pushes have come; gives up once none has come for
    /// a minute.
    func until(
        pushes count: Int, step: Duration = .milliseconds(250), _ what: Comment = "pushes"
    ) async throws {
        var (known, deadline) = (-1, ContinuousClock.now)
        while true {
            let come = provider.pushes.count
            if come >= count { return }
            if come != known { (known, deadline) = (come, ContinuousClock.now + .seconds(60)) }
            guard ContinuousClock.now < deadline else {
                Issue.record("\(what): \(come) of \(count)")
                return
            }
            clock.advance(by: step)
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Waits, while time passes, until no push waits; gives up once none has left for a minute.
    func untilQueueIsEmpty(step: Duration = .milliseconds(250)) async throws {
        var (known, deadline) = (-1, ContinuousClock.now)
        while true {
            let left = try await accounts.pushQueue.count(provider.service)
            if left == 0 { return }
            if left != known { (known, deadline) = (left, ContinuousClock.now + .seconds(60)) }
            guard ContinuousClock.now < deadline else {
                Issue.record("the queue is not empty")
                return
            }
            clock.advance(by: step)
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    func count(_ outcome: String) -> Int {
        let line = metrics.text().split(separator: "\n").first {
            $0.contains("reprise_pushes_total") && $0.contains("outcome=\"\(outcome)\"")
                && $0.contains("service=\"\(provider.service.rawValue)\"")
        }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? 0
    }
}

/// Runs `body` on a dispatcher that has begun.
func withPush(
    _ provider: RecordingProvider = RecordingProvider(), connected: Set<String>? = nil,
    logger: Logger = RunningServer.logger,
    _ body: (PushUnderTest) async throws -> Void
) async throws {
    let push = try PushUnderTest(provider, connected: connected, logger: logger)
    try await push.start()
    let outcome = await Result { try await body(push) }
    await push.end()
    try outcome.get()
}

/// The same, with log and accounts at a place.
func withPush(
    at place: AccountsPlace, _ provider: RecordingProvider = RecordingProvider(),
    _ body: (PushUnderTest) async throws -> Void
) async throws {
    let push = try await PushUnderTest(at: place, provider)
    try await push.start()
    let outcome = await Result { try await body(push) }
    await push.end()
    try outcome.get()
}
