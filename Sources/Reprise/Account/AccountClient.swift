package import Foundation
package import RepriseChains
package import RepriseChannels
package import RepriseCore
package import RepriseForms
package import RepriseJournal
package import RepriseNotices
package import RepriseReminders
import RepriseWire
import Synchronization

/// The client: one journal, one server, and the features between them.
///
/// ```swift
/// import Reprise
///
/// let reprise = try await AccountClient.open(
///     at: folder, server: "https://chat.example.org", dialer: dialer)
/// let general = try reprise.channel("general")
/// try await general.read("inbox") { message in print(message.json) }
/// try await general.publish(#""hello""#)
/// try await reprise.run()
/// ```
package final class AccountClient: Sendable {
    /// The options of the client.
    ///
    /// The defaults suit an app.
    package struct Configuration: Sendable {
        /// The connection and the repair of holes.
        package var channels = Channels.Configuration()
        /// The journal.
        package var journal = Journal.Configuration()
        /// Forms; nil: the feature is off, and its entries wait.
        package var forms: Forms.Configuration?
        /// Reminders; nil: the feature is off, and its entries wait.
        package var reminders: Reminders.Configuration?
        /// Chains; nil: the feature is off, and started chains wait.
        package var chains: Chains.Configuration?
        /// Notices; nil: the feature is off, and its entries wait.
        package var notices: Notices.Configuration?
        /// The notification centre, which a change of accounts clears although no feature runs.
        package var notifications: (any UserNotifications)?
        /// How long messages stay on the device after their readers have finished them.
        package var messages = MessageRetention()
        /// Performs changes of conversations; nil: they wait.
        package var transport: (any HTTPTransport)?
        /// The app's own kinds of entries.
        package var kinds: [EntryKind] = []
        /// The app's own tables in the journal.
        package var schemas: [JournalSchema] = []

        /// The defaults.
        package init() {}

        /// Sets the clocks of the journal and of every configured feature.
        ///
        /// - Parameter clock: as `ManualClock` of RepriseTesting.
        public mutating func set(_ clock: any Timekeeper) {
            channels.timekeeper = clock
            journal.timekeeper = clock
            forms?.timekeeper = clock
            reminders?.timekeeper = clock
            chains?.timekeeper = clock
            notices?.timekeeper = clock
        }

        /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, `.duplicateChain`,
        ///   `.badChannelName`.
        func check() throws {
            try forms?.check()
            try reminders?.check()
            try chains?.check()
            try notices?.check()
            _ = try forms.map { try ChannelName($0.answers) }
        }
    }

    /// The journal, which this process owns until ``close()``.
    package let journal: Journal
    /// The channels.
    package let channels: Channels
    /// Forms, if they are configured; events can be recorded before they run.
    package let forms: Forms?
    /// Reminders, if they are configured; taps can be recorded before they run.
    package let reminders: Reminders?
    /// Chains, if they are configured; chains can be started before they run.
    package let chains: Chains?
    /// Notices, if they are configured; taps can be recorded before they run.
    package let notices: Notices?

    /// The server that receives a person's settings of notices; nil: none.
    private let noticeServer: NoticeServer?
    /// Counts what this device does not follow; nil: nothing can be asked.
    private let unfollowed: UnfollowedCounts?
    struct Life {
        /// How many works that the system has woken the app for are going on.
        var works = 0
        /// The connection was opened for one of them, and is closed after the last.
        var isWoken = false
    }

    /// Held while the features are told of the app's phase, so that all see its changes in one
    /// order.
    let life = Mutex(Life())

    private init(
        journal: Journal, channels: Channels, forms: Forms?, reminders: Reminders?, chains: Chains?,
        notices: Notices?, noticeServer: NoticeServer?, unfollowed: UnfollowedCounts?
    ) {
        self.journal = journal
        self.channels = channels
        self.forms = forms
        self.reminders = reminders
        self.chains = chains
        self.notices = notices
        self.noticeServer = noticeServer
        self.unfollowed = unfollowed
    }

    /// Opens the journal in `folder`, or makes a new one there.
    ///
    /// Nothing is sent before ``run()``.
    ///
    /// - Parameters:
    ///   - folder: a folder of this account alone; it is made if it is absent.
    ///   - server: `http://` or `https://` with host and port.
    ///   - dialer: opens connections; `NIODialer` of RepriseNIO if the platform has no better one.
    ///   - identity: the signed-in user, and the source of tokens; nil for a server that requires
    ///     none. An app whose users sign in and out uses ``Accounts``.
    ///   - configuration: the options.
    /// - Returns: the client, which owns the journal until ``close()``.
    /// - Throws: ``RepriseCore/RepriseError`` `.journalOwned`, `.journalNewer`, `.notAJournal`,
    ///   `.notWritable`, `.diskFull`, `.badAddress`, `.badConfiguration`, `.duplicateChain`.
    package static func open(
        at folder: URL, server: String, dialer: any SocketDialer, identity: Identity? = nil,
        configuration: Configuration = Configuration()
    ) async throws -> AccountClient {
        try ServerAddress.check(server)
        return await over(
            try await openJournal(at: folder, configuration), server: server, dialer: dialer,
            identity: identity, configuration: configuration)
    }

    static func openJournal(at folder: URL, _ configuration: Configuration) async throws -> Journal
    {
        try configuration.check()
        // The tables and kinds of every feature, even of one that is not configured: its entries of
        // another run wait.
        return try await Journal.open(
            at: folder,
            kinds: Channels.kinds + Forms.kinds(configuration.forms ?? .init())
                + Reminders.kinds(configuration.reminders ?? .init())
                + Chains.kinds(configuration.chains ?? .init())
                + Notices.kinds(configuration.notices ?? .init()) + configuration.kinds,
            schemas: [
                Channels.schema(keeping: configuration.messages), Forms.schema, Reminders.schema,
                Chains.schema, Notices.schema,
            ] + configuration.schemas,
            configuration: configuration.journal)
    }

    /// A client over an open journal; its entries are dispatched from now on.
    ///
    /// It `dials` unless nobody is signed in yet.
    static func over(
        _ journal: Journal, server: String, dialer: any SocketDialer, identity: Identity?,
        configuration: Configuration, dials: Bool = true
    ) async -> AccountClient {
        await journal.setReady(.journal)
        var settings = configuration.channels
        settings.dials = dials
        settings.identity = identity ?? settings.identity
        let channels = Channels(
            journal: journal, server: server, dialer: dialer, configuration: settings)
        let forms = configuration.forms.map { forms in
            Forms(journal: journal, configuration: forms) { json, id, db in
                try channels.channel(forms.answers).publish(json, id: id, in: db)
            }
        }
        let noticeServer = { [identity = settings.identity] (transport: any HTTPTransport) in
            NoticeServer(server, transport, journal: journal, identity: identity)
        }
        let client = AccountClient(
            journal: journal, channels: channels, forms: forms,
            reminders: configuration.reminders.map {
                Reminders(journal: journal, configuration: $0)
            },
            chains: configuration.chains.map { Chains(journal: journal, configuration: $0) },
            notices: configuration.notices.map {
                Notices(
                    journal: journal, messages: ChannelNotices(channels: channels),
                    configuration: $0)
            },
            noticeServer: configuration.notices?.transport.map(noticeServer),
            unfollowed: settings.dials
                ? configuration.transport.map {
                    UnfollowedCounts(
                        server: noticeServer($0), channels: channels, clock: settings.timekeeper)
                } : nil)
        if let transport = configuration.transport {
            await client.handleConversations(at: server, by: transport)
        }
        return client
    }

    /// Sends the settings of notices to the server, at each connection, until the task is
    /// cancelled.
    private func tellSettings() async {
        guard let notices else { return }
        await withDiscardingTaskGroup { group in
            if let noticeServer { group.addTask { await notices.runSettings(with: noticeServer) } }
            for await state in channels.connectionStates {
                notices.connectionChanged(isOpen: state.isOpen)
            }
            group.cancelAll()
        }
        notices.connectionChanged(isOpen: false)
    }

    /// Has the server do the changes of conversations that wait in the journal.
    private func handleConversations(at server: String, by transport: any HTTPTransport) async {
        let calls = ConversationCalls(
            server: NoticeServer(
                server, transport, journal: journal, identity: channels.identity),
            channels: channels)
        await journal.handle(Channels.conversationKind.name) { try await calls.perform($0) }
    }

    /// A handle on a channel.
    ///
    /// - Parameter name: 1 to 128 characters of `A–Z a–z 0–9 . _ : -`.
    /// - Returns: the handle.
    /// - Throws: ``RepriseCore/RepriseError`` `.badChannelName`.
    package func channel(_ name: String) throws -> Channel { try channels.channel(name) }

    /// All current figures of the connection; free until read.
    package var diagnostics: ConnectionDiagnostics { get async { await channels.diagnostics } }

    /// Sets a condition: entries that waited for it are dispatched.
    package func setReady(_ readiness: Readiness) async { await journal.setReady(readiness) }

    /// Clears a condition.
    package func setNotReady(_ readiness: Readiness) async { await journal.setNotReady(readiness) }

    /// The ledger of guarantee 5, over everything in the journal.
    ///
    /// - Returns: the sum as of the last commit.
    /// - Throws: the journal's errors.
    package func ledger() async throws -> LedgerSum { try await journal.ledger() }

    /// The ledger of guarantee 5 of a journal that another process may own, without disturbing it.
    ///
    /// - Parameters:
    ///   - folder: the folder given to ``open(at:server:dialer:identity:configuration:)``.
    ///   - schemas: the app's own tables.
    /// - Returns: the sum as of the last commit.
    /// - Throws: ``RepriseCore/RepriseError`` `.notAJournal`, `.journalNewer`, `.corrupt`,
    ///   `.diskFailed`, `.busy`.
    package static func ledger(at folder: URL, schemas: [JournalSchema] = []) throws -> LedgerSum {
        try Journal.ledger(at: folder, schemas: Self.featureSchemas + schemas)
    }

    /// The tables of every feature.
    package static let featureSchemas = [
        Channels.schema, Forms.schema, Reminders.schema, Chains.schema, Notices.schema,
    ]

    /// Connects, reconnects whenever the connection ends, and delivers messages, until the task is
    /// cancelled.
    ///
    /// After a takeover by another process it stops, within
    /// ``RepriseJournal/JournalLimits/ownershipCheck`` and before it dials again.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`, `.closed`, or `.refused` when the
    ///   server says that reconnecting is useless; ``RepriseChannels/Channels/connectionStates``
    ///   ends with `stopped` and the same reason. Cancellation is no error.
    package func run() async throws {
        let settings = Task { await tellSettings() }
        let counts = Task {
            if let unfollowed { await unfollowed.run() }
        }
        let result: Result<Void, any Error>
        do { result = .success(try await channels.run()) } catch { result = .failure(error) }
        for task in [settings, counts] { task.cancel() }
        await settings.value
        await counts.value
        try result.get()
    }

    /// Dials at once, whatever the client waits for: on a person's request, or after a sign-in that
    /// follows ``RepriseChannels/ConnectionState/stopped(_:)``.
    package func reconnect() async { await channels.reconnect() }

    /// Ends ``run()``, and closes the journal.
    ///
    /// Entries in flight are finished, or dispatched again at the next opening.
    package func close() async {
        await channels.stop()
        await reminders?.stop()
        await notices?.stop()
        await journal.close()
    }
}

extension AccountClient: AppLife {
    /// The app is in the background and may run for so long.
    ///
    /// The connection stays open and the outbox goes on until shortly before the end; then the
    /// connection is closed, everything is durable, and this returns. It returns sooner if the app
    /// comes back.
    ///
    /// - Parameter granted: how long the app may run.
    package func background(granted: Duration) async {
        await enter(.background(granted: granted))()
    }

    /// The app is in the foreground: the client dials without waiting, and an open connection has
    /// to prove that it is alive.
    package func foreground() async { await enter(.foreground)() }

    /// Frees the memory that the journal can do without.
    package func memoryPressure() async { journal.releaseMemory() }
}

extension AccountClient: AppLifeFollower {
    private var followers: [any AppLifeFollower] {
        let features: [(any AppLifeFollower)?] = [forms, reminders, chains, notices, channels]
        return features.compactMap(\.self)
    }

    /// Tells every feature of it before the next change: the last phase holds in all of them.
    package func enter(_ phase: AppPhase) -> @Sendable () async -> Void {
        let rests = life.withLock { _ in followers.map { $0.enter(phase) } }
        return { [notices] in
            await withDiscardingTaskGroup { group in
                for rest in rests { group.addTask { await rest() } }
            }
            guard phase != .foreground else { return }
            // The arrivals of the last moment.
            _ = await notices?.settled(within: .seconds(1))
        }
    }
}

extension ConnectionState {
    fileprivate var isOpen: Bool {
        switch self {
        case .connected, .expiring: true
        case .idle, .connecting, .stuck, .waiting, .offline, .suspended, .stopped: false
        }
    }
}
