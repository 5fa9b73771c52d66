import RepriseCore
import RepriseTesting
import Synchronization
import Testing

@Suite("Alarms", .timeLimit(.minutes(1)))
struct AlarmTests {
    private let time = ManualClock()
    private let calls = AsyncStream.makeStream(of: String.self)

    private func sleeping(_ moments: [Duration]) async {
        while time.sleepers != moments { await Task.yield() }
    }

    @Test("an alarm calls once, at its time, and again only if it is set again")
    func once() async {
        let alarm = Alarm(time)
        var called = calls.stream.makeAsyncIterator()
        let due = time.uptime() + .seconds(5)
        alarm.set(due) { calls.continuation.yield("first") }
        await sleeping([due])
        time.advance(by: .seconds(5))
        #expect(await called.next() == "first")
        #expect(alarm.due == due)
        alarm.set(due) { calls.continuation.yield("the same time") }
        #expect(time.sleepers.isEmpty)
        alarm.cancel()
        alarm.set(due) { calls.continuation.yield("it is over") }
        #expect(await called.next() == "it is over")
    }

    @Test("a call that cancels its alarm is not cancelled itself")
    func cancelsItself() async {
        let alarm = Alarm(time)
        var called = calls.stream.makeAsyncIterator()
        alarm.set(time.uptime()) { [weak alarm] in
            alarm?.cancel()
            calls.continuation.yield(Task.isCancelled ? "cancelled" : "goes on")
        }
        #expect(await called.next() == "goes on")
        #expect(alarm.due == nil)
    }

    @Test("another time replaces the former; a cancelled alarm does not call, nor one that is gone")
    func replaced() async {
        var alarm: Alarm? = Alarm(time)
        let start = time.uptime()
        for seconds in [9, 3, 6] {
            alarm?.set(start + .seconds(seconds)) { calls.continuation.yield("\(seconds)") }
        }
        await sleeping([start + .seconds(6)])
        time.advance(by: .seconds(6))
        alarm?.set(start + .seconds(60)) { calls.continuation.yield("60") }
        await sleeping([start + .seconds(60)])
        alarm?.cancel()
        await sleeping([])
        alarm?.set(start + .seconds(70)) { calls.continuation.yield("70") }
        await sleeping([start + .seconds(70)])
        alarm = nil
        await sleeping([])
        calls.continuation.finish()
        var called: [String] = []
        for await call in calls.stream { called.append(call) }
        #expect(called.isEmpty || called == ["6"])
    }
}
