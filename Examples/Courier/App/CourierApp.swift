import RepriseUI
import SwiftUI

@main struct CourierApp: App {
    @UIApplicationDelegateAdaptor(Delegate.self) var delegate

    var body: some Scene {
        WindowGroup { RootView(client: delegate.client).reprise(delegate.client) }
    }
}

final class Delegate: RepriseAppDelegate {
    override func configure(_ configuration: inout RepriseConfiguration) {
        configuration.server = "https://chat.example.org"
        configuration.appGroup = "group.org.example.courier"
        configuration.forms = .init()
        configuration.reminders = .init(store: GoalStore.shared)
        configuration.chains = .init(workers: [Resize()], chains: [upload])
        configuration.notices = .init()
    }
}

struct AccountButtons: View {
    let client: RepriseClient

    var body: some View {
        Button("Sign in") { Task { try await client.signIn("ada") { try await Backend.token() } } }
        Button("Sign out") { Task { try await client.signOut() } }
    }
}
