import Foundation
import Reprise
import RepriseCore
import ReprisePhone
import Synchronization

/// The courier's service extension on the phone: what `RepriseNotificationService` does for it.
enum CourierExtension {
    /// The extension at work, for the system's warning.
    private final class Work: Sendable {
        let notice = Mutex<NoticeExtension?>(nil)
    }

    /// The folder that both share, in the container of the app group.
    static func sharedFolder(in container: URL) -> URL {
        container.appendingPathComponent("group/reprise")
    }

    static func run() async throws {
        let work = Work()
        try await PhoneExtension.run(
            timeWillExpire: {
                work.notice.withLock { $0 }?.timeWillExpire()
                return nil
            },
            didReceive: { push in
                let notice = NoticeExtension(at: sharedFolder(in: push.sharedFolder))
                work.notice.withLock { $0 = notice }
                return await notice.content(for: push.request)
            })
    }
}
