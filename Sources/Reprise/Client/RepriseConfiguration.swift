public import Foundation
public import Logging
public import RepriseChains
public import RepriseChannels
public import RepriseCore
public import RepriseForms
public import RepriseJournal
public import RepriseNotices
public import RepriseReminders

/// What a ``RepriseClient`` works with: the server, the platform's parts, and the features.
///
/// ```swift
/// var configuration = RepriseConfiguration(server: "https://chat.example.org")
/// configuration.dialer = NIODialer()
/// configuration.notices = Notices.Configuration()
/// ```
///
/// A feature that is nil costs nothing; what was recorded for it in an earlier run waits.
public struct RepriseConfiguration: Sendable {
    /// The server: `http://` or `https://` with host and port.
    public var server: String
    /// A folder for Reprise alone; nil: `reprise` in the app's Application Support.
    public var folder: URL?
    /// The app group that the app's extensions share, as in the entitlements of both; nil: none.
    ///
    /// What an extension shows and records is in `reprise` of the group's container; the journal is
    /// not: a process that is suspended while it has a shared file locked is killed (0xdead10cc).
    public var appGroup: String?
    /// Whether to connect while nobody is signed in, as to a server without users.
    public var connectsAnonymously = false
    /// The source of tokens for every user, also for one who is still signed in from an earlier
    /// run; nil: the one given to ``RepriseClient/signIn(_:tokens:)``.
    public var tokens: TokenProvider?

    // MARK: The platform

    /// Opens WebSockets: `URLSessionDialer` of RepriseApple, `NIODialer` of RepriseNIO.
    public var dialer: (any SocketDialer)?
    /// Performs HTTP requests: `URLSessionTransport` of RepriseApple, `NIOTransport` of RepriseNIO.
    public var transport: (any HTTPTransport)?
    /// The system's notification centre; reminders and notices need it.
    public var notifications: (any UserNotifications)?
    /// Grants time in the background; nil: reminders and chains work only while the app runs.
    public var scheduler: (any BackgroundScheduler)?
    /// The device's conditions, which chains may require; nil: always met.
    public var deviceStatus: (any DeviceStatus)?
    /// Makes web views; forms need it.
    public var webViews: (any WebViewHost)?
    /// The clocks of the journal and every feature, as `ManualClock` of RepriseTesting; nil: each
    /// configuration's own `timekeeper`, which is the system's.
    public var clock: (any Timekeeper)?

    // MARK: The features

    /// The connection, and the repair of holes.
    public var channels = Channels.Configuration()
    /// How long messages stay on the device after their readers have finished them.
    public var messages = MessageRetention()
    /// Forms in a web view; nil: none.
    public var forms: Forms.Configuration?
    /// The source of forms; nil: ``server``.
    public var catalogue: CatalogueSource?
    /// Reminders of the entities in the app's own store; nil: none.
    public var reminders: Reminders.Configuration?
    /// Chains; nil: none.
    public var chains: Chains.Configuration?
    /// Banners and the badge; nil: none.
    public var notices: Notices.Configuration?

    // MARK: Beneath

    /// The journal's limits, retention and retries.
    public var journal = Journal.Configuration()
    /// The app's own kinds of entries.
    public var kinds: [EntryKind] = []
    /// The app's own tables in the journal.
    public var schemas: [JournalSchema] = []
    /// Encodes bodies and properties.
    public var encoder: @Sendable () -> JSONEncoder = { JSONEncoder() }
    /// Decodes bodies.
    public var decoder: @Sendable () -> JSONDecoder = { JSONDecoder() }
    /// One line a fact at `info`, what fails at `error`; never a body or a token.
    ///
    /// Its level is `notice`: a client that works is silent.
    public var logger = {
        var logger = Logger(label: "reprise")
        logger.logLevel = .notice
        return logger
    }()

    /// Names the server; everything else has a default, or is needed by a feature alone.
    ///
    /// - Parameter server: `http://` or `https://` with host and port.
    public init(server: String = "") { self.server = server }

    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, `.badAddress`, whose remedy is
    ///   the line to write.
    func check() throws {
        func expect(_ isThere: Bool, _ what: String, _ line: String) throws {
            guard !isThere else { return }
            throw RepriseError(.badConfiguration, what, remedy: "Write configuration.\(line).")
        }
        try expect(!server.isEmpty, "No server is named.", #"server = "https://…""#)
        try ServerAddress.check(server)
        try AppGroupContainer.refuse(home)
        if appGroup != nil {
            guard sharedFolder != nil else {
                throw RepriseError(
                    .badConfiguration, "The app has no app group \(appGroup ?? "").",
                    remedy: "Add it under Signing & Capabilities, to the app and its extensions.")
            }
        }
        try expect(dialer != nil, "Nothing opens connections.", "dialer = NIODialer()")
        if forms != nil {
            try expect(webViews != nil, "Forms have no web view.", "webViews = WKWebViews()")
            try expect(
                transport != nil || catalogue != nil, "Nothing fetches the forms.",
                "transport = NIOTransport()")
        }
        if reminders != nil {
            try expect(
                reminders?.store != nil, "Reminders have no store.",
                "reminders = .init(store: …)")
        }
        try expect(
            notifications != nil || (reminders == nil && notices == nil),
            "Reminders and notices have no notification centre.",
            "notifications = SystemNotifications()")
        try expect(
            notifications != nil || chains?.chains.contains(where: \.notifies) != true,
            "Chains with notifications have no notification centre.",
            "notifications = SystemNotifications()")
        try account.check()
    }

    /// The part that each account's client takes.
    var account: AccountClient.Configuration {
        var account = AccountClient.Configuration()
        account.channels = channels
        account.journal = journal
        account.journal.sharedFolder = sharedFolder ?? journal.sharedFolder
        account.forms = forms
        account.reminders = reminders
        account.chains = chains
        account.notices = notices
        account.notices?.transport = notices?.transport ?? transport
        account.notifications = notifications
        account.messages = messages
        account.transport = transport
        account.kinds = kinds
        account.schemas = schemas
        account.journal.logger = logger.of("journal")
        account.channels.logger = logger.of("channels")
        account.forms?.logger = logger.of("forms")
        account.reminders?.logger = logger.of("reminders")
        account.chains?.logger = logger.of("chains")
        account.notices?.logger = logger.of("notices")
        if let clock { account.set(clock) }
        return account
    }

    /// The folder that extensions share; nil without an app group that the app has a right to.
    private var sharedFolder: URL? {
        #if canImport(Darwin)
            appGroup.flatMap {
                FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: $0)
            }?.appendingPathComponent("reprise")
        #else
            nil
        #endif
    }

    /// The folder, which is not made yet.
    var home: URL {
        let app = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        let support = FileManager.default
            .urls(for: .applicationSupportDirectory, in: .userDomainMask).first
        return folder
            ?? (support ?? URL(fileURLWithPath: "."))
            .appendingPathComponent(app).appendingPathComponent("reprise")
    }
}
