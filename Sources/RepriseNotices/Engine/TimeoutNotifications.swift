import RepriseCore

/// The system's notification centre with timeouts: a call that never returns must not stop the
/// feature.
///
/// Effects of an abandoned call are found by reading the system's list.
struct TimeoutNotifications: UserNotifications {
    private let system: any UserNotifications
    private let timeout: CallTimeout

    init(_ system: any UserNotifications, clock: any Timekeeper) {
        self.system = system
        timeout = CallTimeout(clock: clock, most: NoticeLimits.abandoned)
    }

    private func wait<T: Sendable>(
        _ what: String, _ body: @escaping @Sendable (any UserNotifications) async throws -> T
    ) async throws -> T {
        try await timeout.wait(NoticeLimits.systemTimeout, for: "The system's \(what)") {
            [system] in try await body(system)
        }
    }

    func settings() async throws -> NotificationSettings {
        try await wait("settings") { try await $0.settings() }
    }

    /// A person is asked: that takes as long as it takes.
    func requestAuthorization(provisional: Bool) async throws -> Bool {
        try await system.requestAuthorization(provisional: provisional)
    }

    func add(_ request: NotificationRequest) async throws {
        try await wait("adding of a notification") { try await $0.add(request) }
    }

    func pending() async throws -> [NotificationRequest] {
        try await wait("list of requests") { try await $0.pending() }
    }

    func delivered() async throws -> [DeliveredNotification] {
        try await wait("list of what stands") { try await $0.delivered() }
    }

    func removePending(_ ids: [String]) async throws {
        try await wait("removal of requests") { try await $0.removePending(ids) }
    }

    func removeDelivered(_ ids: [String]) async throws {
        try await wait("removal of notifications") { try await $0.removeDelivered(ids) }
    }

    func setBadge(_ count: Int) async throws {
        try await wait("badge") { try await $0.setBadge(count) }
    }

    func setCategories(_ categories: [NotificationCategory]) async throws {
        try await wait("categories") { try await $0.setCategories(categories) }
    }
}
