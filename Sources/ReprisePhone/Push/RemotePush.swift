public import Foundation
public import RepriseCore

/// A remote notification as it reaches the device: the payload and the headers that it was sent with, understood.
///
/// - SeeAlso: "Generating a remote notification" and "Sending notification requests to APNs" in Apple's documentation;
///   `docs/phone.md` has what the phone does with it.
public struct RemotePush: Hashable, Sendable, Codable {
    /// What it is for (`apns-push-type`).
    public enum Kind: String, Hashable, Sendable, Codable {
        /// It shows something, plays a sound, or changes the badge.
        case alert
        /// It wakes the app and shows nothing.
        case background
    }

    /// The most bytes of a payload.
    public static let payloadBytes = 4_096
    /// The most bytes of a collapse id.
    public static let collapseBytes = 64

    /// What it is for.
    public var kind: Kind
    /// The identity of this push (`apns-id`).
    public var id: String
    /// Pushes with the same one are shown as one (`apns-collapse-id`).
    public var collapseID: String?
    /// Until when it is worth delivering (`apns-expiration`); nil for as long as APNs likes.
    public var expiration: WallTime?
    /// What it shows; ``NotificationContent/info`` is the whole payload.
    public var content: NotificationContent
    /// Whether it has an alert, with a text or an empty one.
    public var hasAlert: Bool
    /// Whether it wakes the app (`content-available`).
    public var wakesApp: Bool
    /// Whether a service extension may change it (`mutable-content`).
    public var isMutable: Bool

    /// The name under which it stands in the notification centre.
    public var requestID: String { collapseID ?? id }
    /// Whether it shows and plays nothing and leaves the badge.
    public var isSilent: Bool {
        kind == .background || !hasAlert && content.badge == nil && !content.sound
    }

    /// Understands what was sent.
    ///
    /// - Parameters:
    ///   - payload: the body, JSON of at most 4,096 bytes.
    ///   - headers: `apns-…`; their names in any case, others are passed over.
    ///   - newID: the `apns-id` where none was sent.
    /// - Throws: ``PushRefusal``.
    public init(payload: [UInt8], headers: [String: String] = [:], newID: UUID = UUID())
        throws(PushRefusal)
    {
        guard !payload.isEmpty else {
            throw PushRefusal(.payloadEmpty, "There is no payload.")
        }
        guard payload.count <= Self.payloadBytes else {
            throw PushRefusal(
                .payloadTooLarge,
                "The payload has \(payload.count) bytes; \(Self.payloadBytes) are allowed.")
        }
        let headers = Dictionary(
            headers.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first }
        )
        id = try Self.messageID(headers["apns-id"]) ?? newID.uuidString.lowercased()
        collapseID = try Self.collapseID(headers["apns-collapse-id"])
        expiration = try Self.expiration(headers["apns-expiration"])
        kind = try Self.kind(headers["apns-push-type"])
        let aps = try PushPayload.aps(payload)
        content = aps.content(info: payload)
        hasAlert = aps.alert != nil
        wakesApp = aps.wakesApp
        isMutable = aps.isMutable
        try checkPriority(headers["apns-priority"])
    }

    private static func messageID(_ text: String?) throws(PushRefusal) -> String? {
        guard let text else { return nil }
        guard let id = UUID(uuidString: text) else {
            throw PushRefusal(.badMessageID, "apns-id is not a UUID.")
        }
        return id.uuidString.lowercased()
    }

    private static func collapseID(_ text: String?) throws(PushRefusal) -> String? {
        guard let text else { return nil }
        guard (1...collapseBytes).contains(text.utf8.count) else {
            throw PushRefusal(
                .badCollapseID, "apns-collapse-id must have 1 to \(collapseBytes) bytes.")
        }
        return text
    }

    /// 0 is the past: such a push is delivered at once or not at all.
    private static func expiration(_ text: String?) throws(PushRefusal) -> WallTime? {
        guard let text else { return nil }
        guard let seconds = Int64(text), (0...(Int64.max / 1_000)).contains(seconds) else {
            throw PushRefusal(
                .badExpirationDate, "apns-expiration is not a number of seconds since 1970.")
        }
        return WallTime(milliseconds: seconds * 1_000)
    }

    private static func kind(_ text: String?) throws(PushRefusal) -> Kind {
        guard let text else { return .alert }
        guard let kind = Kind(rawValue: text) else {
            throw PushRefusal(
                .invalidPushType, "apns-push-type must be alert or background on this phone.")
        }
        return kind
    }

    private func checkPriority(_ text: String?) throws(PushRefusal) {
        guard let text else { return }
        guard ["1", "5", "10"].contains(text) else {
            throw PushRefusal(.badPriority, "apns-priority must be 10, 5 or 1.")
        }
        guard text != "10" || !isSilent else {
            throw PushRefusal(
                .badPriority, "A push that shows nothing must have apns-priority 5.")
        }
    }
}
