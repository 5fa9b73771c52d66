// Not run by the project's own tests, which run on Linux; compiled only with UserNotifications.
#if canImport(UserNotifications) && !os(watchOS) && !os(tvOS)
    import Foundation
    public import RepriseCore
    public import UserNotifications

    /// Passes the notification centre's callbacks to the app's handler, and confirms them to the
    /// system only once they are recorded.
    ///
    /// Set it before the app has finished launching, or the tap that launched the app is lost:
    ///
    /// ```swift
    /// delegate = SystemNotificationDelegate(telling: handler)    // keep it: the centre does not
    /// UNUserNotificationCenter.current().delegate = delegate
    /// ```
    public final class SystemNotificationDelegate: NSObject, UNUserNotificationCenterDelegate {
        private let handler: any NotificationHandler
        private let failed: @Sendable (any Error) -> Void

        /// Makes one.
        ///
        /// - Parameters:
        ///   - handler: the app's handler.
        ///   - failed: gets the error of a response that the handler could not record: that
        ///     response is lost. By default it is written to the system's log.
        public init(
            telling handler: any NotificationHandler,
            failed: @escaping @Sendable (any Error) -> Void = { error in
                NSLog("Reprise could not record a notification's response: %@", "\(error)")
            }
        ) {
            self.handler = handler
            self.failed = failed
        }

        /// Asks the handler how to show a notification that arrives in the foreground.
        public func userNotificationCenter(
            _ center: UNUserNotificationCenter, willPresent notification: UNNotification,
            withCompletionHandler completionHandler:
                @escaping (UNNotificationPresentationOptions) -> Void
        ) {
            let arrived = DeliveredNotification(notification)
            // The system accepts its handler's call on any thread, once.
            nonisolated(unsafe) let done = completionHandler
            Task { [handler] in
                let options = await handler.willPresent(arrived)
                await MainActor.run { done(UNNotificationPresentationOptions(options)) }
            }
        }

        /// Has the response recorded, and then confirms it to the system, which may suspend the app
        /// from that moment on.
        public func userNotificationCenter(
            _ center: UNUserNotificationCenter, didReceive response: UNNotificationResponse,
            withCompletionHandler completionHandler: @escaping () -> Void
        ) {
            let response = NotificationResponse(response)
            nonisolated(unsafe) let done = completionHandler
            Task { [handler, failed] in
                do { try await handler.received(response) } catch { failed(error) }
                await MainActor.run { done() }
            }
        }
    }
#endif
