import Foundation
import RepriseCore
import RepriseWire

/// A response to a notification: the payload of an entry of ``NoticeKinds/tap`` or
/// ``NoticeKinds/action``.
struct NoticeArrival: Hashable, Sendable, Codable {
    /// `open`, `dismiss`, or the action's id.
    var action: String
    /// The typed text.
    var text: String?
    var channel: String?
    var message: String?
    var seq: Int64?
    /// The user whom the message was for.
    var to: String?
    /// The banner's title, for a screen of a missing target.
    var title: String?
    /// The app's own button: not `open` or `dismiss` of the system.
    var isButton: Bool

    init(_ response: NotificationResponse) {
        isButton = true
        switch response.action {
        case .open: (action, isButton) = ("open", false)
        case .dismiss: (action, isButton) = ("dismiss", false)
        case .button(let name): action = name
        case .text(let name, let answer):
            action = name
            var bytes = 0
            text = String(
                answer.prefix { character in
                    bytes += character.utf8.count
                    return bytes <= NoticeLimits.replyBytes
                })
        }
        action = String(action.prefix(64))
        let content = response.notification.request.content
        title = String(content.title.prefix(NoticeLimits.titleBytes))
        guard let hint = NoticeContent.hint(content.info) else { return }
        channel = hint.channel.text
        message = hint.id?.text
        seq = hint.seq
        to = hint.to?.text
    }

    var channelName: ChannelName? { channel.flatMap { try? ChannelName($0) } }

    /// Whether it is of a message to another user than this one; false where one is not known.
    func isForeign(to user: UserID?) -> Bool {
        guard let to, let user else { return false }
        return to != user.text
    }

    var messageID: EntryID? { message.flatMap { try? EntryID($0) } }

    var payload: [UInt8] {
        get throws { Array(try JSONEncoder().encode(self)) }
    }

    init(payload: [UInt8]) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(payload))
    }
}
