package import Foundation
package import RepriseCore

/// The system's request for a planned reminder, and the part of it that identifies it among the
/// pending ones.
package struct ReminderRequest: Hashable, Sendable {
    /// For the port.
    package let request: NotificationRequest
    /// A digest of everything else in it: one that is pending and has another is not right any
    /// more.
    package let print: String

    /// Makes the request.
    ///
    /// - Parameters:
    ///   - planned: the planned reminder.
    ///   - sort: as in ``RepriseCore/Route/sort``.
    ///   - zone: the device's.
    package init(_ planned: PlannedReminder, sort: String, in zone: TimeZone) {
        let reminder = planned.reminder
        let components = Self.components(planned, in: zone)
        var content = NotificationContent(title: reminder.title, body: reminder.body)
        content.sound = reminder.sound
        content.category = reminder.category
        content.thread = planned.entity
        var info = ReminderInfo(
            route: Route(
                sort: sort, id: planned.entity, part: reminder.part, owner: planned.owner,
                isTest: planned.isTest),
            reminder: reminder.id, occurrence: planned.occurrence.local)
        let fields = [
            content.title, content.body, content.sound ? "sound" : "", content.category,
            content.thread, Self.text(components), String(decoding: info.payload, as: UTF8.self),
        ]
        // Each with its length, so that no two lists of fields read alike.
        let text = fields.map { "\($0.utf8.count):\($0)" }.joined()
        print = EntryID.hash(of: text, prefix: "").text
        info.print = print
        content.info = info.payload
        request = NotificationRequest(
            id: planned.id, content: content, trigger: .calendar(components, repeats: false))
    }

    /// Whether a request id is one of ours.
    package static func isOurs(_ id: String) -> Bool { id.hasPrefix(PlannedReminder.prefix) }

    /// Which reminder a pending request is, and by which digest; nil: it cannot be read.
    package static func info(_ request: NotificationRequest, sort: String) -> ReminderInfo? {
        guard case .read(let info) = ReminderInfo.reading(request.content.info, sort: sort) else {
            return nil
        }
        return info
    }

    /// Named in each request: the system else takes the one that the person has set.
    ///
    /// 2026 in the Buddhist one is long past. Its zone is the device's wherever that is, so that a
    /// request without a zone follows the device.
    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .autoupdatingCurrent
        return calendar
    }()

    /// The wall-clock time at which it rings, so that it follows the device; or the exact moment in
    /// UTC for a snooze, a test, an hour that exists twice, or a zone whose offset is no whole
    /// minute.
    private static func components(
        _ planned: PlannedReminder, in device: TimeZone
    ) -> DateComponents {
        let zone = planned.reminder.schedule.zone(on: device) ?? device
        let occurrence = planned.occurrence
        let wall = occurrence.date.number * 86_400 + occurrence.time.minutes * 60
        let moment = ZoneClock(zone).moment(wall)
        guard planned.snoozedUntil == nil, !moment.isAmbiguous, moment.wall == wall,
            moment.at * 1_000 == planned.at.milliseconds
        else { return exact(planned.at) }
        let isFixed = planned.reminder.schedule.zone != .device
        return DateComponents(
            calendar: calendar, timeZone: isFixed ? zone : nil, year: occurrence.date.year,
            month: occurrence.date.month, day: occurrence.date.day, hour: occurrence.time.hour,
            minute: occurrence.time.minute)
    }

    /// Not before it, to the second.
    private static func exact(_ time: WallTime) -> DateComponents {
        let seconds = -(-time.milliseconds).floored(by: 1_000)
        let day = seconds.floored(by: 86_400)
        let rest = Int(seconds - day * 86_400)
        let date = LocalDate(number: day)
        return DateComponents(
            calendar: calendar, timeZone: .gmt, year: date.year, month: date.month, day: date.day,
            hour: rest / 3_600, minute: rest / 60 % 60, second: rest % 60)
    }

    /// With the calendar, so that a request of an earlier version, which named none, is replaced.
    private static func text(_ components: DateComponents) -> String {
        let numbers = [
            components.year, components.month, components.day, components.hour, components.minute,
            components.second,
        ]
        return (components.timeZone?.identifier ?? "device") + " gregorian "
            + numbers.map { $0.map(String.init) ?? "-" }.joined(separator: " ")
    }
}
