import Foundation
import RepriseCore
import RepriseReminders
import Testing

@Suite("Clock of the reminders")
struct ReminderClockTests {
    private static func moment(
        _ uptime: Int, wall: Int? = nil, zone: String = "UTC"
    ) -> ReconciliationMachine.Moment {
        .init(
            uptime: .seconds(uptime), wall: WallTime(milliseconds: Int64(wall ?? uptime) * 1_000),
            zone: TimeZone(identifier: zone) ?? .gmt)
    }

    @Test(
        "a step of the calendar, another zone and a reminder that has rung are changes; time is none",
        arguments: [
            (60, 60, "UTC", nil), (60, 62, "UTC", nil), (60, 63, "UTC", .clock),
            (60, 57, "UTC", .clock), (60, 60, "Asia/Tokyo", .zone), (100, 100, "UTC", .rang),
        ] as [(Int, Int, String, ReconciliationCause?)])
    func causes(uptime: Int, wall: Int, zone: String, cause: ReconciliationCause?) {
        var clock = ReminderClock()
        #expect(clock.cause(Self.moment(0)) == nil, "nothing was read")
        clock.read(Self.moment(0))
        clock.ringsNext(at: WallTime(milliseconds: 100_000), now: Self.moment(0))
        #expect(clock.cause(Self.moment(uptime, wall: wall, zone: zone)) == cause)
    }

    @Test("is to be read after a tick, or a second after a reminder rings")
    func due() {
        var clock = ReminderClock()
        #expect(clock.due(tick: .seconds(60)) == nil)
        clock.read(Self.moment(10))
        #expect(clock.due(tick: .seconds(60)) == .seconds(70))
        clock.ringsNext(at: WallTime(milliseconds: 30_000), now: Self.moment(10))
        #expect(clock.due(tick: .seconds(60)) == .seconds(31))
        clock.read(Self.moment(30))
        #expect(clock.due(tick: .seconds(60)) == .seconds(90), "what has rung is over")
    }
}
