// Not run by the project's own tests, which are on Linux; compiled only where there are AppKit and
// WebKit, and no UIKit.
#if canImport(AppKit) && canImport(WebKit) && !canImport(UIKit)
    import AppKit
    import Foundation
    import RepriseCore
    import WebKit

    /// Where web views lie.
    typealias PageWindow = NSWindow

    extension NSWindow {
        /// The app's key window; waits until there is one.
        static func key() async throws -> NSWindow {
            if let window = NSApplication.shared.keyWindow { return window }
            let arrivals = NotificationCenter.default
                .notifications(named: NSWindow.didBecomeKeyNotification).map { _ in }
            for await _ in arrivals {
                if let window = NSApplication.shared.keyWindow { return window }
            }
            throw RepriseError(.unavailable, "There is no window for a web view.")
        }

        var room: CGRect { contentView?.bounds ?? .zero }

        func put(_ view: PageView) {
            view.autoresizingMask = [.width, .height]
            contentView?.addSubview(view)
        }
    }

    /// A web view that is there and neither seen nor met by the pointer, until it shows something.
    ///
    /// AppKit has no view that lies there and is deaf, and a hidden one's page would rest. What the
    /// page leaves free is not transparent here.
    final class PageView: WKWebView {
        private var isDeaf = true

        func setVisible(_ isVisible: Bool) {
            isDeaf = !isVisible
            alphaValue = isVisible ? 1 : 0
            setAccessibilityHidden(!isVisible)
            if isVisible { window?.makeFirstResponder(self) }
        }

        override func hitTest(_ point: NSPoint) -> NSView? {
            isDeaf ? nil : super.hitTest(point)
        }
    }
#endif
