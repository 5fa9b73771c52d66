// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Declarations of Apple's AppKit, as far as RepriseApple uses them; nothing here does anything.
// Each type names its page below https://developer.apple.com/documentation/appkit.
@_exported public import Foundation

// /nsresponder (2026-11-24)
@MainActor open class NSResponder: NSObject { override nonisolated public init() {} }

// /nsview (2026-11-24)
@MainActor open class NSView: NSResponder {
    public struct AutoresizingMask: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let width = Self(rawValue: 2)
        public static let height = Self(rawValue: 16)
    }
    open var bounds: CGRect { fatalError() }
    open var alphaValue: CGFloat = 1
    open var isHidden = false
    open var autoresizingMask: AutoresizingMask = []
    open func addSubview(_ view: NSView) { fatalError() }
    open func removeFromSuperview() { fatalError() }
    open var window: NSWindow? { fatalError() }
    open func hitTest(_ point: NSPoint) -> NSView? { fatalError() }
    open func setAccessibilityHidden(_ isHidden: Bool) { fatalError() }
}

// /nswindow (2026-11-24)
@MainActor open class NSWindow: NSResponder {
    nonisolated public static let didBecomeKeyNotification = NSNotification.Name("1")
    // /nswindow/willclosenotification
    nonisolated public static let willCloseNotification = NSNotification.Name("2")
    open var contentView: NSView? { fatalError() }
    @discardableResult open func makeFirstResponder(_ responder: NSResponder?) -> Bool {
        fatalError()
    }
}

// /nsapplication (2026-11-24)
@MainActor open class NSApplication: NSResponder {
    open class var shared: NSApplication { fatalError() }
    open var keyWindow: NSWindow? { fatalError() }
}
