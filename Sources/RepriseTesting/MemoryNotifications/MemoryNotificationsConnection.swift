public import RepriseCore
import Synchronization

/// The connection of one process of an app, until it is killed; see ``MemoryNotifications``.
public final class MemoryNotificationsConnection: Sendable {
    private struct State {
        /// How many changes are left until the process is dead; nil: it lives.
        var left: Int?
        var isHeld = false
        var held: [CheckedContinuation<Void, Never>] = []
    }

    private let system: MemoryNotifications
    private let state: Mutex<State>

    init(system: MemoryNotifications, changes: Int?) {
        self.system = system
        state = Mutex(State(left: changes))
    }

    /// Kills the process: its later calls have no effect and are never answered.
    public func kill() { state.withLock { $0.left = 0 } }

    /// Whether the process is dead.
    public var isDead: Bool { state.withLock { $0.left == 0 } }

    /// Changes wait from now on, until ``release()``.
    public func hold() { state.withLock { $0.isHeld = true } }

    /// How many changes wait.
    public var held: Int { state.withLock { $0.held.count } }

    /// Releases waiting changes.
    public func release() {
        let held = state.withLock { state in
            state.isHeld = false
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    private func check() async throws {
        guard isDead else { return }
        // No answer comes; the calling task ends with its process.
        while true { try await Task.sleep(for: .seconds(3_600)) }
    }

    private func change() async throws {
        try await check()
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.isHeld { state.held.append(continuation) }
                return !state.isHeld
            }
            if isFree { continuation.resume() }
        }
        let isAlive = state.withLock { state in
            guard let left = state.left else { return true }
            state.left = max(0, left - 1)
            return left > 0
        }
        if !isAlive { try await check() }
    }

    private func truth() throws {
        if let fault = system.with({ $0.fault }) { throw fault }
    }
}

extension MemoryNotificationsConnection: UserNotifications {
    /// The person's current settings.
    public func settings() async throws -> NotificationSettings {
        try await check()
        try truth()
        return system.with { $0.settings }
    }

    /// Answers with the permission of ``MemoryNotifications/allow(_:)``; a person who was not asked
    /// yet says yes.
    public func requestAuthorization(provisional: Bool) async throws -> Bool {
        try await check()
        try truth()
        return system.with { state in
            if state.settings.authorization == .notDetermined {
                state.settings.authorization = provisional ? .provisional : .authorized
            }
            return state.settings.authorization != .denied
        }
    }

    /// Adds a request, or replaces the one of the same id.
    public func add(_ request: NotificationRequest) async throws {
        try await change()
        try system.add(request)
    }

    /// The requests that have not rung.
    public func pending() async throws -> [NotificationRequest] {
        try await check()
        try truth()
        return system.pending
    }

    /// The notifications in the notification centre.
    public func delivered() async throws -> [DeliveredNotification] {
        try await check()
        try truth()
        return system.delivered
    }

    /// Removes pending requests.
    public func removePending(_ ids: [String]) async throws {
        try await change()
        try truth()
        system.with { state in
            state.changes += 1
            for id in ids { state.pending[id] = nil }
        }
    }

    /// Removes notifications from the notification centre.
    public func removeDelivered(_ ids: [String]) async throws {
        try await change()
        try truth()
        system.with { state in
            state.changes += 1
            state.delivered.removeAll { ids.contains($0.request.id) }
        }
    }

    /// Sets the number on the app's icon.
    public func setBadge(_ count: Int) async throws {
        try await check()
        try truth()
        system.with { state in MemoryNotifications.set(count, &state) }
    }

    /// Does nothing: buttons have no effect here.
    public func setCategories(_ categories: [NotificationCategory]) async throws {
        try await check()
    }
}
