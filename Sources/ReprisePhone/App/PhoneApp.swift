public import Foundation
public import RepriseCore

/// The system, as a process that a phone has launched meets it: the ports of RepriseCore, and why
/// it was launched.
///
/// ```swift
/// let phone = try await PhoneApp.connect()
/// try await phone.notifications.requestAuthorization(provisional: false)
/// await phone.run(life: reprise, notifications: handler)
/// ```
///
/// When the phone is switched off, so is the process: SIGKILL, as a device whose battery is taken
/// out.
public final class PhoneApp: Sendable {
    /// The app's name on the phone.
    public let name: String
    /// Why this process was launched.
    public let launch: PhoneLaunch
    /// The app's data folder; outlives the process.
    public let folder: URL
    private let link: PhoneLink

    private init(_ link: PhoneLink, _ welcome: AppWelcome) {
        self.link = link
        name = welcome.app
        launch = welcome.launch
        folder = URL(fileURLWithPath: welcome.folder, isDirectory: true)
    }

    /// Connects to the phone that has launched this process; once in its life.
    ///
    /// - Returns: the system.
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable` if no phone has launched it,
    ///   `.unreachable`, `.refused` if the phone does not know it (any more).
    public static func connect() async throws -> PhoneApp {
        let environment = ProcessInfo.processInfo.environment
        guard let socket = environment[PhoneEnvironment.socket],
            let token = environment[PhoneEnvironment.token]
        else {
            throw RepriseError(
                .unavailable, "This process was not launched by a phone.",
                remedy: "Install it with `reprise-lab phone install` and launch it there.")
        }
        return try await connect(to: socket, token: token) { kill(getpid(), SIGKILL) }
    }

    /// The same for a process that stands in for the launched one.
    package static func connect(
        to socket: String, token: String, whenOff: @escaping @Sendable () -> Void
    ) async throws -> PhoneApp {
        let (link, welcome) = try await PhoneLink.connect(
            to: socket, token: token, whenOff: whenOff)
        return PhoneApp(link, welcome)
    }

    /// The notification centre.
    public var notifications: any UserNotifications { PhoneNotifications(link: link) }
    /// The background scheduler.
    public var scheduler: any BackgroundScheduler { PhoneScheduler(link: link) }
    /// Transfers that the phone runs, whether this process lives or not.
    public var transfers: any TransferService { PhoneTransfers(link: link) }
    /// Power, network and free disk space.
    public var status: any DeviceStatus { link.device }
    /// The network.
    public var network: any NetworkStatus { link.network }
    /// The phone's clocks, which a scenario can move.
    public var timekeeper: any Timekeeper { link.clocks }
    /// The phone's time zone.
    public var zone: TimeZone { link.clocks.zone }

    /// Registers the use of a background task, once in this process and before `run`, whose `tasks`
    /// uses it.
    ///
    /// - Parameter id: one of the tasks that the app has declared.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` for a second registration, for
    ///   which the system would end the app, and for one after the launch; `.refused` for a task
    ///   that was not declared.
    public func register(_ id: String) async throws { try await link.register(id) }

    /// Wraps a transport in the phone's network: off, on, or slow.
    ///
    /// - Parameter transport: performs the requests.
    /// - Returns: the same behind the phone's network.
    public func transport(over transport: any HTTPTransport) -> any HTTPTransport {
        PhoneTransport(transport: transport, network: link.network)
    }

    /// Wraps a dialer in the phone's network; its connections break when the phone goes offline,
    /// and their end is reported by the rules of this process's launch.
    ///
    /// - Parameter dialer: opens the connections.
    /// - Returns: the same behind the phone's network.
    public func dialer(over dialer: any SocketDialer) -> any SocketDialer {
        PhoneDialer(dialer: dialer, network: link.network, rules: link.rules)
    }

    /// The DevTools address of the phone's browser; started at the first request.
    ///
    /// - Returns: a WebSocket URL on loopback.
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable` if no browser is installed,
    ///   `.timedOut`.
    public func browser() async throws -> String {
        guard case .browser(let address) = try await link.ask(.browser) else { throw Self.nonsense }
        return address
    }

    /// Web views in the phone's browser, which end with this process.
    ///
    /// One is opened once the app has a key window: not in the background, and by the rule
    /// ``PhoneRules/keyWindow`` of this process's launch.
    ///
    /// - Parameter screen: the screen that pages see.
    /// - Returns: a host of web views.
    /// - Throws: as ``browser()``.
    public func webViews(screen: ChromiumWebViews.Screen = .init()) async throws -> ChromiumWebViews
    {
        // A host's name has fewer letters than an app's.
        let host = name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }.prefix(60)
        return ChromiumWebViews(
            address: try await browser(), app: "a" + String(host), screen: screen,
            window: { [link] in try await link.windows.key() })
    }

    /// Writes an observation of the app into the phone's log, with the time of this call.
    ///
    /// Returns when it has left the process, so that a kill does not lose it.
    ///
    /// - Parameters:
    ///   - what: a word; the log has it with `app.` before it.
    ///   - detail: the rest, at most 4,096 bytes.
    public func report(_ what: String, _ detail: String = "") async {
        let uptime = link.clocks.uptime()
        await link.say(
            .report(
                what: what, detail: detail,
                microseconds: Int64(uptime / .microseconds(1))))
    }

    /// Connects the app's handlers to the system, until the task is cancelled.
    ///
    /// Earlier events wait; each handler runs in a task of its own, begun in order. An order counts
    /// as done when its handler returns: only then a response is completed.
    ///
    /// - Parameters:
    ///   - life: notified of foreground, background and memory.
    ///   - notifications: the delegate of the notification centre.
    ///   - scene: gets a tap from a scene's connection options after the delegate has had it (see
    ///     ``PhoneLaunch/response`` for the one before); nil: the delegate's
    ///     ``RepriseCore/NotificationHandler/received(_:)`` again.
    ///   - webViewCrash: crashes the web views' process.
    ///   - transfersDone: notified that all of the app's transfers are done, when it was woken for
    ///     that (`handleEventsForBackgroundURLSession`); until it returns the app is not suspended.
    ///   - tasks: runs a task of the background scheduler.
    public func run(
        life: any AppLife, notifications: any NotificationHandler,
        scene: (@Sendable (NotificationResponse) async -> Void)? = nil,
        webViewCrash: @escaping @Sendable () async -> Void = {},
        transfersDone: @escaping @Sendable () async -> Void = {},
        tasks: @escaping @Sendable (any BackgroundSlot) async -> Void = { _ in }
    ) async {
        let handlers = PhoneOrders(
            link: link, life: life, notifications: notifications,
            scene: scene ?? { await notifications.told(of: $0) }, webViewCrash: webViewCrash,
            transfersDone: transfersDone, tasks: tasks)
        link.launched()
        await handlers.run()
    }

    static let nonsense = RepriseError(
        .malformed, "The phone has answered something else than it was asked.")
}
