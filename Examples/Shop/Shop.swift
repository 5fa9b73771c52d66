#if canImport(UIKit)
    import Reprise
    import RepriseApple
    import SwiftUI
    import UserNotifications

    @main
    struct ShopApp: App {
        @UIApplicationDelegateAdaptor(Launch.self) private var launch

        var body: some Scene {
            WindowGroup { ShopView(shop: launch.shop) }
        }
    }

    /// What must be in place before the app has finished launching: whoever listens for taps.
    @MainActor
    final class Launch: NSObject, UIApplicationDelegate {
        let shop = Shop()
        // The notification centre does not keep its delegate.
        private lazy var taps = SystemNotificationDelegate(telling: Taps(shop: shop))

        func application(
            _ application: UIApplication,
            didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]? = nil
        ) -> Bool {
            UNUserNotificationCenter.current().delegate = taps
            shop.start()
            return true
        }

        func application(
            _ application: UIApplication, configurationForConnecting session: UISceneSession,
            options: UIScene.ConnectionOptions
        ) -> UISceneConfiguration {
            // The tap that launched the app may come here, to the delegate, or to both: it is one
            // event.
            if let response = options.notificationResponse {
                let response = NotificationResponse(response)
                Task { [taps = Taps(shop: shop)] in await taps.received(response) }
            }
            return UISceneConfiguration(name: nil, sessionRole: session.role)
        }
    }

    /// Opens Reprise once, and runs it as long as the app lives.
    @MainActor
    final class Shop {
        private static let server = "https://reprise.example"

        private var opening: Task<AccountClient, any Error>?
        private var running: Task<Void, Never>?
        private var life: SystemAppLife?

        /// The door; opened by who asks first, and again if that failed: before the first unlock
        /// the journal cannot be read.
        func reprise() async throws -> AccountClient {
            let task =
                opening
                ?? Task {
                    var configuration = AccountClient.Configuration()
                    configuration.forms = Forms.Configuration()
                    configuration.forms?.events = [
                        // A form for a tap of an hour ago may be wrong to show.
                        FormsEvent("opened_push", timeToLive: .seconds(3_600))
                    ]
                    return try await AccountClient.open(
                        at: .applicationSupportDirectory.appending(path: "reprise"),
                        server: Self.server, dialer: URLSessionDialer(),
                        configuration: configuration)
                }
            opening = task
            do {
                return try await task.value
            } catch {
                opening = nil
                throw error
            }
        }

        func start() {
            running = Task {
                while !Task.isCancelled {
                    do {
                        let reprise = try await reprise()
                        if life == nil { life = SystemAppLife(of: reprise) }
                        try await run(reprise)
                    } catch {
                        // A journal that cannot be opened yet; nothing is lost meanwhile that was
                        // recorded.
                        try? await Task.sleep(for: .seconds(2))
                    }
                }
            }
        }

        private func run(_ reprise: AccountClient) async throws {
            let catalogue = CatalogueSource(server: Self.server, transport: URLSessionTransport())
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await reprise.run() }
                group.addTask {
                    try await reprise.forms?.run(webViews: WKWebViews(), catalogue: catalogue)
                }
                try await group.waitForAll()
            }
        }
    }
#endif
