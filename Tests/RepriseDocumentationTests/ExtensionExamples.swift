// Compiled by scripts/check-apple as in an app's extension.
#if canImport(UIKit) && canImport(UserNotifications)
    import Foundation
    import RepriseExtension
    import RepriseNotices
    import UserNotifications

    nonisolated private let sharedFolder = URL.temporaryDirectory

    nonisolated final class OwnService: UNNotificationServiceExtension {
        // `reprise` in the container of `configuration.appGroup`.
        private let notice = NoticeExtension(at: sharedFolder)
        private lazy var work = SystemServiceExtension(
            content: notice.content(for:), timeWillExpire: notice.timeWillExpire)

        override func didReceive(
            _ request: UNNotificationRequest,
            withContentHandler handler: @escaping (UNNotificationContent) -> Void
        ) { work.didReceive(request, withContentHandler: handler) }

        override func serviceExtensionTimeWillExpire() { work.timeWillExpire() }
    }
#endif
