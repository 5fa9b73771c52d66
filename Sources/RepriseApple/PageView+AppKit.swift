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
        /// The app's key window; waits for it.
        static func key() async throws -> NSWindow {
            let (arrivals, arrival) = AsyncStream.makeStream(
                of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let observer = NotificationCenter.default.addObserver(
                forName: NSWindow.didBecomeKeyNotification, object: nil, queue: .main
            ) { _ in arrival.yield() }
            defer { NotificationCenter.default.removeObserver(observer) }
            return try await EventWait.first(
                after: (arrivals, arrival), within: AppleLimits.window
            ) { NSApplication.shared.keyWindow }
        }

        /// What is posted when it is gone, and by whom.
        ///
        /// A window that is closed keeps its views, which may not be told.
        var end: (name: Notification.Name, poster: AnyObject?) {
            (NSWindow.willCloseNotification, self)
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
