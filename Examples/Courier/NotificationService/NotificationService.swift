// Glue: decides how a push is shown, also while the app is dead.
import RepriseExtension

nonisolated final class NotificationService: RepriseNotificationService {
    override var appGroup: String? { "group.org.example.courier" }
}
