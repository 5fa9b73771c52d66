// Not run by the project's own tests, which run on Linux; compiled only with UserNotifications.
#if canImport(UserNotifications) && !os(watchOS) && !os(tvOS)
    import Foundation
    public import RepriseCore
    public import UserNotifications

    /// The work of a notification service extension: calls the decider, and answers the system
    /// once.
    ///
    /// ```swift
    /// nonisolated final class NotificationService: UNNotificationServiceExtension {
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
        ///   - content: decides the content, and returns when that is recorded; soon after
        ///     `timeWillExpire` in any case.
        ///   - timeWillExpire: ends the decision.
        public init(
            content: @escaping @Sendable (NotificationRequest) async -> NotificationContent,
            timeWillExpire: @escaping @Sendable () -> Void
        ) {
            self.content = content
            expire = timeWillExpire
        }

        /// Has the push decided, and shows the result.
        ///
        /// Attachments, the push's sound and other properties that the ports do not have stay
        /// unchanged.
        ///
        /// - Parameters:
        ///   - request: the system's request.
        ///   - handler: the system's handler; it is called once.
        public func didReceive(
            _ request: UNNotificationRequest,
            withContentHandler handler: @escaping (UNNotificationContent) -> Void
        ) {
            let asked = NotificationRequest(request)
            // The system accepts its handler's call on any thread, once; nothing else touches the
            // content.
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
        /// The same with the decided content.
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
