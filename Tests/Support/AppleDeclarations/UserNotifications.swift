// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Declarations of Apple's UserNotifications, as far as RepriseApple uses them; nothing here does
// anything. Each type names its page below
// https://developer.apple.com/documentation/usernotifications. Without "Sendable" where the page is
// silent.
@_exported public import Foundation

// /unauthorizationstatus (2026-11-24)
public enum UNAuthorizationStatus: Int, Sendable {
    case notDetermined, denied, authorized, provisional
    #if !REPRISE_MAC
        case ephemeral
    #endif
}

// /unnotificationsetting (2026-11-24)
public enum UNNotificationSetting: Int, Sendable { case notSupported, disabled, enabled }

// /unnotificationsettings (2026-11-24)
open class UNNotificationSettings: NSObject {
    open var authorizationStatus: UNAuthorizationStatus { fatalError() }
    open var alertSetting: UNNotificationSetting { fatalError() }
    open var badgeSetting: UNNotificationSetting { fatalError() }
    open var soundSetting: UNNotificationSetting { fatalError() }
}

// /unnotificationinterruptionlevel (2026-11-24)
public enum UNNotificationInterruptionLevel: UInt, Sendable {
    case passive, active, timeSensitive, critical
}

// /unnotificationsound (2026-11-24)
open class UNNotificationSound: NSObject {
    open class var `default`: UNNotificationSound { fatalError() }
    public convenience init(named name: UNNotificationSoundName) { fatalError() }
}

// /unnotificationsoundname (2026-11-26)
public struct UNNotificationSoundName: Hashable, RawRepresentable, Sendable {
    public var rawValue: String

    public init(rawValue: String) { fatalError() }
    public init(_ rawValue: String) { fatalError() }
}

// /unnotificationcontent (2026-11-24)
open class UNNotificationContent: NSObject {
    open var title: String {
        get { fatalError() }
        set { fatalError() }
    }
    open var subtitle: String {
        get { fatalError() }
        set { fatalError() }
    }
    open var body: String {
        get { fatalError() }
        set { fatalError() }
    }
    open var badge: NSNumber? {
        get { fatalError() }
        set { fatalError() }
    }
    open var sound: UNNotificationSound? {
        get { fatalError() }
        set { fatalError() }
    }
    open var threadIdentifier: String {
        get { fatalError() }
        set { fatalError() }
    }
    open var categoryIdentifier: String {
        get { fatalError() }
        set { fatalError() }
    }
    open var userInfo: [AnyHashable: Any] {
        get { fatalError() }
        set { fatalError() }
    }
    open var interruptionLevel: UNNotificationInterruptionLevel {
        get { fatalError() }
        set { fatalError() }
    }
    open var relevanceScore: Double {
        get { fatalError() }
        set { fatalError() }
    }
    open func updating(
        from provider: any UNNotificationContentProviding
    ) throws -> UNNotificationContent { fatalError() }
}

// /unnotificationcontentproviding (2026-11-26)
public protocol UNNotificationContentProviding: NSObjectProtocol {}

// /unmutablenotificationcontent (2026-11-24)
open class UNMutableNotificationContent: UNNotificationContent {}

// /unnotificationtrigger (2026-11-24)
open class UNNotificationTrigger: NSObject { open var repeats: Bool { fatalError() } }
// /unpushnotificationtrigger (2026-11-24)
open class UNPushNotificationTrigger: UNNotificationTrigger {}

// /untimeintervalnotificationtrigger (2026-11-24)
open class UNTimeIntervalNotificationTrigger: UNNotificationTrigger {
    open var timeInterval: TimeInterval { fatalError() }
    public convenience init(timeInterval: TimeInterval, repeats: Bool) { fatalError() }
}

// /uncalendarnotificationtrigger (2026-11-24)
open class UNCalendarNotificationTrigger: UNNotificationTrigger {
    open var dateComponents: DateComponents { fatalError() }
    public convenience init(dateMatching: DateComponents, repeats: Bool) { fatalError() }
}

// /unnotificationrequest (2026-11-24)
open class UNNotificationRequest: NSObject {
    open var identifier: String { fatalError() }
    open var content: UNNotificationContent { fatalError() }
    open var trigger: UNNotificationTrigger? { fatalError() }
    public convenience init(
        identifier: String, content: UNNotificationContent, trigger: UNNotificationTrigger?
    ) { fatalError() }
}

// /unnotification (2026-11-24)
open class UNNotification: NSObject {
    open var date: Date { fatalError() }
    open var request: UNNotificationRequest { fatalError() }
}

// /unnotificationdefaultactionidentifier (2026-11-24)
public let UNNotificationDefaultActionIdentifier = ""
// /unnotificationdismissactionidentifier (2026-11-24)
public let UNNotificationDismissActionIdentifier = ""

// /unnotificationresponse (2026-11-24)
open class UNNotificationResponse: NSObject {
    open var notification: UNNotification { fatalError() }
    open var actionIdentifier: String { fatalError() }
}

// /untextinputnotificationresponse (2026-11-24)
open class UNTextInputNotificationResponse: UNNotificationResponse {
    open var userText: String { fatalError() }
}

// /unnotificationactionoptions (2026-11-24)
public struct UNNotificationActionOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let foreground = Self(rawValue: 4)
}

// /unnotificationaction (2026-11-24)
open class UNNotificationAction: NSObject {
    public convenience init(
        identifier: String, title: String, options: UNNotificationActionOptions = []
    ) { fatalError() }
}

// /untextinputnotificationaction (2026-11-24)
open class UNTextInputNotificationAction: UNNotificationAction {
    public convenience init(
        identifier: String, title: String, options: UNNotificationActionOptions = []
    ) { fatalError() }
}

// /unnotificationcategoryoptions (2026-11-24)
public struct UNNotificationCategoryOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let customDismissAction = Self(rawValue: 1)
}

// /unnotificationcategory (2026-11-24)
open class UNNotificationCategory: NSObject {
    open var identifier: String { fatalError() }
    public convenience init(
        identifier: String, actions: [UNNotificationAction], intentIdentifiers: [String],
        options: UNNotificationCategoryOptions = []
    ) { fatalError() }
}

// /unnotificationpresentationoptions (2026-11-24)
public struct UNNotificationPresentationOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let badge = Self(rawValue: 1)
    public static let sound = Self(rawValue: 2)
    public static let list = Self(rawValue: 8)
    public static let banner = Self(rawValue: 16)
}

// /unauthorizationoptions (2026-11-24)
public struct UNAuthorizationOptions: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let badge = Self(rawValue: 1)
    public static let sound = Self(rawValue: 2)
    public static let alert = Self(rawValue: 4)
    public static let provisional = Self(rawValue: 64)
}

// /unusernotificationcenterdelegate (2026-11-26)
// Its methods are optional there; here they are required, so that one that is written otherwise is
// found. The handlers are `@Sendable` in newer SDKs alone: the pass for macOS has the older form.
public protocol UNUserNotificationCenterDelegate: NSObjectProtocol {
    #if REPRISE_MAC
        func userNotificationCenter(
            _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
            withCompletionHandler completionHandler:
                @escaping (UNNotificationPresentationOptions) -> Void)
        func userNotificationCenter(
            _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
            withCompletionHandler completionHandler: @escaping () -> Void)
    #else
        func userNotificationCenter(
            _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
            withCompletionHandler completionHandler:
                @escaping @Sendable (UNNotificationPresentationOptions) -> Void)
        func userNotificationCenter(
            _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
            withCompletionHandler completionHandler: @escaping @Sendable () -> Void)
    #endif
}

// /unusernotificationcenter (2026-11-26)
open class UNUserNotificationCenter: NSObject, @unchecked Sendable {
    open class func current() -> UNUserNotificationCenter { fatalError() }
    open var delegate: (any UNUserNotificationCenterDelegate)?
    open func getNotificationSettings(
        completionHandler: @escaping @Sendable (UNNotificationSettings) -> Void
    ) { fatalError() }
    open func requestAuthorization(
        options: UNAuthorizationOptions = [],
        completionHandler: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) { fatalError() }
    open func add(
        _ request: UNNotificationRequest,
        withCompletionHandler completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
    ) { fatalError() }
    open func getPendingNotificationRequests(
        completionHandler: @escaping @Sendable ([UNNotificationRequest]) -> Void
    ) { fatalError() }
    open func getDeliveredNotifications(
        completionHandler: @escaping @Sendable ([UNNotification]) -> Void
    ) { fatalError() }
    open func removePendingNotificationRequests(withIdentifiers: [String]) { fatalError() }
    open func removeDeliveredNotifications(withIdentifiers: [String]) { fatalError() }
    open func setBadgeCount(
        _ newBadgeCount: Int,
        withCompletionHandler completionHandler: (@Sendable ((any Error)?) -> Void)? = nil
    ) { fatalError() }
    open func getNotificationCategories(
        completionHandler: @escaping @Sendable (Set<UNNotificationCategory>) -> Void
    ) { fatalError() }
    open func setNotificationCategories(_ categories: Set<UNNotificationCategory>) { fatalError() }
}

// /unnotificationserviceextension (2026-11-26): iOS 10, macOS 10.14.
open class UNNotificationServiceExtension: NSObject {
    open func didReceive(
        _ request: UNNotificationRequest,
        withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) { fatalError() }
    open func serviceExtensionTimeWillExpire() { fatalError() }
}
