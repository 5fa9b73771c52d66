// Not run by the project's own tests, which run on Linux; compiled only on Apple's systems.
#if canImport(Network)
    public import Reprise
    import RepriseApple

    extension RepriseConfiguration {
        /// A configuration with the system's parts: network, notifications, web views, background.
        ///
        /// ```swift
        /// var configuration = RepriseConfiguration.system(server: "https://chat.example.org")
        /// configuration.notices = .init()
        /// let client = RepriseClient(configuration)
        /// ```
        ///
        /// - Parameter server: `https://` with the host.
        /// - Returns: no feature is configured in it.
        public static func system(server: String = "") -> RepriseConfiguration {
            var configuration = RepriseConfiguration(server: server)
            configuration.dialer = URLSessionDialer()
            configuration.transport = URLSessionTransport()
            configuration.notifications = SystemNotifications()
            configuration.webViews = WKWebViews()
            configuration.deviceStatus = SystemDeviceStatus()
            configuration.channels.network = SystemNetwork()
            #if canImport(BackgroundTasks) && canImport(UIKit)
                configuration.scheduler = SystemBackgroundScheduler()
            #endif
            return configuration
        }
    }
#endif
