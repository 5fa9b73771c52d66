package import RepriseCore

/// A remote push, parsed from its payload and headers.
package struct PhonePush: Hashable, Sendable, Codable {
    /// The notification; its id is the collapse id, or a random one.
    ///
    /// Nil for a push that shows nothing.
    package var alert: NotificationRequest?
    /// The badge of a push that shows nothing.
    package var badge: Int?
    /// Whether it wakes the app (`content-available`).
    package var wakesApp: Bool
    /// Whether the service extension may change it (`mutable-content`).
    package var isMutable: Bool
    /// The payload, a JSON object as UTF-8.
    package var payload: [UInt8]
    /// Its expiry while the device is offline; nil: never; the past: at once.
    package var expires: WallTime?

    package init(
        alert: NotificationRequest?, badge: Int? = nil, wakesApp: Bool, isMutable: Bool = false,
        payload: [UInt8], expires: WallTime? = nil
    ) {
        self.alert = alert
        self.badge = badge
        self.wakesApp = wakesApp
        self.isMutable = isMutable
        self.payload = payload
        self.expires = expires
    }
}
