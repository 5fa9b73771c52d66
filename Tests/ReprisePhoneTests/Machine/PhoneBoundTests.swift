import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import Testing

/// What the stand-in itself bears: docs/limits.md, The phone.
@Suite("Bounds of the phone")
struct PhoneBoundTests {
    @Test("sixteen apps are installed, one of them again, and no seventeenth", .limit("phone.apps"))
    func apps() throws {
        var bench = try PhoneBench()
        for number in 1..<16 { try bench.install("app-\(number)") }
        try bench.install("app-15")
        let error = #expect(throws: PhoneFailure.self) { try bench.install("one-more") }
        #expect(error?.code == "full" && bench.machine.state.apps.count == 16)
    }

    @Test(
        "an app has 128 categories, and its former ones stay when it asks for more",
        .limit("phone.categories"))
    func categories() throws {
        var bench = try PhoneBench()
        try bench.open()
        let many = (0..<129).map { NotificationCategory(id: "\($0)", actions: []) }
        #expect(bench.call(.setCategories(Array(many.prefix(128)))) == .done)
        #expect(bench.call(.setCategories(many))?.code == "full")
        #expect(bench.record()?.notifications.categories.count == 128)
    }

    @Test(
        "256 notifications of an app stand in the notification centre; the oldest leave it",
        .limit("phone.delivered"))
    func delivered() throws {
        var bench = try PhoneBench()
        for number in 0..<260 { bench.push(push("n\(number)")) }
        #expect(bench.delivered == (4..<260).map { "n\($0)" })
    }

    @Test(
        "eight service extensions are at work; a ninth push is shown as it came",
        .limit("phone.extensions"))
    func extensions() throws {
        var bench = try PhoneBench(extension: "/bin/e")
        for number in 0..<9 { bench.push(push("n\(number)", mutable: true)) }
        #expect(bench.machine.state.extensions.runs.count == 8)
        #expect(bench.delivered == ["n8"])
    }

    @Test("10,000 things come due in one step of time, the rest with the next", .limit("phone.due"))
    func dueAtOnce() throws {
        var bench = try PhoneBench()
        try bench.open()
        bench.call(.add(request("x", after: 60, repeats: true)))
        try bench.command(.kill(app: nil))
        bench.pass(60 * 10_005)
        #expect(bench.happened(.delivered).count == 10_000)
        bench.pass(0)
        #expect(bench.happened(.delivered).count == 10_005)
    }

    @Test("ten years pass at once, or are set on the calendar, and no more", .limit("phone.time"))
    func years() throws {
        var bench = try PhoneBench()
        let years: Int64 = 10 * 366 * 86_400_000
        for command in [
            PhoneCommand.advance(milliseconds: years + 1),
            .advance(milliseconds: -1), .advance(milliseconds: .max),
            .setCalendar(byMilliseconds: years + 1),
            .setCalendar(byMilliseconds: .min),
        ] {
            let before = bench.machine.state
            let error = #expect(throws: PhoneFailure.self) { try bench.command(command) }
            #expect(error?.code == "badConfiguration" && bench.machine.state == before)
        }
        try bench.command(.advance(milliseconds: years))
        try bench.command(.setCalendar(byMilliseconds: -years))
    }

    @Test("the log has the newest 10,000 events, over a restart too", .limit("phone.log"))
    func log() throws {
        let folder = try TemporaryFolder()
        let phone = PhoneFolder(folder.url)
        var log = try PhoneLog(phone)
        for start in stride(from: 1, through: 24_000, by: 500) {
            try log.append(
                (start..<start + 500).map { number in
                    PhoneEvent(
                        number: number, at: WallTime(milliseconds: 0), microseconds: 0, app: nil,
                        what: "what", detail: "\(number)")
                })
        }
        #expect(log.events.count == 10_000 && log.events.first?.number == 14_001)
        let again = try PhoneLog(phone)
        #expect(again.last == 24_000 && (5_000...10_000).contains(again.events.count))
    }

    @Test(
        "a folder whose path is too long for a socket is refused with a remedy",
        .limit("phone.path"))
    func folder() async throws {
        let folder = try TemporaryFolder()
        let long = folder.appending(String(repeating: "x", count: 91))
        let error = await #expect(throws: RepriseError.self) {
            try await PhoneSupervisor.run(in: PhoneFolder(long))
        }
        #expect(error?.code == .badConfiguration && error?.remedy?.contains("90 bytes") == true)
    }
}
