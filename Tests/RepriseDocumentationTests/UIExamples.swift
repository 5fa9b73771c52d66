// Compiled by scripts/check-apple.
#if canImport(UIKit) && canImport(SwiftUI)
    import RepriseApple
    import RepriseUI
    import SwiftUI
    import UserNotifications

    nonisolated struct Photo: Codable, Sendable {
        var name: String
    }

    private struct ChatView: View {
        let chat: ChannelModel<Note>

        var body: some View {
            List(chat.messages) { message in
                switch message.content {
                case .body(let note): Text(note.text)
                case .deleted: Text("Deleted")
                case .unreadable: Text("Update the app to read this")
                }
            }
            .repriseVisible(chat)
        }
    }

    private struct Models: View {
        let chat: ChannelModel<Photo>
        let upload: ChainModel
        let badge: BadgeModel
        let inbox: ConversationsModel
        let forms: FormsStateModel
        @Environment(ClientModel.self) private var model

        init(_ client: RepriseClient, _ id: ChainID) {
            chat = client.model(for: client.channel("general", of: Photo.self))
            upload = client.model(for: id)
            badge = client.badgeModel
            inbox = client.conversationsModel()
            forms = client.formsModel
        }

        var body: some View {
            if let problem = model.problem { Text(problem.message) }
            Text("\(badge.count) unread, \(chat.typists.count) typing")
            List(inbox.conversations) { conversation in
                LabeledContent(conversation.displayName, value: "\(conversation.unread)")
            }
            ProgressView(value: upload.fraction)
            if forms.form != nil { Text("A form is over this screen") }
        }
    }

    private struct Home: View {
        let client: RepriseClient
        let isOnboarding: Bool

        var body: some View {
            NavigationStack { ChainsView(client) }
                .reprise(client, canPresent: !isOnboarding)
            DebugView(client)
        }
    }

    @MainActor
    final class OwnDelegate: UIResponder, UIApplicationDelegate {
        let transfers = try? URLSessionTransfers(
            identifier: "org.example.courier.chains",
            folder: URL.applicationSupportDirectory.appending(path: "transfers"))
        private(set) lazy var client: RepriseClient = {
            var configuration = RepriseConfiguration.system(server: "https://chat.example.org")
            configuration.notices = .init()
            return RepriseClient(configuration)
        }()
        private lazy var taps = SystemNotificationDelegate(telling: client)
        private var life: SystemAppLife?

        func application(
            _ application: UIApplication,
            didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]? = nil
        ) -> Bool {
            UNUserNotificationCenter.current().delegate = taps
            let client = client
            for id in client.backgroundTasks {
                SystemBackgroundScheduler.register(id) { slot in await client.use(slot) }
            }
            life = SystemAppLife(of: client)
            Task { try await client.run() }
            application.registerForRemoteNotifications()
            return true
        }

        func application(
            _ application: UIApplication,
            didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data
        ) {
            Task { try await client.registered(pushToken: Array(deviceToken)) }
        }

        func application(
            _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
            fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void
        ) {
            let info = NotificationContent.info(userInfo)
            Task {
                await client.receivedPush(info)
                completionHandler(.newData)
            }
        }

        func application(
            _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
            completionHandler: @escaping () -> Void
        ) {
            guard let transfers else { return completionHandler() }
            transfers.handleEvents(completionHandler) { [client] in await client.transfersEnded() }
        }

        func application(
            _ application: UIApplication,
            configurationForConnecting session: UISceneSession, options: UIScene.ConnectionOptions
        ) -> UISceneConfiguration {
            if let response = options.notificationResponse {
                try? client.record(NotificationResponse(response))
            }
            return UISceneConfiguration(name: nil, sessionRole: session.role)
        }
    }

    @MainActor
    final class OwnScene: UIResponder, UIWindowSceneDelegate {
        var client: RepriseClient?

        func scene(
            _ scene: UIScene, willConnectTo session: UISceneSession,
            options: UIScene.ConnectionOptions
        ) {
            // A restored scene connects here alone.
            if let response = options.notificationResponse {
                try? client?.record(NotificationResponse(response))
            }
            self.scene(scene, openURLContexts: options.urlContexts)
        }

        func scene(_ scene: UIScene, openURLContexts contexts: Set<UIOpenURLContext>) {
            for context in contexts { _ = try? client?.open(context.url) }
        }
    }
#endif
