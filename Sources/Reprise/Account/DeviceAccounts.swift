package import Foundation
package import RepriseChannels
package import RepriseCore
import RepriseJournal
package import RepriseWire
import Synchronization

/// The accounts of a device: a journal for each, one of them active, and the changes between them.
///
/// ```swift
/// let home = try await DeviceAccounts.open(
///     at: folder, server: "https://chat.example.org", dialer: dialer,
///     tokens: { request in try AccessToken(await backend.token(for: request.user)) },
///     prepare: { reprise in
///         let general = try reprise.channel("general")
///         try await general.read("inbox") { message in try await show(message) }
///     })
/// Task { try await home.run() }
///
/// try await home.signIn(as: UserID("ada"))      // earlier entries move along
/// let ledger = try await home.signOut()         // unsent entries count as dead
/// ```
///
/// The signed-in user is stored: the next opening continues as that user. Signing in as another
/// user leaves the former account's journal unchanged, closed, with its work; signing out removes
/// it. Before the first sign-in an anonymous journal is active, and each ``RepriseCore/EntryKind``
/// says whether its entries move into the account (`.adopt`) or end (`.expire`).
///
/// A change waits for running handlers. So a handler that signs a user in or out starts a task for
/// it, and does not wait.
package actor DeviceAccounts {
    /// Prepares a client before it starts: readers, handlers, readiness.
    ///
    /// It is called for every account that becomes active.
    package typealias Prepare = @Sendable (AccountClient) async throws -> Void

    private let journals: AccountJournals
    private var folders: AccountFolders { journals.folders }
    private let server: String
    private let dialer: any SocketDialer
    private let configuration: AccountClient.Configuration
    private let tokens: TokenProvider
    private let prepare: Prepare
    private let dialsAnonymously: Bool
    /// Runs beside each client's connection.
    private let features: Prepare
    private var featuring: (client: AccountClient, task: Task<Void, Never>)?
    private var featureError: (any Error)?

    /// The client that is told of the app's phase, and the last phase; nil: none yet.
    private nonisolated let life = Mutex<(client: AccountClient?, phase: AppPhase?)>((nil, nil))
    private var client: AccountClient? { life.withLock { $0.client } }
    private var runner: Task<Void, any Error>?
    private var isRunning = false
    /// The client that the server has refused for good.
    private weak var refused: AccountClient?
    /// The current account's user has signed in again since its run began: a refusal, which may
    /// have come before, does not end it.
    private var isSignedInAgain = false
    private var isClosed = false
    /// ``close()`` was called: nothing waits for handlers any more, because one may have called it.
    private var isClosing = false
    /// A change is running; others wait for it.
    private var isChanging = false
    private nonisolated let changes = ConditionVariable()

    /// The signed-in user; nil: nobody.
    package private(set) var user: UserID?

    /// The final ledger of the previous account after a sign-out: also after one that a kill had
    /// interrupted and the opening has finished.
    package private(set) var finalLedger: LedgerSum?

    private init(
        folders: AccountFolders, server: String, dialer: any SocketDialer,
        configuration: AccountClient.Configuration, dialsAnonymously: Bool,
        tokens: @escaping TokenProvider, features: @escaping Prepare, prepare: @escaping Prepare
    ) {
        journals = AccountJournals(folders: folders, configuration: configuration)
        self.server = server
        self.dialer = dialer
        self.configuration = configuration
        self.tokens = tokens
        self.prepare = prepare
        self.dialsAnonymously = dialsAnonymously
        self.features = features
    }

    /// Opens the journal of the last signed-in user, or the anonymous one.
    ///
    /// An adoption or a log-out that a kill interrupted is finished first. Nothing is sent before
    /// ``run()``.
    ///
    /// - Parameters:
    ///   - folder: a folder of its own; it is made if it is absent.
    ///   - server: `http://` or `https://` with host and port.
    ///   - dialer: opens connections.
    ///   - configuration: the options of all accounts. In a `sharedFolder` each account gets a
    ///     folder of its own.
    ///   - tokens: returns a token of the requested user.
    ///   - prepare: prepares each client before it starts.
    /// - Returns: the accounts, owned by this process until ``close()``.
    /// - Throws: as ``AccountClient/open(at:server:dialer:identity:configuration:)``, and what
    ///   `prepare` throws.
    package static func open(
        at folder: URL, server: String, dialer: any SocketDialer,
        configuration: AccountClient.Configuration = AccountClient.Configuration(),
        tokens: @escaping TokenProvider, prepare: @escaping Prepare = { _ in }
    ) async throws -> DeviceAccounts {
        try await open(
            at: folder, server: server, dialer: dialer, configuration: configuration,
            dialsAnonymously: false, tokens: tokens, features: { _ in }, prepare: prepare)
    }

    static func open(
        at folder: URL, server: String, dialer: any SocketDialer,
        configuration: AccountClient.Configuration, dialsAnonymously: Bool,
        tokens: @escaping TokenProvider, features: @escaping Prepare, prepare: @escaping Prepare
    ) async throws -> DeviceAccounts {
        try ServerAddress.check(server)
        let folders = try AccountFolders(
            at: folder, shared: configuration.journal.sharedFolder,
            takeOver: configuration.journal.takeOver)
        let accounts = DeviceAccounts(
            folders: folders, server: server, dialer: dialer, configuration: configuration,
            dialsAnonymously: dialsAnonymously, tokens: tokens, features: features,
            prepare: prepare)
        do {
            try await accounts.begin()
        } catch {
            folders.close()
            throw error
        }
        return accounts
    }

    /// The client that is open; nil during a change.
    nonisolated var active: AccountClient? { life.withLock { $0.client } }

    /// The client of the signed-in user, or the anonymous one.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.closed` after ``close()``, during a change, and
    ///   after a failed one: repeat that.
    package var current: AccountClient {
        get throws {
            try expectOpen()
            guard let client else {
                throw RepriseError(
                    .closed, "No account is open.",
                    remedy: isChanging
                        ? "Call again after the sign-in or sign-out that is under way."
                        : "Sign in again: the last change of accounts was not finished.")
            }
            return client
        }
    }

    /// The accounts that have a journal on this device.
    ///
    /// - Returns: their users, in order.
    /// - Throws: ``RepriseCore/RepriseError`` `.diskFailed`.
    package func users() throws -> [UserID] { try folders.users().map { try UserID($0) } }

    // MARK: Changes

    /// Continues as `user`: from now on recorded and sent messages are this user's.
    ///
    /// Entries that wait in the anonymous journal move along, or end, as their kind says. The
    /// journal of a previous user is closed and keeps its work for the next time. If `user` is
    /// already signed in, the client dials again, as after
    /// ``RepriseChannels/ConnectionState/stopped(_:)``. A sign-out that had failed is finished
    /// first.
    ///
    /// - Parameter user: the `sub` of the tokens.
    /// - Returns: the user's client.
    /// - Throws: the journals' errors; then the previous user is still signed in, unless ``user``
    ///   says otherwise. A retry is safe. `.closed` after ``close()``.
    @discardableResult
    package func signIn(as user: UserID) async throws -> AccountClient {
        try await inTurn {
            try expectOpen()
            if self.user == user, let client {
                refused = nil
                isSignedInAgain = true
                await client.reconnect()
                return client
            }
            // `account.json` would name the new user, and nobody remove the former one's journal.
            if client == nil, let leaving = try folders.state().leaving {
                finalLedger = try await journals.finishLeaving(leaving)
            }
            // A journal that cannot be opened must not cost the open account.
            let journal = try await journals.open(of: user)
            return try await replace {
                do {
                    try await journals.adopt(by: user, into: journal)
                    if try folders.give(to: user.text) {
                        try folders.write(.init(user: user.text))
                        try await journals.adopt(by: user, into: journal)
                    } else {
                        try folders.write(.init(user: user.text))
                    }
                } catch {
                    await journal.close()
                    throw error
                }
                finalLedger = nil
                return try await begin(journal, of: user)
            }
        }
    }

    /// Ends the signed-in user's account on this device, and continues anonymously.
    ///
    /// Unsent entries end as `dead`, with the reason `loggedOut`; then the journal is removed. The
    /// server is told nothing. Once this has begun, the next opening or sign-in finishes it even if
    /// the process is killed, and ``finalLedger`` has the result until a sign-in.
    ///
    /// - Returns: the outcomes of everything that the account had accepted: nothing is pending in
    ///   it.
    /// - Throws: ``RepriseCore/RepriseError`` `.unauthorized` if nobody is signed in, `.closed`
    ///   after ``close()``, and the journal's errors; a retry is safe. After `.corrupt` the account
    ///   has ended.
    @discardableResult
    package func signOut() async throws -> LedgerSum {
        try await inTurn {
            try expectOpen()
            guard let user = try user?.text ?? folders.state().leaving else {
                throw RepriseError(.unauthorized, "Nobody is signed in.")
            }
            return try await replace {
                try folders.write(.init(leaving: user))
                let sum = try await journals.finishLeaving(user)
                finalLedger = sum
                try await begin(try await journals.open(of: nil), of: nil)
                guard let sum else {
                    throw RepriseError(
                        .corrupt,
                        "The account has ended, but what became of its entries cannot be read.",
                        remedy: "Nothing: its journal was damaged, and is removed.")
                }
                return sum
            }
        }
    }

    /// What waited behind a close would open a journal that nobody closes.
    private func expectOpen() throws {
        guard !isClosed else { throw RepriseError(.closed, "The client is closed.") }
    }

    /// Stops the client, makes the change, and starts the account that is then current, also after
    /// a failure.
    private func replace<T: Sendable>(_ change: () async throws -> T) async throws -> T {
        // From here on an extension writes into no account's part, and hides pushes for this user;
        // a part that cannot be removed is replaced when the next account starts.
        try? folders.point(to: nil)
        // A former user's reminders would ring for the next user. After a kill here, the next
        // account's reconciliation removes them.
        await client?.reminders?.leave(configuration.notifications)
        await client?.notices?.leave(configuration.notifications)
        await stop()
        do {
            return try await change()
        } catch {
            // The durable part of the change counts; an account that cannot be opened now can be
            // later.
            if client == nil { try? await resume() }
            throw error
        }
    }

    private func begin() async throws {
        try await inTurn { try await resume() }
    }

    /// Opens the account that a failed change has left closed.
    ///
    /// - Returns: whether it has; false while a change is under way.
    func reopen() async throws -> Bool {
        guard client == nil, !isChanging, !isClosed else { return false }
        try await begin()
        return true
    }

    /// Opens the account in `account.json`.
    private func resume() async throws {
        let state = try folders.state()
        if let leaving = state.leaving {
            finalLedger = try await journals.finishLeaving(leaving)
            try await begin(try await journals.open(of: nil), of: nil)
            return
        }
        finalLedger = state.final?.sum
        let user = try state.user.map { try UserID($0) }
        let journal = try await journals.open(of: user)
        do {
            if let user { try await journals.adopt(by: user, into: journal) }
        } catch {
            await journal.close()
            throw error
        }
        try await begin(journal, of: user)
    }

    @discardableResult
    private func begin(_ journal: Journal, of user: UserID?) async throws -> AccountClient {
        let reprise = await AccountClient.over(
            journal, server: server, dialer: dialer,
            identity: user.map { Identity(user: $0, tokens: tokens) }, configuration: configuration,
            dials: user != nil || dialsAnonymously)
        do {
            try await prepare(reprise)
        } catch {
            await reprise.close()
            throw error
        }
        // Without it an extension shows a push unchanged: no reason to keep the account from
        // starting.
        try? folders.point(to: user?.text)
        self.user = user
        let rest = life.withLock { life in
            life.client = reprise
            // The granted time belonged to the former client.
            return life.phase.map {
                reprise.enter($0 == .foreground ? .foreground : .background(granted: .zero))
            }
        }
        await rest?()
        changes.notifyAll()
        return reprise
    }

    private func stop() async {
        let former = life.withLock { life in
            defer { life.client = nil }
            return life.client
        }
        user = nil
        runner?.cancel()
        await stopFeatures()
        await changes.wait { runner == nil || isClosing }
        await former?.close()
    }

    // MARK: Running

    /// Runs the current account's client, and after a change the next one's, until the task is
    /// cancelled or ``close()`` is called.
    ///
    /// While nobody is signed in nothing is dialled. If the server refuses the current account for
    /// good, its client's connection is ``RepriseChannels/ConnectionState/stopped(_:)``, and this
    /// waits for the next sign-in.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`; `.badConfiguration` if it already
    ///   runs.
    package func run() async throws {
        guard !isRunning else {
            throw RepriseError(.badConfiguration, "The accounts are running already.")
        }
        isRunning = true
        featureError = nil
        do {
            try await runInTurn()
        } catch {
            await stopFeatures()
            isRunning = false
            throw error
        }
        await stopFeatures()
        isRunning = false
    }

    private func runInTurn() async throws {
        while !Task.isCancelled, !isClosed {
            startFeatures()
            if let featureError { throw featureError }
            guard let running = client, running !== refused else {
                await changes.wait(isCancellable: true) {
                    client != nil && client !== refused || isClosed || featureError != nil
                }
                continue
            }
            isSignedInAgain = false
            let task = Task { try await running.run() }
            runner = task
            let result = await withTaskCancellationHandler {
                await task.result
            } onCancel: {
                task.cancel()
            }
            runner = nil
            changes.notifyAll()
            if let featureError { throw featureError }
            // A client that was stopped for a change, or cancelled, has ended normally.
            guard client === running, !Task.isCancelled else { continue }
            do {
                return try result.get()
            } catch let error as RepriseError where error.code == .refused {
                if !isSignedInAgain { refused = running }
            }
        }
    }

    /// Runs the features of the current client, unless they run already; a refusal of the server
    /// does not end them.
    private func startFeatures() {
        guard let client, featuring?.client !== client else { return }
        featuring?.task.cancel()
        let task = Task {
            do { try await features(client) } catch { failed(client, error) }
        }
        featuring = (client, task)
    }

    private func failed(_ client: AccountClient, _ error: any Error) {
        guard client === self.client, !(error is CancellationError) else { return }
        featureError = error
        runner?.cancel()
        changes.notifyAll()
    }

    private func stopFeatures() async {
        featuring?.task.cancel()
        await featuring?.task.value
        featuring = nil
    }

    /// Closes the journal that is open; waits for handlers as ``AccountClient/close()``.
    ///
    /// The user stays signed in.
    package func close() async {
        isClosing = true
        changes.notifyAll()
        await inTurn {
            isClosed = true
            await stop()
            folders.close()
        }
        changes.notifyAll()
    }

    // MARK: One change at a time

    private func inTurn<T: Sendable>(_ body: () async throws -> T) async rethrows -> T {
        while isChanging { await changes.wait { !isChanging } }
        isChanging = true
        defer {
            isChanging = false
            changes.notifyAll()
        }
        return try await body()
    }
}

extension DeviceAccounts: AppLife {
    /// The app is in the background: see ``AccountClient/background(granted:)``.
    package nonisolated func background(granted: Duration) async {
        await enter(.background(granted: granted))()
    }

    /// The app is in the foreground: see ``AccountClient/foreground()``.
    package nonisolated func foreground() async { await enter(.foreground)() }

    /// Frees the memory that the journal can do without.
    package func memoryPressure() async { await client?.memoryPressure() }
}

extension DeviceAccounts: AppLifeFollower {
    package nonisolated func enter(_ phase: AppPhase) -> @Sendable () async -> Void {
        life.withLock { life in
            life.phase = phase
            guard let client = life.client else { return {} }
            return client.enter(phase)
        }
    }
}
