import RepriseReminders
import Testing

struct ScheduleValueTests {
    @Test func aScheduleIsForTheDevicesOwnZoneUnlessItSaysOtherwise() {
        #expect(Schedule(.daily, at: [TimeOfDay(7, 30)]).zone == .device)
    }
}
