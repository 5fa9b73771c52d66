import Foundation
import RepriseCore
import ReprisePhone

/// A notification centre before which the process dies, after so many changes of what rings.
final class DyingNotifications: UserNotifications {
    private let system: any UserNotifications
    private let left: Shared<Int>

    init(_ system: any UserNotifications, after changes: Int) {
        (self.system, left) = (system, Shared(changes))
    }

    private func change(_ body: () async throws -> Void) async throws {
        if left.value == 0 { kill(getpid(), SIGKILL) }
        try await body()
        // The last one is not followed by another.
        left.update { $0 -= 1 }
        if left.value == 0 { kill(getpid(), SIGKILL) }
    }

    func add(_ request: NotificationRequest) async throws {
        try await change { try await system.add(request) }
    }

    func removePending(_ ids: [String]) async throws {
        try await change { try await system.removePending(ids) }
    }

    func removeDelivered(_ ids: [String]) async throws {
        try await change { try await system.removeDelivered(ids) }
    }

    func settings() async throws -> NotificationSettings { try await system.settings() }
    func requestAuthorization(provisional: Bool) async throws -> Bool {
        try await system.requestAuthorization(provisional: provisional)
    }
    func pending() async throws -> [NotificationRequest] { try await system.pending() }
    func delivered() async throws -> [DeliveredNotification] { try await system.delivered() }
    func setBadge(_ count: Int) async throws { try await system.setBadge(count) }
    func setCategories(_ categories: [NotificationCategory]) async throws {
        try await system.setCategories(categories)
    }
}
