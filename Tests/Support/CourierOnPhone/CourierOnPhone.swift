import CourierSources
import Foundation
import Reprise
import RepriseNIO
import ReprisePhone
import RepriseUI

/// The courier's app on the phone: the core of Examples/Courier as it stands, glue like the app's
/// own, and a screen that reports instead of being drawn.
///
/// `CourierOnPhone SERVER OFFICE`. It reports: `process` with the launch's reason; `sceneRestored`
/// where the system restored one, with the tap of `configurationForConnecting`; `state`; `orders`
/// with all; `talks` with all; `did` with a deed; `screen` with the order on it; `talk` with the
/// conversation on it; `webView`; `form` with its title.
///
/// `CourierOnPhone extension` is its service extension.
@main
enum CourierOnPhone {
    static func main() async {
        do {
            guard CommandLine.arguments.count == 3 else { return try await CourierExtension.run() }
            try await run(server: CommandLine.arguments[1], office: CommandLine.arguments[2])
        } catch {
            print(error)
            exit(1)
        }
    }

    private static func run(server: String, office: String) async throws {
        let phone = try await PhoneApp.connect()
        await phone.report("process", "\(phone.launch.reason)")
        let courier = Courier(
            in: phone.folder, office: office, transport: phone.transport(over: NIOTransport()),
            notifications: phone.notifications, transfers: phone.transfers)
        let browser = CourierBrowser(phone: phone)
        let client = RepriseClient(configuration(of: courier, browser, on: phone, server: server))
        for id in client.backgroundTasks { try await phone.register(id) }
        if phone.launch.isSceneRestored {
            let tap = phone.launch.configurationResponse
            await phone.report("sceneRestored", tap?.tapID.text ?? "no tap")
        }
        // `scene(_:willConnectTo:)`.
        if let response = phone.launch.response { try client.record(response) }
        let screen = await CourierScreen(
            phone: phone, courier: courier, client: client, browser: browser)
        await screen.follow()
        Task {
            do { try await courier.run(beside: client) } catch {
                await phone.report("courierEnded", "\(error)")
            }
        }
        Task { try await client.run() }
        await phone.run(
            life: CourierLife(screen: screen), notifications: client,
            transfersDone: {
                guard await !screen.isSeen else { return }
                await client.transfersEnded()
            },
            tasks: { await client.use($0) })
    }

    private static func configuration(
        of courier: Courier, _ browser: CourierBrowser, on phone: PhoneApp, server: String
    ) -> RepriseConfiguration {
        var configuration = RepriseConfiguration(server: server)
        configuration.folder = phone.folder.appendingPathComponent("reprise")
        configuration.dialer = phone.dialer(over: NIODialer())
        configuration.transport = phone.transport(over: NIOTransport())
        configuration.notifications = phone.notifications
        configuration.scheduler = phone.scheduler
        configuration.deviceStatus = phone.status
        configuration.clock = phone.timekeeper
        configuration.channels.network = phone.network
        configuration.webViews = browser
        configuration.journal.sharedFolder = CourierExtension.sharedFolder(in: phone.folder)
        configuration.tokens = courier.tokens
        configuration.forms = .init()
        configuration.reminders = courier.reminders
        configuration.reminders?.zone = { phone.zone }
        configuration.chains = courier.chains
        configuration.notices = .init()
        return configuration
    }
}
