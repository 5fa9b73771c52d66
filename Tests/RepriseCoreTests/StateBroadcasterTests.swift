import RepriseCore
import RepriseTestSupport
import Testing

@Suite("Announced changes")
struct StateBroadcasterTests {
    @Test(
        "a slow observer gets the newest 64 values, and no other waits for it",
        .limit("journal.observers"))
    func slow() async {
        let broadcaster = StateBroadcaster(0)
        let slow = broadcaster.watch()
        for value in 1...1_000 { broadcaster.announce(value) }
        var seen: [Int] = []
        for await value in slow {
            seen.append(value)
            if value == 1_000 { break }
        }
        #expect(seen == Array(937...1_000))
        #expect(broadcaster.value == 1_000)
    }

    @Test("an observer that is cancelled while a value is announced blocks no other")
    func cancelled() async {
        let broadcaster = StateBroadcaster(0)
        let ended = Seen<Void>()
        let announcing = Task.detached {
            var value = 0
            while ended.count == 0 {
                value += 1
                broadcaster.announce(value)
            }
        }
        for _ in 0..<5_000 {
            let observer = Task.detached { for await _ in broadcaster.watch() {} }
            await Task.yield()
            observer.cancel()
            await observer.value
        }
        ended.add(())
        await announcing.value
        #expect(broadcaster.value > 0)
    }
}
