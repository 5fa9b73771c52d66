// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Declarations of Apple's Intents, as far as RepriseExtension uses them; nothing here does
// anything. Each type names its page below https://developer.apple.com/documentation/intents.
// Without "Sendable" where the page is silent.
public import Foundation
public import UserNotifications

// /inpersonhandletype (2026-11-26)
public enum INPersonHandleType: Int, Sendable { case unknown, emailAddress, phoneNumber }

// /inpersonhandle (2026-11-26)
open class INPersonHandle: NSObject {
    public convenience init(value: String?, type: INPersonHandleType) { fatalError() }
}

// /inimage (2026-11-26)
open class INImage: NSObject {
    public convenience init(imageData: Data) { fatalError() }
}

// /inspeakablestring (2026-11-26)
open class INSpeakableString: NSObject {
    public convenience init(spokenPhrase: String) { fatalError() }
}

// /inperson (2026-11-26)
open class INPerson: NSObject {
    public convenience init(
        personHandle: INPersonHandle, nameComponents: PersonNameComponents?, displayName: String?,
        image: INImage?, contactIdentifier: String?, customIdentifier: String?
    ) { fatalError() }
}

// /inintent (2026-11-26), /inintentresponse (2026-11-26)
open class INIntent: NSObject {}
open class INIntentResponse: NSObject {}

// /inoutgoingmessagetype (2026-11-26)
public enum INOutgoingMessageType: Int, Sendable {
    case unknown, outgoingMessageText, outgoingMessageAudio
}

// /insendmessageattachment (2026-11-26)
open class INSendMessageAttachment: NSObject {}

// /insendmessageintent (2026-11-26)
open class INSendMessageIntent: INIntent, UNNotificationContentProviding {
    public convenience init(
        recipients: [INPerson]?, outgoingMessageType: INOutgoingMessageType, content: String?,
        speakableGroupName: INSpeakableString?, conversationIdentifier: String?,
        serviceName: String?, sender: INPerson?, attachments: [INSendMessageAttachment]?
    ) { fatalError() }
}

// /ininteractiondirection (2026-11-26)
public enum INInteractionDirection: Int, Sendable { case unspecified, outgoing, incoming }

// /ininteraction (2026-11-26)
open class INInteraction: NSObject {
    public convenience init(intent: INIntent, response: INIntentResponse?) { fatalError() }
    open var direction: INInteractionDirection {
        get { fatalError() }
        set { fatalError() }
    }
    open func donate(completion: (((any Error)?) -> Void)? = nil) { fatalError() }
}
