import RepriseCore

/// The phone's notification centre, for one app.
struct PhoneNotifications: UserNotifications {
    let link: PhoneLink

    func settings() async throws -> NotificationSettings {
        guard case .settings(let settings) = try await link.ask(.settings) else {
            throw PhoneApp.nonsense
        }
        return settings
    }

    func requestAuthorization(provisional: Bool) async throws -> Bool {
        let answer = try await link.ask(.requestAuthorization(provisional: provisional))
        guard case .allowed(let isAllowed) = answer else { throw PhoneApp.nonsense }
        return isAllowed
    }

    func add(_ request: NotificationRequest) async throws { _ = try await link.ask(.add(request)) }

    func pending() async throws -> [NotificationRequest] {
        guard case .pending(let requests) = try await link.ask(.pending) else {
            throw PhoneApp.nonsense
        }
        return requests
    }

    func delivered() async throws -> [DeliveredNotification] {
        guard case .delivered(let notifications) = try await link.ask(.delivered) else {
            throw PhoneApp.nonsense
        }
        return notifications
    }

    func removePending(_ ids: [String]) async throws {
        _ = try await link.ask(.removePending(ids))
        // As in `SystemNotifications`: it removes later, and not at all if the app is suspended
        // before; what is asked after it is answered after it.
        _ = try await pending()
    }

    func removeDelivered(_ ids: [String]) async throws {
        _ = try await link.ask(.removeDelivered(ids))
        _ = try await delivered()  // as above
    }

    func setBadge(_ count: Int) async throws { _ = try await link.ask(.setBadge(count)) }

    func setCategories(_ categories: [NotificationCategory]) async throws {
        _ = try await link.ask(.setCategories(categories))
    }
}

/// The phone's background scheduler, for one app.
struct PhoneScheduler: BackgroundScheduler {
    let link: PhoneLink

    func submit(_ request: BackgroundRequest) async throws {
        _ = try await link.ask(.submit(request))
    }

    func cancel(_ id: String) async throws { _ = try await link.ask(.cancel(id)) }

    func pending() async throws -> [BackgroundRequest] {
        guard case .tasks(let requests) = try await link.ask(.tasks) else {
            throw PhoneApp.nonsense
        }
        return requests
    }
}
