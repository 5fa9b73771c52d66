// Not run by the project's own tests, which run on Linux; compiled only with UIKit and WebKit.
#if canImport(UIKit) && canImport(WebKit)
    import Foundation
    import RepriseCore
    import UIKit
    import WebKit

    /// The window of web views.
    typealias PageWindow = UIWindow

    extension UIWindow {
        /// The key window of the scene in front; waits for it.
        static func key() async throws -> UIWindow {
            // The app was launched in the background: it has no window before a scene becomes
            // active, and then the window may become key only later. Neither happens between the
            // check and the wait, for all are on the main actor.
            let (arrivals, arrival) = AsyncStream.makeStream(
                of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let names = [UIScene.didActivateNotification, UIWindow.didBecomeKeyNotification]
            let observers = names.map { name in
                NotificationCenter.default.addObserver(forName: name, object: nil, queue: .main) {
                    _ in arrival.yield()
                }
            }
            defer {
                for observer in observers { NotificationCenter.default.removeObserver(observer) }
            }
            return try await EventWait.first(
                after: (arrivals, arrival), within: AppleLimits.window
            ) { keyInFront }
        }

        private static var keyInFront: UIWindow? {
            UIApplication.shared.connectedScenes.lazy
                .compactMap { $0 as? UIWindowScene }
                .filter { $0.activationState == .foregroundActive }
                .compactMap(\.keyWindow).first
        }

        /// What is posted when it is gone, and by whom.
        var end: (name: Notification.Name, poster: AnyObject?) {
            (UIScene.didDisconnectNotification, windowScene)
        }

        var room: CGRect { bounds }

        func put(_ view: PageView) {
            view.autoresizingMask = [.flexibleWidth, .flexibleHeight]
            view.isOpaque = false
            view.backgroundColor = .clear
            addSubview(view)
        }
    }

    /// A web view that is invisible until it shows something.
    final class PageView: WKWebView {
        func setVisible(_ isVisible: Bool) {
            alpha = isVisible ? 1 : 0
            isUserInteractionEnabled = isVisible
            accessibilityElementsHidden = !isVisible
            accessibilityViewIsModal = isVisible
            if isVisible { superview?.bringSubviewToFront(self) }
        }
    }
#endif
