package import RepriseCore

/// How far a message has come to one device of its reader.
package struct DeviceDelivery: Hashable, Sendable {
    package var device: EntryID
    /// `ios`, `web`, …; nil if it was not registered, but has connected.
    package var platform: String?
    package var lastSeen: WallTime
    /// The services by which it can be pushed.
    package var services: [PushService]
    /// Whether the device has confirmed it.
    package var isDelivered: Bool
    /// Whether a provider has accepted a push of it, or of a later one of the channel.
    package var isPushed: Bool
}

/// A push that waits to be sent, or to be sent again.
package struct WaitingPush: Hashable, Sendable {
    package var device: EntryID
    package var service: PushService
    /// How often it was tried.
    package var attempts: Int
    /// When it is tried next, at the earliest.
    package var due: WallTime
    package var expires: WallTime
}
