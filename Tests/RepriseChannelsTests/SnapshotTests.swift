import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Snapshots")
struct SnapshotTests {
    /// What the app was asked to load.
    final class Asked: Sendable {
        private let state = Mutex<[SnapshotRequest]>([])
        var requests: [SnapshotRequest] { state.withLock { $0 } }
        func add(_ request: SnapshotRequest) -> Int {
            state.withLock {
                $0.append(request)
                return $0.count
            }
        }
    }

    struct NotYet: Error {}

    @Test(
        "Retention: the position first, durably; then the app loads; then the subscription goes on after it"
    )
    func retention() async throws {
        let server = MemoryServer()
        try server.fill("general", with: 100)
        try server.trim("general", through: 60)
        let device = try await MemoryDevice(server)
        let (asked, observer) = (Asked(), Observer())
        await device.general.onSnapshot { [journal = device.journal] request in
            _ = asked.add(request)
            let recorded = try await journal.read { db in
                try ChannelStore.stored(request.channel, db)?.snapshot?.position
            }
            #expect(recorded == request.position)
        }
        try await device.general.read("inbox") { observer.see($0) }
        device.start()
        try await within(.seconds(20)) { try await device.general.caughtUp() }
        let request = try #require(asked.requests.first)
        #expect(asked.requests.count == 1)
        #expect(request.position == 100)
        #expect(request.reason == .retention)
        #expect(request.lost == [try #require(SequenceRange(after: 0, through: 60))])
        try server.publish("101", to: "general")
        try await eventually("what comes after the position is a message") {
            observer.sequences == [101]
        }
        let ledger = try await device.journal.ledger()
        #expect(ledger.lost.map(\.count) == [60])
        #expect(ledger.isBalanced)
        #expect(server.requests.last?.coverage == Coverage(through: 100))
        try await device.finish()
    }

    @Test(
        "A snapshot that throws is asked for again and stays visible; nothing of the channel comes meanwhile",
        .limit("channels.snapshotWaits")
    )
    func again() async throws {
        let server = MemoryServer()
        try server.fill("general", with: 10)
        try server.trim("general", through: 4)
        let device = try await MemoryDevice(server)
        let (asked, observer) = (Asked(), Observer())
        await device.general.onSnapshot { request in
            guard asked.add(request) >= 5 else { throw NotYet() }
        }
        try await device.general.read("inbox") { observer.see($0) }
        device.start()
        try await eventually("it is asked again") { asked.requests.count >= 2 }
        #expect(device.general.state == .beyondRetention(lost: 4) || asked.requests.count >= 5)
        try server.publish("11", to: "general")
        try await within(.seconds(20)) { try await device.general.caughtUp() }
        #expect(asked.requests.map(\.attempt) == [1, 2, 3, 4, 5])
        #expect(Set(asked.requests.map(\.position)) == [10])
        try await eventually("what came meanwhile comes after it") { observer.sequences == [11] }
        try await device.finish()
    }

    @Test(
        "Killed while the app loads: asked again with the same position, although the head has moved on"
    )
    func killed() async throws {
        let server = MemoryServer()
        try server.fill("general", with: 10)
        try server.trim("general", through: 4)
        let first = try await MemoryDevice(server)
        let asked = Asked()
        await first.general.onSnapshot { request in
            _ = asked.add(request)
            try await Task.sleep(for: .seconds(3_600))
        }
        try await first.general.subscribe()
        first.start()
        try await eventually("it is asked") { asked.requests.count == 1 }
        try server.publish("11", to: "general")
        let second = try await MemoryDevice(server, killing: first)
        let observer = Observer()
        await second.general.onSnapshot { request in _ = asked.add(request) }
        try await second.general.read("inbox") { observer.see($0) }
        second.start()
        try await within(.seconds(20)) { try await second.general.caughtUp() }
        #expect(asked.requests.map(\.position) == [10, 10])
        #expect(observer.sequences == [11])
        #expect(try await second.journal.ledger().lost.map(\.count) == [4])
        try await second.finish()
    }

    @Test("A run that ends while the app loads: the next run asks again")
    func secondRun() async throws {
        let server = MemoryServer()
        try server.fill("general", with: 10)
        try server.trim("general", through: 4)
        let device = try await MemoryDevice(server)
        let (asked, observer) = (Asked(), Observer())
        await device.general.onSnapshot { request in
            if asked.add(request) == 1 { try await Task.sleep(for: .seconds(3_600)) }
        }
        try await device.general.read("inbox") { observer.see($0) }
        let first = Task { [channels = device.channels] in try await channels.run() }
        try await eventually("it is asked") { asked.requests.count == 1 }
        first.cancel()
        try await result(of: first).get()
        device.start()
        try await within(.seconds(20)) { try await device.general.caughtUp() }
        #expect(asked.requests.map(\.position) == [10, 10])
        try server.publish("11", to: "general")
        try await eventually("what comes after it is a message") { observer.sequences == [11] }
        try await device.finish()
    }

    @Test("A new epoch asks for a snapshot of its head")
    func newEpoch() async throws {
        let server = MemoryServer()
        try server.fill("general", with: 10)
        let device = try await MemoryDevice(server)
        let (asked, observer) = (Asked(), Observer())
        await device.general.onSnapshot { request in _ = asked.add(request) }
        try await device.general.read("inbox") { observer.see($0) }
        device.start()
        try await within(.seconds(20)) { try await device.general.caughtUp() }
        try server.changeEpoch("general", keeping: 7)
        try await eventually("it is asked") { asked.requests.count == 1 }
        #expect(asked.requests.first?.position == 7)
        #expect(asked.requests.first?.reason == .epoch)
        try await eventually("it is live again") { device.general.state == .live }
        try server.publish("8", to: "general")
        try await eventually("and goes on") { observer.messages.count == 11 }
        try await device.finish()
    }

    @Test("An app that refuses a snapshot of a log that is no more is asked for one of the new log")
    func furtherEpoch() async throws {
        let server = MemoryServer()
        try server.fill("general", with: 10)
        let device = try await MemoryDevice(server)
        let (asked, observer) = (Asked(), Observer())
        await device.general.onSnapshot { request in
            _ = asked.add(request)
            if request.position == 7 { throw Refusal() }  // as it will be for ever
        }
        try await device.general.read("inbox") { observer.see($0) }
        device.start()
        try await within(.seconds(20)) { try await device.general.caughtUp() }
        try server.changeEpoch("general", keeping: 7)
        try await eventually("it is asked") { asked.requests.count >= 1 }
        try server.changeEpoch("general", keeping: 5)
        try await eventually("it is asked for the newer") {
            asked.requests.last?.position == 5
        }
        try await eventually("it is live again") { device.general.state == .live }
        let count = asked.requests.count
        try server.publish("6", to: "general")
        try await eventually("and goes on") { observer.sequences.last == 6 }
        #expect(asked.requests.count == count)
        try await device.finish()
    }

    private struct Refusal: Error {}

    @Test("Without a snapshot handler the remaining messages come, and the loss is recorded")
    func without() async throws {
        let server = MemoryServer()
        try server.fill("general", with: 10)
        try server.trim("general", through: 4)
        let device = try await MemoryDevice(server)
        #expect(try await device.caughtUp() == Array(5...10))
        #expect(try await device.journal.ledger().lost.map(\.count) == [4])
        try await device.finish()
    }
}
