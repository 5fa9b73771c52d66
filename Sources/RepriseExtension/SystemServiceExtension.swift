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
        private let picture: PictureFetch

        /// Makes one.
        ///
        /// - Parameters:
        ///   - content: decides the content, and returns when that is recorded; soon after
        ///     `timeWillExpire` in any case.
        ///   - timeWillExpire: ends the decision.
        ///   - pictureHosts: the hosts from which senders' pictures are fetched, over `https`; by
        ///     default none. A message names the address: a host that is not the app's own would
        ///     learn the device's.
        public init(
            content: @escaping @Sendable (NotificationRequest) async -> NotificationContent,
            timeWillExpire: @escaping @Sendable () -> Void, pictureHosts: Set<String> = []
        ) {
            self.content = content
            expire = timeWillExpire
            picture = PictureFetch(from: pictureHosts, by: PictureFetch.transport)
        }

        /// Has the push decided, and shows the result.
        ///
        /// A message that names its sender is a communication notification, where the app has the
        /// capability; a picture that is not there after 5 s is left out.
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
            Task { [content, picture] in
                let decided = await content(asked)
                let bytes = await picture.picture(decided.conversation?.picture)
                done(original.changed(to: decided).communicating(decided, bytes))
            }
        }

        /// The system's time is nearly over.
        public func timeWillExpire() {
            expire()
            picture.timeWillExpire()
        }
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
            if let relevance = content.relevance { changed.relevanceScore = relevance }
            changed.threadIdentifier = content.thread
            return changed
        }
    }
#endif
