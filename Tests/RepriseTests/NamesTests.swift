import Reprise
import Testing

@Suite("The names that one import brings")
struct NamesTests {
    @Test("A person's quiet hours and a schedule's are told apart")
    func quietHours() throws {
        let person = try QuietHours(from: "22:00", to: "07:00", zone: "Europe/Berlin")
        let schedule = Schedule(
            .daily, at: [TimeOfDay(7, 30)],
            quiet: Schedule.QuietHours(from: TimeOfDay(22, 0), to: TimeOfDay(7, 0)))
        #expect(schedule.quiet?.from.description == person.startText)
    }
}
