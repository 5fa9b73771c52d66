package import RepriseCore

/// An app's requests to the background scheduler.
package struct AppTasks: Hashable, Sendable, Codable {
    /// Requests that wait.
    package private(set) var waiting: [BackgroundRequest] = []
    /// The requests of running tasks.
    private var granted: [String: BackgroundRequest.Kind] = [:]

    mutating func submit(_ request: BackgroundRequest, declared: [String]) throws(PhoneFailure) {
        guard declared.contains(request.id) else {
            throw PhoneFailure(
                .refused, "The app has not declared the task (notPermitted).",
                remedy: "Name it among the tasks when the app is installed.")
        }
        let tasks = waiting.filter { $0.id != request.id } + [request]
        let refreshes = tasks.count { $0.kind == .refresh }
        guard refreshes <= PhoneLimits.refreshTasks,
            tasks.count - refreshes <= PhoneLimits.processingTasks
        else {
            throw PhoneFailure(
                .full, "1 refresh and 10 processing requests wait (tooManyPendingTaskRequests).")
        }
        waiting = tasks
    }

    mutating func cancel(_ id: String) { waiting.removeAll { $0.id == id } }

    /// Whether the task may run though the user has thrown the app out.
    func runsAfterForceQuit(_ task: String, _ rules: PhoneRules) -> Bool {
        guard let request = waiting.first(where: { $0.id == task }) else { return true }
        return request.kind != .refresh && rules.processingAfterForceQuit == .runs
    }

    /// The system has chosen to run a task now.
    ///
    /// - Returns: how long it may run, in milliseconds.
    mutating func grant(
        _ task: String, _ conditions: RunConditions, at now: PhoneMoment
    ) throws(PhoneFailure) -> Int64 {
        guard let request = waiting.first(where: { $0.id == task }) else {
            throw PhoneFailure(.noSuchEntry, "The app has not asked for time for \(task).")
        }
        if let earliest = request.earliest, earliest > now.wall {
            throw PhoneFailure(
                .unavailable, "The app wants it later.", remedy: "Advance the clock.")
        }
        if let obstacle = Self.obstacle(to: request.kind, conditions) {
            throw PhoneFailure(.unavailable, obstacle)
        }
        cancel(task)
        granted[task] = request.kind
        return request.kind == .refresh
            ? PhoneLimits.refreshMilliseconds : PhoneLimits.processingMilliseconds
    }

    /// Whether a running task may not run any more: what it asked for is gone.
    func isObstructed(_ task: String, _ conditions: RunConditions) -> Bool {
        granted[task].map { Self.obstacle(to: $0, conditions) != nil } ?? false
    }

    /// Why a task cannot run now; nil if it can.
    private static func obstacle(
        to kind: BackgroundRequest.Kind, _ now: RunConditions
    ) -> String? {
        guard case .processing(let needsNetwork, let needsPower) = kind else {
            return now.device.isLowPower ? "Low Power Mode refreshes no app." : nil
        }
        if needsNetwork, now.network == .off {
            return "The task needs the network, and there is none."
        }
        if needsPower, !now.device.isPluggedIn {
            return "The task needs power, and the phone is not plugged in."
        }
        return nil
    }

    mutating func completed(_ task: String) { granted[task] = nil }

    /// The process is gone.
    mutating func ended() { granted = [:] }

    /// The phone was started.
    mutating func restarted(_ rules: PhoneRules) {
        if rules.tasksAcrossRestart == .cleared { waiting = [] }
    }
}
