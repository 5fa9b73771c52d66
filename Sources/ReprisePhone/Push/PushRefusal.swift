/// Why a push is not taken, in the words of APNs where it has some.
///
/// - SeeAlso: "Handling notification responses from APNs" in Apple's documentation.
public struct PushRefusal: Error, Hashable, Sendable {
    /// A reason with its HTTP status; the set is open.
    public struct Reason: Hashable, Sendable {
        /// As the body of APNs' answer names it.
        public let name: String
        /// The HTTP status.
        public let status: Int

        /// The path holds no token that could be one.
        public static let badDeviceToken = Self(name: "BadDeviceToken", status: 400)
        /// The app is not on this phone (any more).
        public static let unregistered = Self(name: "Unregistered", status: 410)
        /// The path is not `/3/device/TOKEN`.
        public static let badPath = Self(name: "BadPath", status: 404)
        /// Something else than POST.
        public static let methodNotAllowed = Self(name: "MethodNotAllowed", status: 405)
        /// `apns-topic` names another app than the token.
        public static let deviceTokenNotForTopic = Self(
            name: "DeviceTokenNotForTopic", status: 400)
        /// `apns-collapse-id` is empty or longer than 64 bytes.
        public static let badCollapseID = Self(name: "BadCollapseId", status: 400)
        /// `apns-expiration` is not a number of seconds since 1970.
        public static let badExpirationDate = Self(name: "BadExpirationDate", status: 400)
        /// `apns-id` is not a UUID.
        public static let badMessageID = Self(name: "BadMessageId", status: 400)
        /// `apns-priority` is not 1, 5 or 10, or it is 10 for a push that shows nothing.
        public static let badPriority = Self(name: "BadPriority", status: 400)
        /// `apns-push-type` is none that this phone knows.
        public static let invalidPushType = Self(name: "InvalidPushType", status: 400)
        /// The payload is missing.
        public static let payloadEmpty = Self(name: "PayloadEmpty", status: 400)
        /// The payload is longer than 4,096 bytes.
        public static let payloadTooLarge = Self(name: "PayloadTooLarge", status: 413)
        /// The phone's limit of pushes under way is reached.
        public static let tooManyRequests = Self(name: "TooManyRequests", status: 429)
        /// The phone is being switched off.
        public static let shutdown = Self(name: "Shutdown", status: 503)
        /// The payload violates the documentation.
        ///
        /// Of this phone alone: APNs accepts it and the device shows nothing.
        public static let malformedPayload = Self(name: "MalformedPayload", status: 400)
    }

    /// The reason.
    public let reason: Reason
    /// The error, for people.
    public let message: String

    /// Makes a refusal.
    public init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}
