import Foundation
import Logging
import RepriseChains
import RepriseChannels
public import RepriseCore
import RepriseForms
import RepriseJournal
import RepriseNotices
import RepriseReminders
public import RepriseWire
import Synchronization

/// An app's client: made at the launch, run as long as the app lives.
///
/// ```swift
/// let client = RepriseClient(configuration)
/// let general = client.channel("general", of: Note.self)
/// try await general.consume(as: "inbox") { message in … }
/// Task { try await client.run() }
///
/// try await client.signIn("ada") { try await backend.token() }
/// try await general.publish(Note(text: "hello"))
/// ```
///
/// Making one reads and writes nothing and cannot fail. The journal is opened by whatever needs it
/// first; a tap that comes before, or that cannot wait for it, is in a file of its own when
/// ``received(_:)`` returns. What is wrong with the configuration is in ``state``, in the log, and
/// thrown by ``run()``.
public final class RepriseClient: Sendable {
    let configuration: RepriseConfiguration
    let accounts: ClientAccounts
    let early: EarlyRecords
    let recent = RecentLines()
    private let isRunning = Mutex(false)

    /// Makes a client; see ``state`` for what is wrong with its configuration.
    public init(_ configuration: RepriseConfiguration) {
        var configuration = configuration
        configuration.logger = recent.keeping(configuration.logger)
        self.configuration = configuration
        early = EarlyRecords(home: configuration.home)
        accounts = ClientAccounts(configuration, early: early)
    }

    // MARK: Running

    /// Whether the journal is open, waits for the disk, or has failed.
    public var state: ClientState { accounts.states.value }

    /// The states: the current one, then each change.
    ///
    /// Buffers the newest 64 values; older ones are dropped.
    public var states: AsyncStream<ClientState> { accounts.states.watch() }

    /// Opens the journal, connects, and runs every feature that is configured, over every sign-in
    /// and sign-out, until the task is cancelled.
    ///
    /// A journal that cannot be opened now is tried again; a feature that fails is run again.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`; `.closed` after ``close()``;
    ///   `.badConfiguration` if it runs already; and what only a change of the app can mend.
    ///   Cancellation is no error.
    public func run() async throws {
        guard
            isRunning.withLock({ isRunning in
                defer { isRunning = true }
                return !isRunning
            })
        else {
            throw RepriseError(.badConfiguration, "The client is running already.")
        }
        defer { isRunning.withLock { $0 = false } }
        do {
            try await accounts.run()
        } catch is CancellationError {
            // Whoever cancelled this knows.
        }
    }

    /// Ends ``run()`` and closes the journal.
    ///
    /// The user stays signed in.
    public func close() async { await accounts.close() }

    // MARK: Accounts

    /// The signed-in user; nil: nobody, or the journal is not open yet.
    public var user: UserID? {
        if case .open(let user) = state { user } else { nil }
    }

    /// Continues as `user`, also in the next launch.
    ///
    /// What was recorded before anybody signed in moves along. Another user's journal stays,
    /// closed, with its work.
    ///
    /// - Parameters:
    ///   - user: the `sub` of the tokens.
    ///   - token: returns a token of this user; asked again when one nears its end.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` for a name that no user has, and what
    ///   opening a journal throws; a retry is safe.
    public func signIn(
        _ user: String, token: @escaping @Sendable () async throws -> String
    ) async throws {
        try await signIn(user, tokens: { _ in try AccessToken(try await token()) })
    }

    /// Continues as `user`; see ``signIn(_:token:)``.
    ///
    /// - Parameters:
    ///   - user: the `sub` of the tokens.
    ///   - tokens: returns tokens, and is told why one is needed; nil: the configuration's.
    /// - Throws: as ``signIn(_:token:)``.
    public func signIn(_ user: String, tokens: TokenProvider?) async throws {
        try await accounts.signIn(try UserID(user), tokens: tokens)
    }

    /// Ends the signed-in user's account on this device, and removes its journal.
    ///
    /// Messages that were not sent end as `dead`, with the reason `loggedOut`.
    ///
    /// - Returns: what became of everything that the account had accepted: nothing is pending.
    /// - Throws: ``RepriseCore/RepriseError`` `.unauthorized` if nobody is signed in, and what
    ///   opening a journal throws; a retry is safe. `.corrupt` if rows of its journal cannot be
    ///   read: the account has ended then, and nobody knows what became of its entries.
    @discardableResult
    public func signOut() async throws -> LedgerSum { try await accounts.signOut() }

    // MARK: Features

    /// A channel whose messages have this body.
    ///
    /// A handle costs nothing, and stays the same over every account.
    ///
    /// - Parameters:
    ///   - name: 1 to 128 characters of `A–Z a–z 0–9 . _ : -`; its functions throw
    ///     `.badChannelName` for another.
    ///   - body: the type of the bodies.
    /// - Returns: the channel; nothing is requested yet.
    public func channel<Body: Codable & Sendable>(
        _ name: String, of body: Body.Type = Body.self
    ) -> TypedChannel<Body> {
        TypedChannel(name: name, client: self, codec: BodyCodec(configuration))
    }

    /// A channel whose messages the app reads and writes as JSON text.
    ///
    /// - Parameter name: as in ``channel(_:of:)``.
    /// - Returns: the channel; nothing is requested yet.
    public func channel(rawJSON name: String) -> TypedChannel<RawJSON> {
        TypedChannel(name: name, client: self, codec: BodyCodec())
    }

    /// Records an event for ``forms``; durable when it returns, also before the journal is open.
    ///
    /// - Parameters:
    ///   - name: 1 to 56 characters of `A–Z a–z 0–9 . _ -`.
    ///   - properties: an object of at most 65,536 bytes of JSON.
    ///   - id: its identity; recording the same id again does nothing.
    /// - Returns: the id; ``RepriseJournal/Journal/entry(_:)`` looks up its outcome.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` without forms; `.malformed`,
    ///   `.tooLarge`, `.full`, `.diskFull`, `.diskFailed`; an `EncodingError`.
    @discardableResult
    public func recordEvent(
        _ name: String, properties: some Encodable & Sendable = [String: String](),
        id: EntryID = .random()
    ) async throws -> EntryID {
        let json = try configuration.encoder().encode(properties)
        return try await recordEvent(
            name, rawJSON: String(decoding: json, as: UTF8.self), id: id)
    }

    /// Records an event with properties as JSON text; see ``recordEvent(_:properties:id:)``.
    @discardableResult
    public func recordEvent(
        _ name: String, rawJSON json: String, id: EntryID = .random()
    ) async throws -> EntryID {
        _ = try configuration.expect(configuration.forms, "forms")
        let entry = try Forms.entry(name, properties: json, id: id)
        let isTaken = try await byCurrent { _ in
            // Behind what came early.
            try await accounts.opened().current.journal.record(entry)
        }
        if !isTaken {
            try early.add(.event(name: name, properties: json, id: id.text))
            accounts.open()
        }
        return id
    }

    /// - Returns: whether the current account has taken something: one is open, and has not been
    ///   closed meanwhile for the next one.
    private func byCurrent(_ take: (AccountClient) async throws -> Void) async throws -> Bool {
        guard let account = accounts.current else { return false }
        do {
            try await take(account)
            return true
        } catch let error as RepriseError where error.code == .closed {
            return false
        }
    }

    // MARK: Notifications

    /// Registers this device's push token for every account; call it at each start.
    ///
    /// - Parameter pushToken: as `didRegisterForRemoteNotificationsWithDeviceToken` has it.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` without notices; `.malformed`,
    ///   `.tooLarge`, and the journal's errors.
    public func registered(pushToken: [UInt8]) async throws {
        _ = try configuration.expect(configuration.notices, "notices")
        try await accounts.registrations.add(Self.pushToken, replaces: true) { account in
            try await account.notices?.registered(pushToken: pushToken)
        }
    }

    private static let pushToken = "push token"

    /// Records a response to a notification, durably and at once: for the options of a scene that
    /// connects, and wherever else the system leaves no time.
    ///
    /// The same response may also come to ``received(_:)``: it is one.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.full` when 4,096 wait, `.diskFull`, `.notWritable`,
    ///   `.diskFailed`.
    public func record(_ response: NotificationResponse) throws {
        try early.add(.response(response))
        accounts.open()
    }
}

extension RepriseClient: NotificationHandler {
    /// How to show a notification that arrives while the app is in the foreground.
    public func willPresent(_ notification: DeliveredNotification) async -> PresentationOptions {
        guard let client = try? await accounts.opened().current else {
            return [.banner, .list, .sound]
        }
        return await client.willPresent(notification)
    }

    /// A person responded to a notification; returns when the response is recorded, in the journal
    /// or, if that is not open, in a file of its own.
    ///
    /// A reply, "mark as read" and a reminder's button are also done then, if the journal opens
    /// and, for the first two, a connection comes within ``NoticeLimits/actionTimeout``; otherwise
    /// at the app's next run. Once it is recorded, it returns after 25 seconds at the latest.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` if neither can be written: then it is not recorded.
    public func received(_ response: NotificationResponse) async throws {
        let wake = WakeTime(by: accounts.clock)
        if try await byCurrent({ try await Self.take(response, by: $0, in: wake) }) { return }
        do {
            try record(response)
        } catch {
            // A full disk may leave the journal, which has its space already.
            guard let account = try await accounts.opened(within: wake.rest) else { throw error }
            return try await Self.take(response, by: account, in: wake)
        }
        // It is recorded: what the journal says now shows in `state`.
        await wake.run { [accounts] in
            let account = try? await accounts.opened(within: wake.rest)
            await account?.perform(response, within: wake.rest)
        }
    }

    private static func take(
        _ response: NotificationResponse, by account: AccountClient, in wake: WakeTime
    ) async throws {
        guard try await account.record(response) else { return }
        await wake.run { await account.perform(response, within: wake.rest) }
    }

    /// A push has woken the app: its instructions are done, and its messages are fetched.
    ///
    /// Returns when the journal has what the push counted, or after ``NoticeLimits/wakeTimeout``,
    /// with the opening of the journal after 25 seconds at the latest: an app that is not in the
    /// foreground is frozen then.
    public func receivedPush(_ info: [UInt8]) async {
        let wake = WakeTime(by: accounts.clock)
        await wake.run { [accounts] in
            guard let account = try? await accounts.opened(within: wake.rest) else { return }
            await account.receivedPush(info, within: wake.rest)
        }
    }
}

extension RepriseClient: AppLife {
    /// The app is in the background, and may run for so long.
    public func background(granted: Duration) async {
        await accounts.enter(.background(granted: granted))()
    }

    /// The system has launched or resumed the app because its transfers have ended: the journal is
    /// opened, and chains go on with the results.
    ///
    /// Returns when they rest, or after 20 seconds: an app that is not in the foreground is frozen
    /// then. Call it where the app is in the background.
    public func transfersEnded() async {
        let wake = WakeTime(ClientLimits.transfersEnded, by: accounts.clock)
        await wake.run { [self] in
            _ = try? await accounts.opened(within: wake.rest)
            await background(granted: wake.rest)
        }
    }

    /// The app is in the foreground: the client dials without waiting, and a journal that could not
    /// be opened is tried at once.
    public func foreground() async { await accounts.enter(.foreground)() }

    /// Says that the user does nothing with this device, or does something again.
    ///
    /// In the background a device is idle by itself. Others see the user idle when all of his
    /// devices are; see ``TypedChannel/presence``.
    public func setIdle(_ isIdle: Bool) { accounts.current?.channels.setIdle(isIdle) }

    /// Frees the memory that the journal can do without.
    public func memoryPressure() async { await accounts.current?.memoryPressure() }
}
