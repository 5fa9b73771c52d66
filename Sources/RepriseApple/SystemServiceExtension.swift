// Not run by the project's own tests, which are on Linux; compiled only where there is
// UserNotifications.
#if canImport(UserNotifications) && !os(watchOS) && !os(tvOS)
    import Foundation
    public import RepriseCore
    public import UserNotifications

    /// The work of a notification service extension: asks who decides, and tells the system once.
    ///
    /// ```swift
    /// final class NotificationService: UNNotificationServiceExtension {
    ///     private let notice = NoticeExtension(at: sharedFolder)
    ///     private lazy var work = SystemServiceExtension(
    ///         content: notice.content(for:), timeWillExpire: notice.timeWillExpire)
    ///
    ///     override func didReceive(
    ///         _ request: UNNotificationRequest,
    ///         withContentHandler handler: @escaping (UNNotificationContent) -> Void
    ///     ) { work.didReceive(request, withContentHandler: handler) }
    ///
    ///     override func serviceExtensionTimeWillExpire() { work.timeWillExpire() }
    /// }
    /// ```
    public final class SystemServiceExtension: Sendable {
        private let content: @Sendable (NotificationRequest) async -> NotificationContent
        private let expire: @Sendable () -> Void

        /// Makes one.
        ///
        /// - Parameters:
        ///   - content: decides what is shown, and returns when that is written down; soon after
        ///     `timeWillExpire` in any case.
        ///   - timeWillExpire: ends the deciding.
        public init(
            content: @escaping @Sendable (NotificationRequest) async -> NotificationContent,
            timeWillExpire: @escaping @Sendable () -> Void
        ) {
            self.content = content
            expire = timeWillExpire
        }

        /// Has the push decided, and shows what comes of it.
        ///
        /// Attachments, the sound that the push names and whatever else the ports do not know of
        /// stay as they came.
        ///
        /// - Parameters:
        ///   - request: of the system.
        ///   - handler: of the system; it is called once.
        public func didReceive(
            _ request: UNNotificationRequest,
            withContentHandler handler: @escaping (UNNotificationContent) -> Void
        ) {
            let asked = NotificationRequest(request)
            // The system takes its handler's call on any thread, once; the content is not touched
            // by anybody else.
            nonisolated(unsafe) let done = handler
            nonisolated(unsafe) let original = request.content
            Task { [content] in
                let decided = await content(asked)
                done(original.changed(to: decided))
            }
        }

        /// The system's time is nearly over.
        public func timeWillExpire() { expire() }
    }

    extension UNNotificationContent {
        /// The same with what was decided.
        fileprivate func changed(to content: NotificationContent) -> UNNotificationContent {
            guard let changed = mutableCopy() as? UNMutableNotificationContent else { return self }
            changed.title = content.title
            changed.subtitle = content.subtitle
            changed.body = content.body
            changed.badge = content.badge.map { NSNumber(value: $0) }
            if !content.sound { changed.sound = nil }
            if let level = content.interruption?.level { changed.interruptionLevel = level }
            changed.threadIdentifier = content.thread
            return changed
        }
    }
#endif
