import Foundation
package import Reprise

/// A message about an order.
package struct OrderNote: Codable, Hashable, Sendable {
    package var text: String

    package init(text: String) { self.text = text }
}

/// The core of a courier's app: a chat for each order, forms, reminders of shifts, the proof of a
/// delivery, notices.
package final class Courier: Sendable {
    package let client: RepriseClient

    /// - Parameters:
    ///   - configuration: with what the platform has; the features are set here.
    ///   - photos: the folder of the courier's photos.
    ///   - shifts: the courier's shifts.
    package init(
        _ configuration: RepriseConfiguration, photos: URL,
        shifts: any ReminderStore = MemoryReminderStore()
    ) {
        var configuration = configuration
        configuration.forms = Forms.Configuration()
        configuration.reminders = Reminders.Configuration(store: shifts)
        configuration.reminders?.sort = "shift"
        configuration.reminders?.zone = { .gmt }
        configuration.notices = Notices.Configuration()
        let standard = StandardWorkers(
            sandbox: Sandbox(["photos": photos]), transport: configuration.transport,
            guard: AddressGuard(allowed: ["127.0.0.1:80"]))
        let tell = Tell()
        configuration.chains = Chains.Configuration(
            workers: standard.all + [FramePhoto(photos: photos), tell], chains: [Proof.chain])
        client = RepriseClient(configuration)
        tell.client.set(client)
    }

    package func chat(about order: String) -> TypedChannel<OrderNote> {
        client.channel("order-\(order)", of: OrderNote.self)
    }

    /// Follows the chat about an order; each message is given at least once.
    package func follow(
        order: String, _ read: @escaping @Sendable (OrderNote) async -> Void
    ) async throws {
        try await chat(about: order).consume(as: "inbox") { message in
            if case .body(let note) = message.content { await read(note) }
        }
    }

    /// Asks for a review, once the parcel is there.
    package func delivered(order: String) async throws {
        try await client.recordEvent("delivered", properties: ["order": order])
    }
}
