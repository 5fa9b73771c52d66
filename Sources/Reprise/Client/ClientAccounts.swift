import Logging
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseWire
import Synchronization

/// A client's accounts: opened by whatever needs them first, and told what the app wants of every
/// account.
actor ClientAccounts {
    private struct Life {
        var accounts: DeviceAccounts?
        var phase: AppPhase?
        /// How many phases there were, and when the time in the background of the last one ends.
        var phases = 0
        var end: Duration = .zero
        var sources: [UserID: TokenProvider] = [:]
        /// The client's `run()` is under way: it will run each account that opens.
        var isRunning = false
    }

    nonisolated let states = StateBroadcaster<ClientState>(.idle)
    /// What streams over every account follow.
    nonisolated let active = StateBroadcaster<ActiveAccount>(.none)
    nonisolated let registrations = Registrations()

    private let configuration: RepriseConfiguration
    private let early: EarlyRecords
    private nonisolated let fault: RepriseError?
    private nonisolated let life = Mutex(Life())
    /// Raised where another try to open may succeed.
    private nonisolated let retry = Signal()
    private var opening: Task<DeviceAccounts, any Error>?
    private var reopening: Task<Void, any Error>?
    private var draining: Task<Void, Never>?
    private var isClosed = false

    init(_ configuration: RepriseConfiguration, early: EarlyRecords) {
        self.configuration = configuration
        self.early = early
        do {
            try configuration.check()
            fault = nil
        } catch {
            let error = error as? RepriseError ?? RepriseError(.internal, "\(error)")
            fault = error
            states.announce(.failed(error))
            configuration.logger.error("The client cannot work.", metadata: ["error": "\(error)"])
        }
    }

    // MARK: Opening

    /// The client of the current account, if one is open.
    nonisolated var current: AccountClient? { life.withLock { $0.accounts }?.active }

    /// Opens them, without waiting, and records what has come early.
    nonisolated func open() { Task { try await opened() } }

    /// Opens them, or waits for whoever does; if that fails, tries once more.
    ///
    /// - Parameter reopens: whether an account that a failed change has left closed is opened.
    /// - Returns: the accounts, with everything in the journal that had come early.
    /// - Throws: ``RepriseCore/RepriseError`` as `Accounts.open`, `.closed`.
    @discardableResult
    func opened(reopens: Bool = true) async throws -> DeviceAccounts {
        if let fault { throw fault }
        // A try that began before this call may fail for a reason that has gone since.
        if life.withLock({ $0.accounts }) == nil { _ = await opening?.result }
        guard !isClosed else { throw RepriseError(.closed, "The client is closed.") }
        let accounts: DeviceAccounts
        if let open = life.withLock({ $0.accounts }) {
            accounts = open
        } else {
            let task = opening ?? Task { try await begin() }
            opening = task
            accounts = try await task.value
        }
        if reopens, accounts.active == nil { _ = await reopening?.result }
        if reopens, accounts.active == nil {
            let task = reopening ?? Task { try await reopen(accounts) }
            reopening = task
            try await task.value
        }
        await drain()
        return accounts
    }

    private func reopen(_ accounts: DeviceAccounts) async throws {
        defer { reopening = nil }
        do {
            if try await accounts.reopen() { await tell(accounts) }
        } catch {
            throw cannotOpen(error)
        }
    }

    /// The client of the current account, with everything in it that had come early.
    ///
    /// - Returns: nil if that takes longer than `limit`, or is not possible now; it goes on.
    func opened(within limit: Duration) async throws -> AccountClient? {
        let race = Race<AccountClient?>()
        Task {
            do { race.end(.success(try await opened().active)) } catch { race.end(.failure(error)) }
        }
        let timer = Task { [clock] in
            try await clock.sleep(for: limit)
            race.end(.success(nil))
        }
        defer { timer.cancel() }
        do {
            return try await race.value()
        } catch let error as RepriseError where !error.isPermanent {
            return nil
        }
    }

    private func begin() async throws -> DeviceAccounts {
        defer { opening = nil }
        // One that waits and is tried again goes on waiting, for whoever watches.
        if states.value == .idle { states.announce(.opening) }
        do {
            let accounts = try await DeviceAccounts.open(configuration, self)
            guard !isClosed else {
                await accounts.close()
                throw RepriseError(.closed, "The client is closed.")
            }
            let phase = life.withLock { life in
                life.accounts = accounts
                return life.phase == .foreground ? .foreground : life.phase.map { _ in left(life) }
            }
            if let phase {
                let rest = accounts.enter(phase)
                // Time that is left is waited for by who told of it.
                if phase == .foreground || phase == .background(granted: .zero) { await rest() }
            }
            await tell(accounts)
            return accounts
        } catch {
            throw cannotOpen(error)
        }
    }

    private func cannotOpen(_ error: any Error) -> RepriseError {
        let error = error as? RepriseError ?? RepriseError(.internal, "\(error)", cause: error)
        let state = error.isPermanent ? ClientState.failed(error) : .waiting(error)
        if !isClosed, states.value != state {
            states.announce(state)
            configuration.logger.error(
                "The journal cannot be opened.", metadata: ["error": "\(error)"])
        }
        return error
    }

    private func tell(_ accounts: DeviceAccounts) async {
        let user = await accounts.user
        guard !isClosed else { return }
        states.announce(.open(user))
        configuration.logger.info(
            "The journal is open.", metadata: ["user": "\(user?.text ?? "nobody")"])
    }

    /// Tries until they are open.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` that another try does not mend; `CancellationError`.
    func keepOpening() async throws {
        var failures = 0
        while true {
            try Task.checkCancellation()
            do {
                try await opened()
                return
            } catch let error as RepriseError where !error.isPermanent {
                failures += 1
                let wait = ClientLimits.reopen.delay(
                    failures: failures, jitter: .random(in: 0.5..<1))
                let timer = Task { [retry] in
                    try await Task.sleep(for: wait)
                    retry.raise()
                }
                await retry.wait()
                timer.cancel()
            }
        }
    }

    /// Records what came before the journal was open; one pass at a time.
    private func drain() async {
        while let draining { await draining.value }
        guard let client = current else { return }
        let logger = configuration.logger
        let task = Task {
            defer { draining = nil }
            do {
                guard let report = try await early.drain(into: client), report != SpoolReport()
                else { return }
                logger.info(
                    "Entries from before the journal was open are recorded.",
                    metadata: ["records": "\(report.accepted)"])
                for file in report.rejected {
                    logger.error(
                        "An entry from before the journal was open cannot be read; its file was moved aside.",
                        metadata: ["reason": "\(file.reason)"])
                }
            } catch {
                logger.error(
                    "Entries from before the journal was open cannot be recorded yet; they are tried again.",
                    metadata: ["error": "\(error)"])
            }
        }
        draining = task
        await task.value
    }

    func close() async {
        isClosed = true
        retry.raise()
        _ = await opening?.result
        let accounts = life.withLock { life in
            defer { life.accounts = nil }
            return life.accounts
        }
        await accounts?.close()
        states.announce(.closed)
        active.announce(.closed)
    }

    // MARK: Running

    /// Runs the accounts, once they are open.
    ///
    /// - Throws: as ``keepOpening()`` and ``DeviceAccounts/run()``.
    func run() async throws {
        expectRun(true)
        defer { expectRun(false) }
        try await keepOpening()
        let mending = Task { await keepReopening() }
        defer { mending.cancel() }
        try await opened().run()
    }

    /// Tries again whenever a failed change has left no account open.
    private func keepReopening() async {
        for await state in states.watch() {
            if case .waiting = state { try? await keepOpening() }
        }
    }

    private nonisolated func expectRun(_ isExpected: Bool) {
        let accounts = life.withLock { life in
            life.isRunning = isExpected
            return life.accounts
        }
        accounts?.active?.channels.expectRun(isExpected)
    }

    /// An account becomes the current one.
    nonisolated func began(_ account: AccountClient) {
        life.withLock { if $0.isRunning { account.channels.expectRun(true) } }
        active.announce(.account(account))
    }

    // MARK: Accounts

    func signIn(_ user: UserID, tokens: TokenProvider?) async throws {
        try await change { accounts in
            if let tokens { life.withLock { $0.sources[user] = tokens } }
            try await accounts.signIn(as: user)
        }
    }

    func signOut() async throws -> LedgerSum {
        try await change { accounts in try await accounts.signOut() }
    }

    private func change<T: Sendable>(
        _ body: (DeviceAccounts) async throws -> T
    ) async throws -> T {
        let accounts = try await opened(reopens: false)
        let former = accounts.active
        defer { open() }
        do {
            let result = try await body(accounts)
            await tell(accounts)
            return result
        } catch {
            await tell(accounts, after: error, former: former)
            throw error
        }
    }

    /// A change has failed: the former account may be open, a new opening of it, or none.
    private func tell(
        _ accounts: DeviceAccounts, after error: any Error, former: AccountClient?
    ) async {
        let current = accounts.active
        guard !isClosed, current == nil || current !== former else { return }
        // What follows the states begins anew with another opening, also of the same user.
        states.announce(.opening)
        if current != nil {
            await tell(accounts)
        } else if !(error is CancellationError) {
            _ = cannotOpen(error)
        }
    }

    nonisolated func token(_ request: TokenRequest) async throws -> AccessToken {
        let source = life.withLock { $0.sources[request.user] } ?? configuration.tokens
        guard let source else {
            throw RepriseError(
                .unauthorized, "Nobody returns tokens for the signed-in user.",
                remedy: "Call signIn(_:token:) at each launch, or set configuration.tokens.")
        }
        return try await source(request)
    }

    // MARK: The app's life

    nonisolated func enter(_ phase: AppPhase) -> @Sendable () async -> Void {
        if phase == .foreground { retry.raise() }
        let now = clock.uptime()
        let (accounts, number) = life.withLock { life in
            life.phase = phase
            life.phases += 1
            if case .background(let granted) = phase { life.end = now + granted }
            return (life.accounts, life.phases)
        }
        if let accounts { return accounts.enter(phase) }
        if phase == .foreground { return {} }
        return { [self] in await spend(phase: number) }
    }

    nonisolated var clock: any Timekeeper { configuration.clock ?? SystemTimekeeper() }

    /// What is left of the last phase in the background.
    private nonisolated func left(_ life: Life) -> AppPhase {
        .background(granted: max(life.end - clock.uptime(), .zero))
    }

    /// Gives accounts that are being opened what is left of the time then.
    private func spend(phase number: Int) async {
        guard opening != nil, case .background(let granted) = life.withLock({ left($0) }) else {
            return
        }
        _ = try? await opened(within: granted)
        let rest = life.withLock { life in
            life.phases == number ? life.accounts?.enter(left(life)) : nil
        }
        await rest?()
    }
}

extension DeviceAccounts {
    /// The accounts of a client.
    fileprivate static func open(
        _ configuration: RepriseConfiguration, _ client: ClientAccounts
    ) async throws -> DeviceAccounts {
        guard let dialer = configuration.dialer else {
            throw RepriseError(.internal, "The configuration was not checked.")
        }
        return try await open(
            at: configuration.home, server: configuration.server, dialer: dialer,
            configuration: configuration.account,
            dialsAnonymously: configuration.connectsAnonymously,
            tokens: { [weak client] request in
                guard let client else { throw RepriseError(.closed, "The client is gone.") }
                return try await client.token(request)
            },
            features: AccountRunner(configuration: configuration).run,
            prepare: { [weak client, registrations = client.registrations] account in
                try await registrations.prepare(account)
                client?.began(account)
            })
    }
}

/// The account that an app's streams follow, by identity: one that is opened again is another.
enum ActiveAccount: Equatable, Sendable {
    case none
    case account(AccountClient)
    case closed

    static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.none, .none), (.closed, .closed): true
        case (.account(let left), .account(let right)): left === right
        case (.none, _), (.account, _), (.closed, _): false
        }
    }
}

/// What the app asks for of every account: readers, subscriptions, readiness.
actor Registrations {
    typealias Registration = @Sendable (AccountClient) async throws -> Void

    private var all: [(name: String, number: Int, apply: Registration)] = []
    private var count = 0
    private var readiness: [Readiness: Bool] = [:]
    /// The newest account.
    private var client: AccountClient?

    /// Applies a registration to the current account, and to each later one.
    ///
    /// - Parameters:
    ///   - name: tells it from others.
    ///   - replaces: the last of that name counts.
    ///   - apply: registers it with an account.
    /// - Throws: ``RepriseCore/RepriseError`` `.duplicateReader` for a name that is taken, unless
    ///   it `replaces`, and its own error: then it is forgotten.
    func add(
        _ name: String, replaces: Bool = false, _ apply: @escaping Registration
    ) async throws {
        if replaces { remove(name) }
        guard !all.contains(where: { $0.name == name }) else {
            throw RepriseError(
                .duplicateReader, "\(name.prefix(200)) is registered already.",
                remedy: "Give each reader of a channel a name of its own.")
        }
        count += 1
        let number = count
        all.append((name, number, apply))
        var applied: AccountClient?
        while let client, client !== applied {
            applied = client
            do {
                try await apply(client)
            } catch let error as RepriseError where error.code == .closed {
                // The account has ended meanwhile: the next one gets it.
                continue
            } catch {
                all.removeAll { $0.number == number }
                throw error
            }
        }
    }

    func remove(_ name: String) { all.removeAll { $0.name == name } }

    /// Sets or clears a condition, in this account and every later one.
    func set(_ condition: Readiness, _ isReady: Bool) async {
        readiness[condition] = isReady
        if let client { await apply(condition, to: client) }
    }

    /// The last call counts, in whatever order their effects are awaited.
    private func apply(_ condition: Readiness, to client: AccountClient) async {
        var applied: Bool?
        while let isReady = readiness[condition], isReady != applied {
            applied = isReady
            if isReady {
                await client.setReady(condition)
            } else {
                await client.setNotReady(condition)
            }
        }
    }

    /// Applies all of them to an account that begins.
    func prepare(_ client: AccountClient) async throws {
        let registered = all
        self.client = client
        for registration in registered { try await registration.apply(client) }
        for condition in readiness.keys { await apply(condition, to: client) }
    }
}
