// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Declarations of Apple's UIKit, as far as RepriseApple and RepriseUI use them; nothing here does
// anything. Each group names its page below https://developer.apple.com/documentation/uikit.
// An extension has no `UIApplication.shared`: REPRISE_EXTENSION marks what is
// unavailable there, because only a compiler for Apple's systems knows iOSApplicationExtension.
@_exported public import Foundation
public import UserNotifications

// /uiresponder, /uibackgroundtaskidentifier (2026-11-24)
@MainActor open class UIResponder: NSObject {}

public struct UIBackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let invalid = Self(rawValue: 0)
}

// /uiapplicationdelegate (2026-11-26): its methods are optional there; here they are required, so
// that one that is written otherwise is found, except in an app with a delegate of its own
// (REPRISE_OWN).
@MainActor public protocol UIApplicationDelegate: NSObjectProtocol {
    // /uiapplicationdelegate/application(_:willfinishlaunchingwithoptions:)
    func application(
        _ application: UIApplication,
        willFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
    // /uiapplicationdelegate/application(_:didfinishlaunchingwithoptions:)
    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
    // /uiapplicationdelegate/application(_:configurationforconnecting:options:)
    func application(
        _ application: UIApplication,
        configurationForConnecting connectingSceneSession: UISceneSession,
        options: UIScene.ConnectionOptions
    ) -> UISceneConfiguration
    // /uiapplicationdelegate/application(_:open:options:)
    func application(
        _ app: UIApplication, open url: URL, options: [UIApplication.OpenURLOptionsKey: Any]
    ) -> Bool
    // /uiapplicationdelegate/application(_:didregisterforremotenotificationswithdevicetoken:)
    func application(
        _ application: UIApplication,
        didRegisterForRemoteNotificationsWithDeviceToken deviceToken: Data)
    // /uiapplicationdelegate/application(_:didfailtoregisterforremotenotificationswitherror:)
    func application(
        _ application: UIApplication,
        didFailToRegisterForRemoteNotificationsWithError error: any Error)
    // /uiapplicationdelegate/application(_:didreceiveremotenotification:fetchcompletionhandler:)
    func application(
        _ application: UIApplication, didReceiveRemoteNotification userInfo: [AnyHashable: Any],
        fetchCompletionHandler completionHandler: @escaping (UIBackgroundFetchResult) -> Void)
    // /uiapplicationdelegate/application(_:handleeventsforbackgroundurlsession:completionhandler:)
    func application(
        _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void)
}

#if REPRISE_OWN
    extension UIApplicationDelegate {
        public func application(
            _ application: UIApplication,
            willFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
        ) -> Bool { fatalError() }
        public func application(
            _ app: UIApplication, open url: URL, options: [UIApplication.OpenURLOptionsKey: Any]
        ) -> Bool { fatalError() }
        public func application(
            _ application: UIApplication,
            didFailToRegisterForRemoteNotificationsWithError error: any Error
        ) {}
    }
#endif

// /uibackgroundfetchresult (2026-11-24)
public enum UIBackgroundFetchResult: UInt, Sendable { case newData, noData, failed }

// /uiscenesession, /uiscenesession/role (2026-11-24)
@MainActor open class UISceneSession: NSObject {
    public struct Role: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let windowApplication = Self(rawValue: "1")
    }
    override nonisolated public init() {}
    open var role: Role { fatalError() }
    open var configuration: UISceneConfiguration { fatalError() }
}

// /uisceneconfiguration (2026-11-24)
@MainActor open class UISceneConfiguration: NSObject {
    public init(name: String?, sessionRole: UISceneSession.Role) {}
    open var name: String? { fatalError() }
    open var delegateClass: AnyClass?
}

// /uiscenedelegate, /uiwindowscenedelegate, /uiopenurlcontext (2026-11-24)
@MainActor public protocol UISceneDelegate: NSObjectProtocol {
    func scene(
        _ scene: UIScene, willConnectTo session: UISceneSession,
        options connectionOptions: UIScene.ConnectionOptions)
    func scene(_ scene: UIScene, openURLContexts URLContexts: Set<UIOpenURLContext>)
}
@MainActor public protocol UIWindowSceneDelegate: UISceneDelegate {}
@MainActor open class UIOpenURLContext: NSObject {
    override nonisolated public init() {}
    open var url: URL { fatalError() }
}

// /uiapplication (2026-11-26)
@MainActor open class UIApplication: UIResponder {
    public struct LaunchOptionsKey: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }
    nonisolated public static let didEnterBackgroundNotification = NSNotification.Name("1")
    nonisolated public static let willEnterForegroundNotification = NSNotification.Name("2")
    nonisolated public static let didReceiveMemoryWarningNotification = NSNotification.Name("3")
    nonisolated public static let didBecomeActiveNotification = NSNotification.Name("5")
    nonisolated public static let didFinishLaunchingNotification = NSNotification.Name("6")
    public struct OpenURLOptionsKey: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }
    public enum State: Int, Sendable { case active, inactive, background }
    open var applicationState: State { fatalError() }
    #if REPRISE_EXTENSION
        @available(*, unavailable, message: "an extension has no application")
    #endif
    @available(iOSApplicationExtension, unavailable)
    open class var shared: UIApplication { fatalError() }
    open func registerForRemoteNotifications() { fatalError() }
    open var connectedScenes: Set<UIScene> { fatalError() }
    nonisolated open var backgroundTimeRemaining: TimeInterval { fatalError() }
    nonisolated open func beginBackgroundTask(
        withName taskName: String?,
        expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
    ) -> UIBackgroundTaskIdentifier { fatalError() }
    nonisolated open func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {
        fatalError()
    }
}

// /uiscene, /uiscene/connectionoptions, /uiwindowscene (2026-11-24)
@MainActor open class UIScene: UIResponder {
    public enum ActivationState: Int, Sendable {
        case unattached, foregroundActive, foregroundInactive, background
    }
    nonisolated public static let didActivateNotification = NSNotification.Name("4")
    // /uiscene/diddisconnectnotification
    nonisolated public static let didDisconnectNotification = NSNotification.Name("9")
    @MainActor open class ConnectionOptions: NSObject {
        override nonisolated public init() {}
        open var notificationResponse: UNNotificationResponse? { fatalError() }
        open var urlContexts: Set<UIOpenURLContext> { fatalError() }
    }
    open var activationState: ActivationState { fatalError() }
}

@MainActor open class UIWindowScene: UIScene { open var keyWindow: UIWindow? { fatalError() } }

// /uicolor, /uiview, /uiwindow, /uidevice (2026-11-24)
open class UIColor: NSObject { open class var clear: UIColor { fatalError() } }

@MainActor open class UIView: UIResponder {
    public struct AutoresizingMask: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let flexibleWidth = Self(rawValue: 2)
        public static let flexibleHeight = Self(rawValue: 16)
    }
    open var bounds: CGRect { fatalError() }
    open var alpha: CGFloat = 1
    open var isOpaque = true
    open var backgroundColor: UIColor?
    open var isUserInteractionEnabled = true
    open var autoresizingMask: AutoresizingMask = []
    open var superview: UIView? { fatalError() }
    open var accessibilityElementsHidden = false
    open var accessibilityViewIsModal = false
    open func addSubview(_ view: UIView) { fatalError() }
    open func bringSubviewToFront(_ view: UIView) { fatalError() }
    open func removeFromSuperview() { fatalError() }
}

@MainActor open class UIWindow: UIView {
    nonisolated public static let didBecomeKeyNotification = NSNotification.Name("8")
    // /uiwindow/windowscene
    open weak var windowScene: UIWindowScene?
}

@MainActor open class UIDevice: NSObject {
    override nonisolated public init() {}
    public enum BatteryState: Int, Sendable { case unknown, unplugged, charging, full }
    nonisolated public static let batteryStateDidChangeNotification = NSNotification.Name("5")
    open class var current: UIDevice { fatalError() }
    open var isBatteryMonitoringEnabled = false
    open var batteryState: BatteryState { fatalError() }
}
