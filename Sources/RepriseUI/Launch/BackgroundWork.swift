package import Reprise

/// The background time that a client's features ask for, by the identifiers of their requests.
package struct BackgroundWork: Sendable {
    private var chains: String?
    private var reminders: String?

    /// Takes them from the configured features.
    package init(_ configuration: RepriseConfiguration) {
        chains = configuration.chains?.slotID
        reminders = configuration.reminders?.refreshTask
    }

    /// What the app registers with the system before it has finished launching.
    package var identifiers: [String] { [chains, reminders].compactMap(\.self) }

    /// Uses a slot for the feature that has asked for it; returns when the slot is complete, as
    /// failed if nobody has, or if the journal cannot be opened.
    package func use(_ slot: any BackgroundSlot, of client: RepriseClient) async {
        do {
            switch slot.id {
            case chains: return try await client.chains.slot(slot)
            case reminders: return try await client.reminders.slot(slot)
            default: break
            }
        } catch {
            // Why it cannot be opened is in the client's state and log.
        }
        await slot.complete(success: false)
    }
}
