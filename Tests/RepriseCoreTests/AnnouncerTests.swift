import RepriseCore
import Testing

@Suite("Announced changes")
struct AnnouncerTests {
    @Test("who reads slowly gets the newest 64, and nobody else waits for that")
    func slow() async {
        let announcer = Announcer(0)
        let slow = announcer.watch()
        for value in 1...1_000 { announcer.announce(value) }
        var seen: [Int] = []
        for await value in slow {
            seen.append(value)
            if value == 1_000 { break }
        }
        #expect(seen == Array(937...1_000))
        #expect(announcer.value == 1_000)
    }
}
