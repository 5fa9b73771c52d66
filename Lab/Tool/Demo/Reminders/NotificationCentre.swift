import Foundation
import Goals
import RepriseCore
import ReprisePhone
import RepriseReminders

/// The phone's pending notifications compared with the goals: a checker that uses neither app nor
/// journal.
struct NotificationCentre: Sendable {
    /// The number of pending notifications.
    let pending: Int
    /// Pending notifications whose goal is gone or paused, or has no reminder at that time.
    let orphans: Int
    /// Goals in use of which the next reminder does not wait.
    let silent: Int

    /// Whether no pending notification is wrong, and none is missing.
    ///
    /// - Parameter all: false: more goals than the system's limit, so that a full list suffices.
    /// - Returns: whether both hold.
    func isInOrder(withAll all: Bool) -> Bool {
        orphans == 0 && (all ? silent == 0 : pending >= 60)
    }
}

extension NotificationCentre {
    /// Compares.
    ///
    /// - Parameters:
    ///   - status: the phone's.
    ///   - app: of the notifications.
    ///   - goals: all of the app's.
    init(_ status: PhoneStatus, app: String, goals: [Goal]) {
        let zone = TimeZone(identifier: status.zone) ?? .gmt
        let moment = PhoneMoment(wall: status.now, microseconds: 0)
        let active = Dictionary(
            uniqueKeysWithValues: goals.filter { $0.state == .active }.map { ($0.id, $0) })
        let requests = status.apps.first { $0.id == app }?.pending ?? []
        var fires: [String: Set<WallTime>] = [:]
        var orphans = 0
        for request in requests {
            let goal = request.content.thread
            let next = request.trigger.flatMap { trigger in
                TriggerTime.next(trigger, after: moment, zone: status.zone, rules: status.rules)
            }
            guard case .calendar(let time) = next, let reminders = active[goal]?.reminders,
                reminders.contains(where: { $0.rings(at: time, in: zone) })
            else {
                orphans += 1
                continue
            }
            fires[goal, default: []].insert(time)
        }
        pending = requests.count
        self.orphans = orphans
        silent =
            active.values.filter { goal in
                goal.reminders.contains { reminder in
                    guard let next = reminder.next(after: status.now, in: zone) else {
                        return false
                    }
                    return fires[goal.id]?.contains(next) != true
                }
            }.count
    }
}

extension Reminder {
    fileprivate func next(after time: WallTime, in zone: TimeZone) -> WallTime? {
        schedule.occurrences(after: time, in: zone).first { _ in true }?.at
    }

    fileprivate func rings(at time: WallTime, in zone: TimeZone) -> Bool {
        next(after: time.advanced(by: .milliseconds(-1)), in: zone) == time
    }
}
