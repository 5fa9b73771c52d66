import RepriseExtension

nonisolated final class NotificationService: RepriseNotificationService {
    override var appGroup: String? { "group.org.example.courier" }
}
