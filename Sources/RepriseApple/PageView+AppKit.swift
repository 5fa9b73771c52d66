// Not run by the project's own tests, which run on Linux; compiled only with AppKit and WebKit, and
// without UIKit.
#if canImport(AppKit) && canImport(WebKit) && !canImport(UIKit)
    import AppKit
    import Foundation
    import RepriseCore
    import WebKit

    /// The window of web views.
    typealias PageWindow = NSWindow

    extension NSWindow {
        /// The app's key window; waits until one exists.
        static func key() async throws -> NSWindow {
            if let window = NSApplication.shared.keyWindow { return window }
            let arrivals = NotificationCenter.default
                .notifications(named: NSWindow.didBecomeKeyNotification).map { _ in }
            for await _ in arrivals {
                if let window = NSApplication.shared.keyWindow { return window }
            }
            try Task.checkCancellation()
            throw RepriseError(.unavailable, "There is no window for a web view.")
        }

        var room: CGRect { contentView?.bounds ?? .zero }

        func put(_ view: PageView) {
            view.autoresizingMask = [.width, .height]
            contentView?.addSubview(view)
        }
    }

    /// A web view that is neither visible nor reached by the pointer, until it shows something.
    ///
    /// AppKit has no view that is present and ignores events, and a hidden view's page would be
    /// suspended. The page's empty parts are not transparent here.
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
