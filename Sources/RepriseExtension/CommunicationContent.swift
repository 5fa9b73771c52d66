// Not run by the project's own tests, which run on Linux; compiled only with UserNotifications.
#if canImport(UserNotifications) && canImport(Intents) && !os(watchOS) && !os(tvOS)
    import Foundation
    import Intents
    package import RepriseCore
    package import UserNotifications

    extension PictureFetch {
        /// Of all pictures: the system keeps each session for good.
        package static let transport = URLSessionTransport()
    }

    extension UNNotificationContent {
        /// The same as a communication notification, with the sender's name and picture; it is told
        /// to Siri for its suggestions.
        ///
        /// - Parameters:
        ///   - content: its conversation and its text.
        ///   - picture: a PNG or JPEG file.
        /// - Returns: itself without a conversation, and where the system refuses.
        package func communicating(
            _ content: NotificationContent, _ picture: [UInt8]?
        ) -> UNNotificationContent {
            guard let conversation = content.conversation else { return self }
            let intent = INSendMessageIntent(conversation, content.body, picture)
            let interaction = INInteraction(intent: intent, response: nil)
            interaction.direction = .incoming
            interaction.donate(completion: nil)
            return (try? updating(from: intent)) ?? self
        }
    }

    extension INSendMessageIntent {
        fileprivate convenience init(
            _ conversation: NotificationConversation, _ body: String, _ picture: [UInt8]?
        ) {
            let image = picture.map { INImage(imageData: Data($0)) }
            let sender = INPerson(
                personHandle: INPersonHandle(value: conversation.sender, type: .unknown),
                nameComponents: nil, displayName: conversation.name, image: image,
                contactIdentifier: nil, customIdentifier: conversation.sender)
            let group = conversation.group.map { INSpeakableString(spokenPhrase: $0) }
            self.init(
                recipients: nil, outgoingMessageType: .outgoingMessageText, content: body,
                speakableGroupName: group, conversationIdentifier: conversation.id,
                serviceName: nil, sender: sender, attachments: nil)
        }
    }
#endif
