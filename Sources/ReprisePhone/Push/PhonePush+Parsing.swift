package import Foundation
import RepriseCore

/// Parses a push, or refuses it as APNs would.
///
/// - SeeAlso: "Generating a remote notification" and "Sending notification requests to APNs" in
///   Apple's documentation; `docs/phone.md` has the phone's behaviour.
extension PhonePush {
    /// The most bytes of a payload.
    package static let payloadBytes = 4_096
    /// The most bytes of a collapse id.
    package static let collapseBytes = 64

    /// Whether it is a background push: no alert, no sound, no badge.
    package var isSilent: Bool { alert == nil && badge == nil }

    /// Parses a push.
    ///
    /// - Parameters:
    ///   - payload: the body, JSON of at most 4,096 bytes.
    ///   - headers: `apns-…`; names in any case, others are ignored.
    ///   - newID: the notification's id without `apns-collapse-id` and `apns-id`.
    /// - Throws: ``PushRefusal``.
    package init(payload: [UInt8], headers: [String: String] = [:], newID: UUID = UUID())
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
        let id = try Self.messageID(headers["apns-id"]) ?? newID
        let name = try Self.collapseID(headers["apns-collapse-id"]) ?? id.uuidString.lowercased()
        let expires = try Self.expiration(headers["apns-expiration"])
        let mayShow = try Self.mayShow(headers["apns-push-type"])
        let aps = try PushPayload.aps(payload)
        let shows = mayShow && (aps.alert != nil || aps.hasSound)
        self.init(
            alert: shows
                ? NotificationRequest(id: name, content: aps.content(info: payload)) : nil,
            badge: mayShow ? aps.badge : nil, wakesApp: aps.wakesApp, isMutable: aps.isMutable,
            payload: payload, expires: expires)
        try checkPriority(headers["apns-priority"])
    }

    private static func messageID(_ text: String?) throws(PushRefusal) -> UUID? {
        guard let text else { return nil }
        guard let id = UUID(uuidString: text) else {
            throw PushRefusal(.badMessageID, "apns-id is not a UUID.")
        }
        return id
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

    /// A push of the type `background` shows nothing, whatever its payload.
    private static func mayShow(_ type: String?) throws(PushRefusal) -> Bool {
        guard ["alert", "background", nil].contains(type) else {
            throw PushRefusal(
                .invalidPushType, "apns-push-type must be alert or background on this phone.")
        }
        return type != "background"
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
