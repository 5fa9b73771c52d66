package import RepriseCore
package import RepriseWire

/// Converts between messages and notifications.
enum NoticeContent {
    /// The name of a message in the notification centre: also that of its push, so that the system
    /// itself replaces one by the other.
    static func request(of id: EntryID) -> String {
        id.text.utf8.count <= 64 ? id.text : EntryID.hash(of: id.text, prefix: "h-").text
    }

    /// - Returns: nil: the message asks not to be shown.
    static func make(
        _ message: NoticeMessage, head: Int64, to me: UserID?, _ presentation: PresentationOptions,
        _ configuration: Notices.Configuration
    ) -> NotificationContent? {
        guard var text = PushContent(message.body) else { return nil }
        text.appearance.complete(message.sender)
        let names = configuration.names
        let conversation = names(.channel(message.channel)) ?? message.conversation
        let banner = Banner(
            of: text, sender: message.from.flatMap { names(.person($0)) }, from: message.from,
            in: conversation, message.channel)
        let shortened = { (text: String) in
            PushText.title(text, atMost: NoticeLimits.titleBytes)
        }
        var content = NotificationContent(
            title: shortened(banner.title),
            body: PushText.body(banner.body, atMost: NoticeLimits.bodyBytes).text)
        content.subtitle = banner.subtitle.map(shortened) ?? ""
        content.thread = message.channel.text
        content.category = text.category ?? configuration.category ?? ""
        content.info = info(of: message, head: head, to: me)
        let asked = text.appearance
        content.relevance = asked.relevance
        content.soundName = asked.sound
        if let from = message.from, let name = asked.sender {
            content.conversation = NotificationConversation(
                id: message.channel.text, sender: from.text, name: name, picture: asked.picture,
                group: conversation)
        }
        if asked.isTimeSensitive, configuration.mayInterrupt(message.channel, message.from) {
            content.interruption = .timeSensitive
        }
        return content.presented(as: presentation)
    }

    /// The payload as that of a push of the same message.
    static func info(of message: NoticeMessage, head: Int64, to me: UserID?) -> [UInt8] {
        var hint = PushHint(kind: .alert, channel: message.channel, seq: message.seq, head: head)
        hint.id = message.id
        hint.from = message.from
        hint.to = me
        hint.time = message.time
        var writer = JSONWriter(reserving: 320)
        writer.object { json in
            json.key("reprise")
            json.raw(hint.json)
        }
        return writer.bytes
    }

    /// The message named by a payload; nil: not one of ours.
    static func hint(_ info: [UInt8]) -> PushHint? {
        guard info.count <= NoticeLimits.payloadBytes else { return nil }
        return try? PushHint(payload: info)
    }
}

extension NotificationContent {
    /// The same with the decided presentation.
    func presented(as presentation: PresentationOptions) -> NotificationContent {
        var content = self
        content.sound = presentation.contains(.sound)
        // In the background this is the only way to show it in the list alone.
        if !presentation.contains(.banner) {
            content.interruption = .passive
        } else if content.interruption == .passive {
            content.interruption = nil
        }
        return content
    }
}

/// A delivered notification of a message.
package struct DeliveredNotice: Hashable, Sendable {
    package var request: String
    package var id: EntryID
    package var hint: PushHint
    package var isRemote: Bool
    package var badge: Int?

    /// Those of a list that are of messages.
    package static func all(in delivered: [DeliveredNotification]) -> [DeliveredNotice] {
        delivered.compactMap { notification in
            guard let hint = NoticeContent.hint(notification.request.content.info),
                hint.kind == .alert, let id = hint.id
            else { return nil }
            return DeliveredNotice(
                request: notification.request.id, id: id, hint: hint,
                isRemote: notification.isRemote, badge: notification.request.content.badge)
        }
    }
}
