import Foundation
import RepriseCore
import RepriseReminders
import RepriseTesting
import Testing

@Suite("Requests of reminders")
struct ReminderRequestTests {
    private static let berlin = TimeZone(identifier: "Europe/Berlin") ?? .gmt

    private static func first(
        _ schedule: Schedule, after: Int64, change: (inout Reminder) -> Void = { _ in }
    ) throws -> PlannedReminder {
        var reminder = Reminder(
            id: "r", part: "q", schedule: schedule, title: "Drink", body: "Water")
        change(&reminder)
        var planner = ReminderPlanner()
        #expect(
            planner.set(RemindedEntity(id: "goal-1", owner: "ada", reminders: [reminder])).isEmpty)
        return try #require(planner.plan(at: .seconds(after), in: berlin).planned.first)
    }

    private static func components(_ request: ReminderRequest) throws -> DateComponents {
        guard case .calendar(let components, repeats: false) = request.request.trigger else {
            throw RepriseError(.malformed, "No calendar trigger that rings once.")
        }
        return components
    }

    @Test("a request says where a tap leads, and is recognised when the system gives it back")
    func identity() throws {
        let planned = try Self.first(
            Schedule(.daily, at: [TimeOfDay(7, 30)]), after: 1_795_258_800)
        let request = ReminderRequest(planned, sort: "goal", in: Self.berlin)
        #expect(ReminderRequest.isOurs(request.request.id) && !ReminderRequest.isOurs("news-1"))
        let info = try #require(ReminderRequest.info(request.request, sort: "goal"))
        #expect(info.route == Route(sort: "goal", id: "goal-1", part: "q", owner: "ada"))
        #expect(info.reminder == "r" && info.occurrence == "2026-11-22T07:30")
        #expect(info.print == request.print && request.print.utf8.count == 32)
        #expect(request.request.content.thread == "goal-1")
        #expect(
            planned.id
                == PlannedReminder.id(
                    entity: "goal-1", reminder: "r", occurrence: "2026-11-22T07:30"))
        #expect(
            planned.id
                != PlannedReminder.id(
                    entity: "goal-1", reminder: "r", occurrence: "2026-11-22T07:30", isTest: true))
        var foreign = request.request
        foreign.content.info = Array("[]".utf8)
        #expect(ReminderRequest.info(foreign, sort: "goal") == nil)
    }

    @Test("any change of what is shown, heard or led to changes the digest, and nothing else does")
    func digest() throws {
        let schedule = Schedule(.daily, at: [TimeOfDay(7, 30)])
        let changes: [(inout Reminder) -> Void] = [
            { _ in }, { $0.title = "Drin" }, { ($0.title, $0.body) = ("DrinkW", "ater") },
            { $0.sound = false }, { $0.category = "log" }, { $0.part = nil },
            { $0.schedule.times = [TimeOfDay(7, 31)] },
            { $0.schedule.zone = .fixed("Europe/Berlin") },
            { $0.id = "s" },
        ]
        let prints = try changes.map {
            ReminderRequest(
                try Self.first(schedule, after: 1_795_258_800, change: $0), sort: "goal",
                in: Self.berlin
            ).print
        }
        #expect(Set(prints).count == changes.count)
        let later = try Self.first(schedule, after: 1_795_258_801) {
            $0.schedule.end = LocalDate(2027, 1, 1)
        }
        #expect(ReminderRequest(later, sort: "goal", in: Self.berlin).print == prints[0])
    }

    @Test(
        "the device's times travel with it, a fixed place's do not, an hour that is twice is exact")
    func triggers() throws {
        let times = [TimeOfDay(2, 30)]
        let device = try Self.components(
            ReminderRequest(
                try Self.first(Schedule(.daily, at: times), after: 1_795_258_800), sort: "goal",
                in: Self.berlin))
        #expect(device.timeZone == nil && device.second == nil)
        #expect(
            [device.year, device.month, device.day, device.hour, device.minute] == [
                2026, 11, 22, 2, 30,
            ])
        let fixed = try Self.components(
            ReminderRequest(
                try Self.first(
                    Schedule(.daily, at: times, zone: .fixed("Asia/Tokyo")), after: 1_795_258_800),
                sort: "goal", in: Self.berlin))
        #expect(fixed.timeZone?.identifier == "Asia/Tokyo" && fixed.hour == 2)
        // 2026-10-25 02:30 in Berlin is twice; 2026-03-29 02:30 never.
        let twice = try Self.components(
            ReminderRequest(
                try Self.first(Schedule(.daily, at: times), after: 1_792_872_000), sort: "goal",
                in: Self.berlin))
        #expect(
            twice.timeZone == .gmt
                && [twice.day, twice.hour, twice.minute, twice.second] == [25, 0, 30, 0])
        let never = try Self.components(
            ReminderRequest(
                try Self.first(Schedule(.daily, at: times), after: 1_774_700_000), sort: "goal",
                in: Self.berlin))
        #expect(never.timeZone == nil && [never.day, never.hour, never.minute] == [29, 3, 30])
    }

    @Test(
        "a reminder rings on a device with another calendar, by the clock of the place where it is",
        arguments: [Calendar.Identifier.gregorian, .buddhist, .japanese])
    func deviceCalendar(_ calendar: Calendar.Identifier) async throws {
        let clock = ManualClock(milliseconds: 1_795_258_800_000)
        let system = MemoryNotifications(clock: clock, zone: Self.berlin, calendar: calendar)
        let planned = try Self.first(
            Schedule(.daily, at: [TimeOfDay(7, 30)]), after: 1_795_258_800)
        let request = ReminderRequest(planned, sort: "goal", in: Self.berlin).request
        // As the stand-in phone keeps it.
        let stored = try JSONDecoder().decode(
            NotificationRequest.self, from: JSONEncoder().encode(request))
        #expect(stored == request)
        try await system.connect().add(stored)
        #expect(system.due == [planned.id: planned.at])
        system.travel(to: try #require(TimeZone(identifier: "Asia/Tokyo")))
        #expect(system.due == [planned.id: planned.at.advanced(by: .seconds(-8 * 3_600))])
        clock.advance(by: .seconds(86_400))
        #expect(system.delivered.map(\.request) == [request])
    }

    @Test("a pending request of an earlier version, which named no calendar, is not right any more")
    func earlierVersion() throws {
        let planned = try Self.first(
            Schedule(.daily, at: [TimeOfDay(7, 30)]), after: 1_795_258_800)
        let request = ReminderRequest(planned, sort: "goal", in: Self.berlin)
        #expect(request.print != "04c75b02e0e465a0fdcba15682a19b92")
    }

    @Test("a snooze and a test ring at their moment, rounded up to the second")
    func snooze() throws {
        var planned = try Self.first(
            Schedule(.daily, at: [TimeOfDay(7, 30)]), after: 1_795_258_800)
        planned.snoozedUntil = WallTime(milliseconds: 1_795_300_000_001)
        let components = try Self.components(
            ReminderRequest(planned, sort: "goal", in: Self.berlin))
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let date = try #require(calendar.date(from: components))
        #expect(components.timeZone == .gmt && date.timeIntervalSince1970 == 1_795_300_001)
    }
}
