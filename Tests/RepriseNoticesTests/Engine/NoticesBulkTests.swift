import GRDB
import Reprise
import RepriseCore
import RepriseNotices
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("The notices feature, and much at once", .serialized) struct NoticesBulkTests {
    let stage: NoticeFixture
    let system = MemoryNotifications(clock: ManualClock())

    init() throws { stage = try NoticeFixture() }

    @Test(
        "A catch-up of 100,000 messages: the newest ten stand, the rest is counted",
        .limit("notices.banners", "notices.batch"))
    func catchUp() async throws {
        try stage.server.fill("general", with: 100_000)
        let start = ContinuousClock.now
        let device = try await stage.open(system: system)
        try await eventually("it is caught up") {
            try device.reprise.channel("general").state == .live
        }
        try await device.live(through: 100_000)
        #expect(device.standing.count == 10)
        #expect(device.standing.contains("general-100000"))
        // The newest ten at the end, and each time that it has lasted 2 s more.
        let waits = Int((ContinuousClock.now - start) / .seconds(2))
        #expect(system.rung.count <= 10 * (waits + 2))
        #expect(device.notices.badge.count == WireLimits.unreadCounted)
        let rows: Int? = try await device.value("SELECT COUNT(*) FROM noticesMessage")
        #expect((rows ?? 0) < 10_000)
        await device.close()
    }

    @Test("After several catch-ups the newest ten notifications of a channel are shown")
    func catchUps() async throws {
        let device = try await stage.open(system: system)
        for round in 1...3 {
            // Nobody who is live is sent them: they come by a catch-up, however soon the device is
            // back.
            try stage.server.fill("general", with: 6)
            stage.server.cut()
            try await device.live(through: Int64(6 * round))
        }
        let ways: Int? = try await device.value(
            "SELECT COUNT(*) FROM noticesMessage WHERE way = 'catchUp'")
        #expect(ways == 18, "else it shows nothing")
        try await eventually("ten stand") {
            device.standing.sorted() == (9...18).map { "general-\($0)" }.sorted()
        }
        await device.close()
    }

    @Test(
        "A catch-up that does not end is waited for 2 s; then its messages so far are shown",
        .limit("notices.catchUp"))
    func endless() async throws {
        stage.server.faults.completion = .never
        stage.server.faults.headOffset = 1
        let (_, id) = try stage.publish()
        let start = ContinuousClock.now
        let device = try await stage.open(system: system)
        try await eventually("it stands", within: .seconds(20)) {
            device.standing == [id.text]
        }
        #expect(ContinuousClock.now - start > .seconds(2))
        await device.close()
    }

    @Test("A message costs as much with 10,000 channels as with one")
    func channels() async throws {
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        func times(_ count: Int) async throws -> [Duration] {
            var times: [Duration] = []
            for _ in 0..<count {
                let start = ContinuousClock.now
                let (_, id) = try stage.publish()
                while !device.standing.contains(id.text), ContinuousClock.now - start < .seconds(5)
                { await Task.yield() }
                times.append(ContinuousClock.now - start)
            }
            return times.sorted()
        }
        let one = try await times(50)
        try await device.reprise.journal.write { db in
            for number in 0..<10_000 {
                try db.execute(
                    sql: """
                        INSERT INTO channelsLog (channel, epoch, coverage, head, version)
                        VALUES (?, 'e1', '[]', 0, 0)
                        """, arguments: ["c\(number)"])
            }
        }
        await device.notices.foreground()
        try await eventually("all are known", within: .seconds(60)) {
            let known: Int? = try await device.value("SELECT COUNT(*) FROM noticesChannel")
            return known == 10_001
        }
        await device.quiet()
        let many = try await times(100)
        print("10,000 channels, socket to banner: median \(many[50]), p99 \(many[98])")
        let bound = max(Duration.milliseconds(200), one[25] * 4)
        #expect(many[50] < bound, "with one channel \(one[25])")
        await device.close()
    }

    /// What the server's rule says is unread.
    private struct Model {
        struct Written { var isMine: Bool, isDeleted: Bool }
        var messages: [String: [Int64: Written]] = [:]
        var read: [String: Int64] = [:]

        var unread: Int64 {
            messages.reduce(0) { sum, channel in
                let read = read[channel.key] ?? 0
                return sum
                    + Int64(
                        channel.value.count {
                            $0.key > read && !$0.value.isMine && !$0.value.isDeleted
                        })
            }
        }
    }

    @Test(
        "The badge of three devices equals the server's rule, through 1,000 random operations"
    )
    func randomBadge() async throws {
        var random = SystemRandomNumberGenerator()
        let names = ["a", "b", "c"]
        let systems = (0..<3).map { _ in MemoryNotifications(clock: ManualClock()) }
        var devices: [NoticeDevice] = []
        for index in 0..<3 {
            devices.append(
                try await stage.open("device\(index)", system: systems[index], channels: names))
        }
        var model = Model()
        for step in 1...1_000 {
            let name = try #require(names.randomElement(using: &random))
            let head = stage.server.head(of: name)
            switch Int.random(in: 0..<10, using: &random) {
            case 0...4:
                let isMine = Bool.random(using: &random) && Bool.random(using: &random)
                let seq = try stage.publish(
                    to: name, from: isMine ? NoticeFixture.me : NoticeFixture.other
                ).seq
                model.messages[name, default: [:]][seq] = .init(isMine: isMine, isDeleted: false)
            case 5, 6:
                guard let target = model.messages[name]?.keys.randomElement(using: &random)
                else { continue }
                try stage.publish(to: name, change: .deletes(target))
                model.messages[name]?[target]?.isDeleted = true
            case 7, 8:
                guard head > 0 else { continue }
                let seq = Int64.random(in: 1...head, using: &random)
                let reader = try #require(devices.randomElement(using: &random))
                try await reader.reprise.channel(name).markRead(through: seq)
                // The others hear of it by the server's echo.
                try stage.readElsewhere(name, through: seq)
                model.read[name] = max(model.read[name] ?? 0, seq)
            default:
                let index = Int.random(in: 0..<3, using: &random)
                guard step % 50 == 0 else { continue }
                await devices[index].close()
                devices[index] = try await stage.open(
                    "device\(index)", system: systems[index], channels: names)
                // What it was not there for the real server tells it with its subscription.
                for name in names {
                    try await devices[index].live(name, through: stage.server.head(of: name))
                    try stage.readElsewhere(name, through: model.read[name] ?? 0)
                }
            }
            guard step % 20 == 0 else { continue }
            let unread = model.unread
            for (index, device) in devices.enumerated() {
                try await eventually("device \(index) has \(unread) at \(step)") {
                    device.notices.badge.count == unread && systems[index].badge == Int(unread)
                }
            }
        }
        for device in devices { await device.close() }
    }
}
