#if canImport(UIKit)
    import Reprise
    import RepriseApple
    import SwiftUI

    /// A till, a reminder, and the place that a form's button leads to.
    struct ShopView: View {
        let shop: Shop
        @State private var place = "Nowhere yet"
        @State private var fault: String?

        var body: some View {
            VStack(spacing: 24) {
                Text(place).font(.title)
                Button("Buy for 12") { attempt { try await buy() } }
                Button("Remind me in five seconds") { attempt { try await remind() } }
                if let fault { Text(fault).foregroundStyle(.red) }
            }
            .task { await followLinks() }
        }

        private func buy() async throws {
            // Durable when it returns; the form comes as soon as there is a page for it.
            _ = try await shop.reprise().forms?.record("checkout", properties: #"{"total": 12}"#)
        }

        private func remind() async throws {
            let notifications = SystemNotifications()
            guard try await notifications.requestAuthorization(provisional: false) else { return }
            let content = NotificationContent(
                title: "Your cart", body: "There is something in it.",
                info: Array(#"{"plan": "vip"}"#.utf8))
            try await notifications.add(
                NotificationRequest(
                    id: "cart", content: content, trigger: .after(seconds: 5, repeats: false)))
        }

        /// A link is done with when the next one is asked for.
        private func followLinks() async {
            do {
                guard let forms = try await shop.reprise().forms else { return }
                for await link in forms.deepLinks { place = link.url }
            } catch {
                fault = "\(error)"
            }
        }

        private func attempt(_ body: @escaping () async throws -> Void) {
            Task {
                do {
                    try await body()
                } catch {
                    fault = "\(error)"
                }
            }
        }
    }
#endif
