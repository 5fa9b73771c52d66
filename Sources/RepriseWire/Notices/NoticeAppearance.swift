import RepriseCore

/// How a message asks to be shown: further members of its body's `notice`.
///
/// | member | meaning |
/// |---|---|
/// | `sender` | the author's name, for people |
/// | `picture` | the `https` address of the author's picture |
/// | `interruption` | `"time-sensitive"` |
/// | `relevance` | 0 to 1, for the order in the system's summary |
/// | `sound` | the name of a sound's file in the app |
///
/// A member that is something else is as if it were absent.
package struct NoticeAppearance: Hashable, Sendable {
    package var sender: String?
    package var picture: String?
    package var isTimeSensitive = false
    package var relevance: Double?
    package var sound: String?

    /// The most bytes of a sound's name: letters, digits, `.`, `-` and `_`.
    package static let soundBytes = 64
    /// The most bytes of JSON of a sender's name.
    package static let senderBytes = 128
    /// The most bytes of a picture's address.
    package static let pictureBytes = 512

    package init() {}

    /// - Parameter notice: the member `notice` of a message's body.
    package init(_ notice: Envelope) {
        sender = Self.text(notice, "sender").map { PushText.title($0, atMost: Self.senderBytes) }
        if sender?.isEmpty == true { sender = nil }
        picture = Self.text(notice, "picture").flatMap { Self.isAddress($0) ? $0 : nil }
        isTimeSensitive =
            Self.text(notice, "interruption")
            == NotificationContent.Interruption.timeSensitive.rawValue
        if let value = notice.optional("relevance"), value.kind == .number {
            relevance = Double(String(decoding: notice.scanner.raw(value), as: UTF8.self))
                .flatMap { (0...1).contains($0) ? $0 : nil }
        }
        sound = Self.text(notice, "sound").flatMap { Self.isFileName($0) ? $0 : nil }
    }

    private static func isFileName(_ text: String) -> Bool {
        (1...soundBytes).contains(text.utf8.count) && !text.hasPrefix(".")
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
                    UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    package static func isAddress(_ text: String) -> Bool {
        text.utf8.count <= pictureBytes && text.hasPrefix("https://")
            && text.utf8.allSatisfy {
                $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
            }
    }

    /// What the message does not say of its author is as the author's profile has it.
    package mutating func complete(_ profile: Profile?) {
        guard sender == nil, let profile else { return }
        sender = profile.name
        if sender != nil, picture == nil { picture = profile.picture }
    }

    private static func text(_ object: Envelope, _ name: StaticString) -> String? {
        guard object.optional(name)?.kind == .string else { return nil }
        return try? object.string(name)
    }
}
