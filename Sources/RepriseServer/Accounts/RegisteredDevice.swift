package import RepriseCore

/// A user's push address: a secret, which descriptions omit.
package struct PushToken: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` if it is empty, `.tooLarge` beyond
    ///   ``AccountLimits/pushTokenBytes``.
    package init(_ text: String) throws {
        guard !text.isEmpty else { throw RepriseError(.malformed, "A push token is not empty.") }
        guard text.utf8.count <= AccountLimits.pushTokenBytes else {
            throw RepriseError(
                .tooLarge, "A push token has at most \(AccountLimits.pushTokenBytes) bytes.")
        }
        self.text = text
    }

    /// A token just registered by a device: Apple's, bytes in hexadecimal, of no fixed length.
    ///
    /// - Throws: as ``init(_:)``; `.malformed`, with a remedy.
    init(named text: String) throws {
        try self.init(text)
        guard isApples else {
            throw RepriseError(
                .malformed, "pushToken is not written in hexadecimal digits, two a byte.",
                remedy:
                    "Send the bytes of didRegisterForRemoteNotifications so; a browser's webPush.")
        }
    }

    /// Whether it has the form of Apple's tokens.
    var isApples: Bool {
        text.utf8.count % 2 == 0
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x46).contains($0)
                    || (0x61...0x66).contains($0)
            }
    }

    package var description: String { "(push token)" }
}

extension PushToken: CustomDebugStringConvertible, CustomReflectable {
    package var debugDescription: String { description }
    /// Empty, so that `dump` reveals nothing.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A device of a user.
package struct RegisteredDevice: Hashable, Sendable {
    package var id: EntryID
    /// `ios`, `web`, …; nil if it was not registered, but has connected.
    package var platform: String?
    package var pushToken: PushToken?
    package var subscription: WebPushSubscription?
    package var lastSeen: WallTime

    package init(
        id: EntryID, platform: String? = nil, pushToken: PushToken? = nil,
        subscription: WebPushSubscription? = nil, lastSeen: WallTime
    ) {
        self.id = id
        self.platform = platform
        self.pushToken = pushToken
        self.subscription = subscription
        self.lastSeen = lastSeen
    }
}
