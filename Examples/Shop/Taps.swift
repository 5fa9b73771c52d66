#if canImport(UIKit)
    import Reprise
    import UserNotifications

    /// Records what a person does with notifications; the system hears of it only then.
    struct Taps: NotificationHandler {
        let shop: Shop

        func willPresent(_ notification: DeliveredNotification) async -> PresentationOptions {
            [.banner, .list, .sound]
        }

        func received(_ response: NotificationResponse) async {
            // A few tries for a full disk; who dies here is told again by nobody, so they are made
            // at once.
            for attempt in 0..<5 {
                do {
                    _ = try await shop.reprise().forms?.received(response)
                    return
                } catch {
                    try? await Task.sleep(for: .milliseconds(200 << attempt))
                }
            }
        }

        func receivedPush(_ info: [UInt8]) async {
            // A silent push is a hint: there may be a new catalogue.
            try? await shop.reprise().forms?.refresh()
        }
    }
#endif
