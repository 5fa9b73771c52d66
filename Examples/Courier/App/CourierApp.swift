// Glue: with NotificationService.swift, everything that connects the app with Reprise.
import CourierCore
import RepriseApple
import RepriseUI
import SwiftUI

@main struct CourierApp: App {
    @UIApplicationDelegateAdaptor(Delegate.self) var delegate

    var body: some Scene {
        WindowGroup {
            RootView(courier: delegate.courier, client: delegate.client).reprise(delegate.client)
        }
    }
}

final class Delegate: RepriseAppDelegate {
    let courier = Courier(
        in: .applicationSupportDirectory, office: "http://127.0.0.1:8081",
        transport: URLSessionTransport(), notifications: SystemNotifications(),
        transfers: try? URLSessionTransfers(identifier: "org.example.courier.photos"))

    override func configure(_ configuration: inout RepriseConfiguration) {
        configuration.server = "http://127.0.0.1:8080"
        configuration.appGroup = "group.org.example.courier"
        configuration.tokens = courier.tokens
        configuration.forms = .init()
        configuration.reminders = courier.reminders
        configuration.chains = courier.chains
        configuration.notices = .init()
    }

    override func launched(_ client: RepriseClient) async throws {
        try await courier.run(beside: client)
    }
}
