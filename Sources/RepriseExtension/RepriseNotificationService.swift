// Not run by the project's own tests, which run on Linux; compiled only with UserNotifications.
#if canImport(UserNotifications) && !os(watchOS) && !os(tvOS)
    public import Foundation
    import RepriseCore
    import RepriseNotices
    public import UserNotifications

    /// An app's notification service extension, whole: decides how a push is shown, and records
    /// that for the app.
    ///
    /// ```swift
    /// nonisolated final class NotificationService: RepriseNotificationService {
    ///     override var appGroup: String? { "group.org.example.courier" }
    /// }
    /// ```
    ///
    /// An extension with work of its own calls ``SystemServiceExtension`` instead.
    open class RepriseNotificationService: UNNotificationServiceExtension {
        /// The app group: the folder `reprise` in its container is the app's
        /// `configuration.journal.sharedFolder`.
        open var appGroup: String? { nil }

        /// The hosts from which senders' pictures are fetched, over `https`; by default none.
        ///
        /// A message names the address: a host that is not the app's own would learn the device's.
        open var pictureHosts: Set<String> { [] }

        /// The folder that the app shares with its extensions: `reprise` in the container of
        /// ``appGroup``.
        ///
        /// Nil, as when the entitlement lacks the group: each push is shown as it came, and the log
        /// says so.
        open var sharedFolder: URL? {
            appGroup.flatMap {
                FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: $0)
            }?.appendingPathComponent("reprise")
        }

        // The system makes an object for each push, and calls it on one thread at a time.
        private lazy var work = sharedFolder.map { folder in
            let notice = NoticeExtension(at: folder)
            return SystemServiceExtension(
                content: notice.content(for:), timeWillExpire: notice.timeWillExpire,
                pictureHosts: pictureHosts)
        }

        /// Has the push decided, and shows the result.
        open override func didReceive(
            _ request: UNNotificationRequest,
            withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
        ) {
            guard let work else {
                NSLog("Reprise: the extension has no app group %@.", appGroup ?? "(none is named)")
                return contentHandler(request.content)
            }
            work.didReceive(request, withContentHandler: contentHandler)
        }

        /// Shows what is decided by now.
        open override func serviceExtensionTimeWillExpire() { work?.timeWillExpire() }
    }
#endif
