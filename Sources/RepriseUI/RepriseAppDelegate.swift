// Not run by the project's own tests, which run on Linux; compiled only with UIKit.
#if canImport(UIKit) && !os(watchOS)
    public import Foundation
    public import Reprise
    import RepriseApple
    public import UIKit
    import UserNotifications

    /// An app's delegate with a client: opens, runs, and takes taps and pushes.
    ///
    /// ```swift
    /// final class Delegate: RepriseAppDelegate {
    ///     override func configure(_ configuration: inout RepriseConfiguration) {
    ///         configuration.server = "https://chat.example.org"
    ///         configuration.notices = Notices.Configuration()
    ///     }
    /// }
    /// ```
    ///
    /// An override of a function calls `super`. An app with a delegate of its own calls the same
    /// functions of ``client``, each of which is named here.
    @MainActor
    open class RepriseAppDelegate: UIResponder, UIApplicationDelegate {
        /// The client, made when it is first used.
        public private(set) lazy var client: RepriseClient = {
            var configuration = RepriseConfiguration.system()
            configure(&configuration)
            return RepriseClient(configuration)
        }()

        private lazy var taps = SystemNotificationDelegate(telling: client)
        private var life: SystemAppLife?
        private var running: Task<Void, Never>?

        /// Configures the client: its server and its features; the system's parts are set.
        open func configure(_ configuration: inout RepriseConfiguration) {}

        /// Runs the client, and listens for taps.
        open func application(
            _ application: UIApplication,
            didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]? = nil
        ) -> Bool {
            UNUserNotificationCenter.current().delegate = taps
            life = SystemAppLife(of: client)
            // What is wrong is in the client's state and log.
            running = Task { [client] in try? await client.run() }
            return true
        }

        /// Records the tap that launched the app; it may come here, to the notification centre's
        /// delegate, or to both: it is one.
        open func application(
            _ application: UIApplication, configurationForConnecting session: UISceneSession,
            options: UIScene.ConnectionOptions
        ) -> UISceneConfiguration {
            if let response = options.notificationResponse {
                do {
                    try client.record(NotificationResponse(response))
                } catch {
                    NSLog("Reprise could not record a notification's response: %@", "\(error)")
                }
            }
            return UISceneConfiguration(name: nil, sessionRole: session.role)
        }
    }

    extension RepriseConfiguration {
        /// A configuration with the system's parts: network, notifications, web views, background.
        @MainActor
        public static func system(server: String = "") -> RepriseConfiguration {
            var configuration = RepriseConfiguration(server: server)
            configuration.dialer = URLSessionDialer()
            configuration.transport = URLSessionTransport()
            configuration.notifications = SystemNotifications()
            configuration.webViews = WKWebViews()
            configuration.scheduler = SystemBackgroundScheduler()
            configuration.deviceStatus = SystemDeviceStatus()
            configuration.channels.network = SystemNetwork()
            return configuration
        }
    }
#endif
