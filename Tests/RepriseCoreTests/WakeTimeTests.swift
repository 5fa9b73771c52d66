import RepriseCore
import RepriseTesting
import Testing

@Suite("The time that the system gives a woken app", .timeLimit(.minutes(1)))
struct WakeTimeTests {
    private let clock = ManualClock()

    @Test("work that does not end is left when the time is over; its own waits end a second before")
    func overrun() async {
        let wake = WakeTime(by: clock)
        let (gate, letGo) = AsyncStream.makeStream(of: Void.self)
        let end = clock.uptime() + .seconds(25)
        #expect(wake.rest == .seconds(24))
        let over = Task { await wake.run { for await _ in gate {} } }
        while clock.sleepers != [end] { await Task.yield() }
        clock.advance(by: .seconds(24))
        #expect(wake.rest == .zero && clock.sleepers == [end])
        clock.advance(by: .seconds(1))
        await over.value
        letGo.finish()
    }

    @Test("work that is done ends it, and one that is cancelled can end")
    func done() async {
        await WakeTime(by: clock).run {}
        let wake = WakeTime(.seconds(20), by: clock)
        #expect(wake.rest == .seconds(19))
        let (gate, letGo) = AsyncStream.makeStream(of: Void.self)
        let over = Task { await wake.run { for await _ in gate {} } }
        over.cancel()
        await over.value
        letGo.finish()
    }
}
