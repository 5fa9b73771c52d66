// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Declarations of Apple's UIKit, as far as RepriseApple uses them; nothing here does anything.
// Source: https://developer.apple.com/documentation/uikit
@_exported public import Foundation
public import UserNotifications

@MainActor open class UIResponder: NSObject { override nonisolated public init() {} }

public struct UIBackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let invalid = Self(rawValue: 0)
}

/// Its methods are optional there; here they are required, so that one that is written otherwise is
/// found.
@MainActor public protocol UIApplicationDelegate: NSObjectProtocol {
    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
    func application(
        _ application: UIApplication,
        configurationForConnecting connectingSceneSession: UISceneSession,
        options: UIScene.ConnectionOptions
    ) -> UISceneConfiguration
}

@MainActor open class UISceneSession: NSObject {
    public struct Role: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }
    override nonisolated public init() {}
    open var role: Role { fatalError() }
}

@MainActor open class UISceneConfiguration: NSObject {
    public init(name: String?, sessionRole: UISceneSession.Role) {}
}

@MainActor open class UIApplication: UIResponder {
    public struct LaunchOptionsKey: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
    }
    nonisolated public static let didEnterBackgroundNotification = NSNotification.Name("1")
    nonisolated public static let willEnterForegroundNotification = NSNotification.Name("2")
    nonisolated public static let didReceiveMemoryWarningNotification = NSNotification.Name("3")
    nonisolated public static let didBecomeActiveNotification = NSNotification.Name("5")
    public enum State: Int, Sendable { case active, inactive, background }
    open var applicationState: State { fatalError() }
    open class var shared: UIApplication { fatalError() }
    open var connectedScenes: Set<UIScene> { fatalError() }
    open var backgroundTimeRemaining: TimeInterval { fatalError() }
    open func beginBackgroundTask(
        expirationHandler: (@MainActor @Sendable () -> Void)? = nil
    ) -> UIBackgroundTaskIdentifier { fatalError() }
    open func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) { fatalError() }
}

@MainActor open class UIScene: UIResponder {
    public enum ActivationState: Int, Sendable {
        case unattached, foregroundActive, foregroundInactive, background
    }
    nonisolated public static let didActivateNotification = NSNotification.Name("4")
    @MainActor open class ConnectionOptions: NSObject {
        override nonisolated public init() {}
        open var notificationResponse: UNNotificationResponse? { fatalError() }
    }
    open var activationState: ActivationState { fatalError() }
}

@MainActor open class UIWindowScene: UIScene { open var keyWindow: UIWindow? { fatalError() } }

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

@MainActor open class UIWindow: UIView {}

@MainActor open class UIDevice: NSObject {
    override nonisolated public init() {}
    public enum BatteryState: Int, Sendable { case unknown, unplugged, charging, full }
    nonisolated public static let batteryStateDidChangeNotification = NSNotification.Name("5")
    open class var current: UIDevice { fatalError() }
    open var isBatteryMonitoringEnabled = false
    open var batteryState: BatteryState { fatalError() }
}
