// Not run by the project's own tests, which run on Linux; compiled only with UIKit.
#if canImport(UIKit) && !os(watchOS)
    public import Foundation
    import Logging
    public import Reprise
    import RepriseApple
    public import UIKit
    public import UserNotifications

    /// An app's delegate with a client: opens it, runs it, and takes everything that the system
    /// tells an app.
    ///
    /// ```swift
    /// final class Delegate: RepriseAppDelegate {
    ///     override func configure(_ configuration: inout RepriseConfiguration) {
    ///         configuration.server = "https://chat.example.org"
    ///         configuration.notices = .init()
    ///     }
    ///
    ///     override func launched(_ client: RepriseClient) async throws {
    ///         try await client.channel("inbox", of: Note.self).consume(as: "inbox", save)
    ///     }
    /// }
    /// ```
    ///
    /// An override of any other function calls `super`; one that does not, or another delegate of
    /// the notification centre, is in the log with the line to write. docs/ui.md has the same calls
    /// for an app with a delegate of its own.
    @MainActor
    open class RepriseAppDelegate: UIResponder, UIApplicationDelegate {
        /// The delegate of this app; SwiftUI has one of its own in `UIApplication.shared.delegate`.
        static weak var current: RepriseAppDelegate?

        /// The client, made when it is first used.
        public private(set) lazy var client: RepriseClient = {
            var configuration = RepriseConfiguration.system()
            configure(&configuration)
            logger = configuration.logger
            takesPushes = configuration.notices != nil
            return RepriseClient(configuration)
        }()

        /// The notification centre's delegate, set at the launch.
        ///
        /// An app with one of its own returns it here; it calls `client.received(_:)` and
        /// `client.willPresent(_:)`.
        open var notificationDelegate: any UNUserNotificationCenterDelegate { taps }

        private lazy var taps = SystemNotificationDelegate(telling: client)
        private lazy var scenes = SceneModel.of(client)
        private var logger: Logger?
        private var takesPushes = false
        private var audit = DelegateAudit()
        private var life: SystemAppLife?
        private var observers: [any NSObjectProtocol] = []
        private var running: Task<Void, Never>?

        /// Configures the client: its server and its features; the system's parts are set.
        open func configure(_ configuration: inout RepriseConfiguration) {}

        /// Registers readers, and does what the app has to do beside the client: called once a
        /// launch, also in the background, while the client begins to run.
        ///
        /// It may go on as long as the app runs; what it throws is in the log. An override need not
        /// call `super`.
        open func launched(_ client: RepriseClient) async throws {}

        // MARK: Launching

        /// Begins to watch the launch.
        open func application(
            _ application: UIApplication,
            willFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]? = nil
        ) -> Bool {
            Self.current = self
            listen(UIApplication.didFinishLaunchingNotification) { $0.launchEnded() }
            listen(UIApplication.didBecomeActiveNotification) { $0.becameActive() }
            return true
        }

        /// Listens for taps, registers background tasks and for pushes, and runs the client.
        open func application(
            _ application: UIApplication,
            didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]? = nil
        ) -> Bool {
            audit.launched()
            let client = client
            for id in client.backgroundTasks {
                SystemBackgroundScheduler.register(id) { slot in await client.use(slot) }
            }
            launch()
            return true
        }

        private func launch() {
            guard running == nil else { return }
            Self.current = self
            // The centre does not keep it.
            UNUserNotificationCenter.current().delegate = notificationDelegate
            life = SystemAppLife(of: client)
            // What is wrong is in the client's state and log.
            running = Task { [client] in try? await client.run() }
            Task { [weak self, client] in
                do {
                    try await self?.launched(client)
                } catch {
                    self?.failed("What the app does at a launch", error)
                }
            }
            guard takesPushes else { return }
            audit.tokenRequested()
            UIApplication.shared.registerForRemoteNotifications()
            Task { [weak self] in
                try await Task.sleep(for: DelegateAudit.tokenTimeout)
                self?.report(self?.audit.tokenTimerFired())
            }
        }

        private func launchEnded() {
            SystemBackgroundScheduler.launched()
            report(audit.launchEnded())
            // Late is better than never.
            launch()
        }

        private func becameActive() {
            let delegate = UNUserNotificationCenter.current().delegate
            report(
                audit.notificationDelegate(
                    isOurs: delegate === notificationDelegate,
                    name: delegate.map { "\(type(of: $0))" }))
        }

        private func report(_ finding: DelegateAudit.Finding?) {
            if let finding { failed("The app's delegate", finding.error) }
        }

        private func failed(_ what: String, _ error: any Error) {
            logger?.error("\(what) has failed.", metadata: ["error": "\(error)"])
        }

        /// Observes at once, on the main thread, where the system posts these.
        private func listen(
            _ name: Notification.Name, _ body: @escaping @MainActor (RepriseAppDelegate) -> Void
        ) {
            observers.append(
                NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) {
                    [weak self] _ in
                    MainActor.assumeIsolated {
                        if let self { body(self) }
                    }
                })
        }

        // MARK: Pushes

        /// Registers the push token for every account.
        open func application(
            _ application: UIApplication,
            didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
        ) {
            audit.tokenAnswered()
            Task {
                do {
                    try await client.registered(pushToken: Array(deviceToken))
                } catch {
                    failed("Registering the push token", error)
                }
            }
        }

        /// Logs why there is no push token; the system is asked again at the next launch.
        open func application(
            _ application: UIApplication,
            didFailToRegisterForRemoteNotificationsWithError error: any Error
        ) {
            audit.tokenAnswered()
            failed("Registering for pushes", error)
        }

        /// Fetches what a push has announced, and tells the system then, after 25 seconds at the
        /// latest.
        open func application(
            _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
            fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
        ) {
            let info = NotificationContent.info(userInfo)
            Task {
                await client.receivedPush(info)
                completionHandler(.newData)
            }
        }

        // MARK: Transfers

        /// Takes the results of transfers that ended while the app did not run, lets chains go on,
        /// and tells the system then, after 25 seconds at the latest.
        ///
        /// The session is that of the ``RepriseApple/URLSessionTransfers`` which ``configure(_:)``
        /// has made.
        open func application(
            _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
            completionHandler: @escaping () -> Void
        ) {
            _ = client  // its configuration makes the service
            guard let transfers = URLSessionTransfers.service(identifier) else {
                failed(
                    "Taking the results of transfers",
                    RepriseError(
                        .badConfiguration, "No service has the identifier \(identifier).",
                        remedy: "Make URLSessionTransfers with it in configure(_:)."))
                return completionHandler()
            }
            transfers.handleEvents(completionHandler) { [client] in
                guard UIApplication.shared.applicationState == .background else { return }
                await client.transfersEnded()
            }
        }

        // MARK: Scenes and links

        /// Records the tap that the scene is connected for, and gives the scene a delegate that
        /// does the same for a restored one.
        ///
        /// The tap may come here, to the scene's delegate, to the notification centre's, or to
        /// several: it is one.
        open func application(
            _ application: UIApplication,
            configurationForConnecting connectingSceneSession: UISceneSession,
            options: UIScene.ConnectionOptions
        ) -> UISceneConfiguration {
            connected(options)
            let configuration = UISceneConfiguration(
                name: connectingSceneSession.configuration.name,
                sessionRole: connectingSceneSession.role)
            if connectingSceneSession.role == .windowApplication {
                configuration.delegateClass =
                    connectingSceneSession.configuration.delegateClass ?? RepriseSceneDelegate.self
            }
            return configuration
        }

        /// Opens a link, in an app without scenes.
        open func application(
            _ app: UIApplication, open url: URL,
            options: [UIApplication.OpenURLOptionsKey: Any] = [:]
        ) -> Bool { open(url) }

        /// Records the tap that a scene is connected for; call it in `scene(_:willConnectTo:)` of a
        /// scene delegate of your own.
        public func connected(_ options: UIScene.ConnectionOptions) {
            guard let response = options.notificationResponse else { return }
            do {
                try client.record(NotificationResponse(response))
            } catch {
                failed("Recording a tap", error)
            }
        }

        /// Records a link; call it in `scene(_:openURLContexts:)` of a scene delegate of your own.
        ///
        /// - Parameter url: the link.
        /// - Returns: whether it is Reprise's; any other is the app's own.
        @discardableResult
        public func open(_ url: URL) -> Bool {
            do {
                return try scenes.opened(url, by: .delegate)
            } catch {
                failed("Recording a link", error)
                return true
            }
        }
    }

    /// A scene's delegate that records taps and links for ``RepriseAppDelegate``.
    ///
    /// A scene that the system restores connects here alone. A subclass calls `super`.
    ///
    /// ```swift
    /// final class Scene: RepriseSceneDelegate { var window: UIWindow? }
    /// ```
    @MainActor
    open class RepriseSceneDelegate: UIResponder, UIWindowSceneDelegate {
        /// Records the tap and the links that the scene is connected for.
        open func scene(
            _ scene: UIScene, willConnectTo session: UISceneSession,
            options connectionOptions: UIScene.ConnectionOptions
        ) {
            RepriseAppDelegate.current?.connected(connectionOptions)
            open(connectionOptions.urlContexts)
        }

        /// Records the links that a running app is opened with.
        open func scene(_ scene: UIScene, openURLContexts URLContexts: Set<UIOpenURLContext>) {
            open(URLContexts)
        }

        private func open(_ contexts: Set<UIOpenURLContext>) {
            for context in contexts { RepriseAppDelegate.current?.open(context.url) }
        }
    }
#endif
