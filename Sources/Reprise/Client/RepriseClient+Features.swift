public import RepriseChains
public import RepriseChannels
public import RepriseCore
public import RepriseForms
public import RepriseJournal
public import RepriseNotices
public import RepriseReminders
import Synchronization

/// The parts of the current account; each opens the journal, if nothing has yet.
///
/// A part belongs to its account: after a change of accounts, ask for it again.
extension RepriseClient {
    /// The journal, for the app's own tables, and for what became of an entry.
    public var journal: Journal {
        get async throws { try await accounts.opened().current.journal }
    }

    /// Forms: the places that they lead to, and their state.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if they are not configured.
    public var forms: Forms {
        get async throws { try await feature("forms") { $0.forms } }
    }

    /// Reminders.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if they are not configured.
    public var reminders: Reminders {
        get async throws { try await feature("reminders") { $0.reminders } }
    }

    /// Chains.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if they are not configured.
    public var chains: Chains {
        get async throws { try await feature("chains") { $0.chains } }
    }

    /// Notices: taps, settings, the badge.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if they are not configured.
    public var notices: Notices {
        get async throws { try await feature("notices") { $0.notices } }
    }

    /// The states of the connection, over every account: the current one, then each change.
    public var connectionStates: AsyncStream<ConnectionState> {
        follow { $0.channels.connectionStates }
    }

    /// What became of everything that the current account has accepted.
    ///
    /// - Throws: what opening a journal throws.
    public func ledger() async throws -> LedgerSum {
        try await accounts.opened().current.ledger()
    }

    private func feature<Feature>(
        _ name: String, _ part: (AccountClient) -> Feature?
    ) async throws -> Feature {
        try configuration.expect(part(try await accounts.opened().current), name)
    }

    /// A stream of each account, one after the other; it ends with ``close()``.
    package func follow<Value: Sendable>(
        _ stream: @escaping @Sendable (AccountClient) throws -> AsyncStream<Value>
    ) -> AsyncStream<Value> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task { [accounts] in
                var current: Task<Void, Never>?
                for await active in accounts.active.watch() {
                    current?.cancel()
                    // It may have values in its buffer: none comes after the next account's.
                    await current?.value
                    if active == .closed { break }
                    guard case .account(let account) = active, let values = try? stream(account)
                    else { continue }
                    current = Task { for await value in values { continuation.yield(value) } }
                }
                current?.cancel()
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}

// MARK: Over every account

extension RepriseClient {
    /// Asks the person to allow notifications, and plans reminders with the answer.
    ///
    /// Reprise itself never asks. The system shows its prompt once in the life of an installation:
    /// call this where the person sees what for, not at the launch. Later calls return the answer
    /// that holds. Denied, nothing is shown and no reminder is scheduled; messages, the count of
    /// unread ones and pushes in the background go on, and the person may allow it in the
    /// system's settings.
    ///
    /// - Parameter provisional: shows no prompt: notifications come quietly, into the list alone,
    ///   until the person decides there.
    /// - Returns: the authorization.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` without
    ///   `configuration.notifications`, `.refused`, `.unreachable`; what opening a journal throws.
    @discardableResult
    public func requestNotifications(
        provisional: Bool = false
    ) async throws -> NotificationSettings.Authorization {
        guard let system = configuration.notifications else {
            throw RepriseError(
                .badConfiguration, "No notifications are configured.",
                remedy: "Write configuration.notifications = SystemNotifications().")
        }
        _ = try await system.requestAuthorization(provisional: provisional)
        if configuration.reminders != nil { try await reminders.reconciliation() }
        return try await system.settings().authorization
    }

    /// The places that forms lead to, each acknowledged when the loop asks for the next; one whose
    /// process dies is delivered again.
    ///
    /// ```swift
    /// for await link in client.deepLinks { await router.open(link.url) }
    /// ```
    ///
    /// Goes on with the next account; ends with its task, or with ``close()``.
    public var deepLinks: DeepLinks { deliveries { $0.forms?.deepLinks } }

    /// Taps on reminders, each delivered until the app acknowledges it, once the store is loaded
    /// and ``RepriseCore/Readiness/ui`` is set.
    ///
    /// Goes on with the next account; ends with its task, or with ``close()``.
    public var reminderTaps: ReminderRoutes { deliveries { $0.reminders?.routes } }

    /// Taps on notifications of messages, each delivered until the app acknowledges it, once
    /// ``RepriseCore/Readiness/ui`` is set.
    ///
    /// Goes on with the next account; ends with its task, or with ``close()``.
    public var noticeTaps: NoticeTaps { deliveries { $0.notices?.taps } }

    /// The figure at the icon: the current one first, then each change.
    public var badges: AsyncStream<IconBadge> {
        follow { try $0.expect($0.notices, "notices").badges }
    }

    /// The states of forms: the current one first, then each change.
    public var formStates: AsyncStream<FormsState> {
        follow { try $0.expect($0.forms, "forms").states }
    }

    /// The states of reminders: the current one first, then each change.
    public var reminderStates: AsyncStream<ReminderState> {
        follow { try $0.expect($0.reminders, "reminders").states }
    }

    private func deliveries<Element: Sendable>(
        _ part: @escaping @Sendable (AccountClient) -> DeliveryStream<Element>?
    ) -> DeliveryStream<Element> {
        DeliveryStream { [accounts] in
            let loop = AccountLoop(accounts: accounts, part: part)
            return { await loop.next() }
        }
    }

    /// Sets a condition, in this account and every later one: what waits for it is dispatched.
    ///
    /// The app sets ``RepriseCore/Readiness/ui`` while its screen can present.
    public func setReady(_ condition: Readiness) async {
        await accounts.registrations.set(condition, true)
    }

    /// Clears a condition, in this account and every later one.
    public func setNotReady(_ condition: Readiness) async {
        await accounts.registrations.set(condition, false)
    }

    // MARK: Background time

    /// The ids of the requests for background time that the configured features make: the app
    /// registers each with the system before it has finished launching.
    public var backgroundTasks: [String] {
        [configuration.chains?.slotID, configuration.reminders?.refreshTask].compactMap(\.self)
    }

    /// Uses background time that the system has granted for one of ``backgroundTasks``; returns
    /// when the slot is given back.
    public func use(_ slot: any BackgroundSlot) async {
        let slot = WatchedSlot(slot)
        guard let account = await account(before: slot) else {
            await requestAgain(slot.id)
            return await slot.complete(success: false)
        }
        if slot.id == configuration.chains?.slotID, let chains = account.chains {
            await chains.slot(slot)
        } else if slot.id == configuration.reminders?.refreshTask, let reminders = account.reminders
        {
            await reminders.slot(slot)
        } else {
            await slot.complete(success: false)
        }
    }

    /// Requests a slot again that was not used.
    ///
    /// Without conditions, since nobody has seen what needs it.
    private func requestAgain(_ id: String) async {
        let kind: BackgroundRequest.Kind =
            id == configuration.chains?.slotID
            ? .processing(needsNetwork: false, needsPower: false) : .refresh
        guard backgroundTasks.contains(id) else { return }
        try? await configuration.scheduler?.submit(BackgroundRequest(id: id, kind: kind))
    }

    /// The current account; nil if it cannot be opened, or not before the slot is over.
    private func account(before slot: WatchedSlot) async -> AccountClient? {
        let race = Race<AccountClient?>()
        Task { [accounts] in race.end(.success(try? await accounts.opened().current)) }
        let expiry = Task {
            await slot.expired()
            race.end(.success(nil))
        }
        defer { expiry.cancel() }
        return try? await race.value()
    }
}

extension AccountClient {
    fileprivate func expect<Feature>(_ feature: Feature?, _ name: String) throws -> Feature {
        guard let feature else { throw RepriseError(.badConfiguration, "\(name) is off.") }
        return feature
    }
}

/// A loop over what one account after the other has to deliver.
private final class AccountLoop<Element: Sendable>: Sendable {
    private typealias Place = (account: AccountClient, iterator: DeliveryStream<Element>.Iterator)

    private let accounts: ClientAccounts
    private let part: @Sendable (AccountClient) -> DeliveryStream<Element>?
    /// Holds what the loop has in flight.
    private let place = Mutex<Place?>(nil)

    init(
        accounts: ClientAccounts,
        part: @escaping @Sendable (AccountClient) -> DeliveryStream<Element>?
    ) {
        self.accounts = accounts
        self.part = part
    }

    /// - Returns: nil when the task is cancelled, or the client is closed.
    func next() async -> Element? {
        for await active in accounts.active.watch() {
            switch active {
            case .closed: return nil
            case .none: continue
            case .account(let account):
                if let element = await take(from: account) { return element }
            }
        }
        return nil
    }

    /// - Returns: nil when another account is active.
    private func take(from account: AccountClient) async -> Element? {
        let iterator = place.withLock { place in
            if place?.account !== account {
                place = part(account).map { (account, $0.makeAsyncIterator()) }
            }
            return place?.iterator
        }
        guard let iterator else { return nil }
        let active = accounts.active
        return await withTaskGroup(of: Element?.self) { group in
            group.addTask {
                var iterator = iterator
                return await iterator.next()
            }
            group.addTask {
                for await now in active.watch() where now != .account(account) { break }
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            // What was taken just then belongs to an account that is gone: it is delivered there.
            return active.value == .account(account) ? first : nil
        }
    }
}

extension RepriseConfiguration {
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    func expect<Feature>(_ feature: Feature?, _ name: String) throws -> Feature {
        if let feature { return feature }
        throw RepriseError(
            .badConfiguration, "The feature \(name) is not configured.",
            remedy: "Write configuration.\(name) = .init().")
    }
}
