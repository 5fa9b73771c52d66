import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Readers in order")
struct OrderedReaderTests {
    struct NotYet: Error {}

    private static let ordered = ReaderOptions(
        order: .ordered, attemptLimit: 3,
        backoff: Backoff(base: .milliseconds(1), longest: .milliseconds(5)))

    @Test(
        "Messages are dispatched by sequence in every order of arrival",
        arguments: CaseStudyServerTests.orders)
    func bySequence(_ order: MemoryServerFaults.Order) async throws {
        let server = MemoryServer()
        try server.fill("general", with: 2_000)
        server.faults.order = order
        server.faults.closesAfter = 700
        let device = try await MemoryDevice(server) { $0.framesPerCommit = 100 }
        let observer = Observer()
        try await device.general.read("inbox", options: Self.ordered) { observer.see($0) }
        try await device.general.read(
            "sink", options: Self.ordered,
            inTransaction: { db, messages in
                for message in messages {
                    try db.execute(sql: "INSERT INTO sink VALUES (?)", arguments: [message.seq])
                }
            })
        device.start()
        try await within(.seconds(20)) { try await device.general.caughtUp() }
        #expect(observer.sequences == Array(1...2_000))
        let sunk = try await device.journal.read { db in
            try Int64.fetchAll(db, sql: "SELECT seq FROM sink ORDER BY rowid")
        }
        #expect(sunk == Array(1...2_000))
        let ledger = try await device.journal.ledger()
        #expect(ledger.pending == 0)
        #expect(ledger.isBalanced)
        try await device.finish()
    }

    @Test(
        "An ordered reader counts 1,024 epochs of a channel; messages of a later one stay pending for it alone",
        .limit("channels.epochs"),
        arguments: [1_023, 1_024])
    func epochs(former: Int) async throws {
        let server = MemoryServer()
        try server.fill("general", with: 3)
        let device = try await MemoryDevice(server)
        try await device.journal.write { db in
            for number in 0..<former {
                try db.execute(
                    sql: """
                        INSERT INTO channelsLog (channel, epoch, coverage, head, version)
                        VALUES ('general', ?, '[]', 0, 0)
                        """, arguments: ["former-\(number)"])
            }
        }
        let (inOrder, byArrival) = (Observer(), Observer())
        try await device.general.read("ordered", options: Self.ordered) { inOrder.see($0) }
        try await device.general.read("arrival") { byArrival.see($0) }
        device.start()
        try await eventually("it is read by arrival") { byArrival.sequences == [1, 2, 3] }
        if former < 1_024 {
            try await eventually("and in order") { inOrder.sequences == [1, 2, 3] }
        } else {
            try await eventually("it is pending") { try await device.journal.ledger().pending == 3 }
            #expect(inOrder.sequences.isEmpty)
        }
        try await device.finish()
    }

    @Test("An ordered reader waits at a hole until it is filled; a reader by arrival does not")
    func hole() async throws {
        let bench = try await Bench()
        let (inOrder, byArrival) = (Observer(), Observer())
        try await bench.general.read("ordered", options: Self.ordered) { inOrder.see($0) }
        try await bench.general.read("arrival") { byArrival.see($0) }
        bench.start()
        let server = try await bench.accept()
        _ = try await server.request()
        try server.subscribed(head: 6)
        try server.events([1, 2, 5, 4])
        try await eventually("what arrived is read by arrival") {
            byArrival.sequences == [1, 2, 5, 4]
        }
        try await eventually("and in order up to the hole") { inOrder.sequences == [1, 2] }
        try await eventually("the rest is pending") {
            try await bench.journal.ledger().pending == 2
        }
        server.push([
            .gone(
                channel: try ChannelName("general"),
                Gone(range: try #require(SequenceRange(after: 2, through: 3)), reason: .erased))
        ])
        try await eventually("gone fills a hole") { inOrder.sequences == [1, 2, 4, 5] }
        try await bench.finish()
    }

    @Test(
        "An ordered reader stops at a message whose handler fails until it is a dead letter, and then goes on"
    )
    func failure() async throws {
        let server = MemoryServer()
        try server.fill("general", with: 20)
        server.faults.order = .backwards
        let device = try await MemoryDevice(server)
        let observer = Observer()
        try await device.general.read("inbox", options: Self.ordered) { message in
            observer.see(message)
            if message.seq == 7 { throw NotYet() }
            if message.seq == 12, message.attempt < 3 { throw NotYet() }
        }
        try await device.general.read(
            "sink", options: Self.ordered,
            inTransaction: { db, messages in
                for message in messages {
                    guard message.seq != 5 || message.attempt >= 3 else { throw NotYet() }
                    try db.execute(sql: "INSERT INTO sink VALUES (?)", arguments: [message.seq])
                }
            })
        device.start()
        try await within(.seconds(20)) { try await device.general.caughtUp() }
        #expect(
            observer.sequences
                == Array(1...7) + [7, 7] + Array(8...12) + [12, 12] + Array(13...20))
        let sunk = try await device.journal.read { db in
            try Int64.fetchAll(db, sql: "SELECT seq FROM sink ORDER BY rowid")
        }
        #expect(sunk == Array(1...20))
        #expect(try await device.general.failures(of: "inbox").map(\.message.seq) == [7])
        let ledger = try await device.journal.ledger()
        #expect(ledger.outcomes[.dead] == 1)
        #expect(ledger.isBalanced)
        try await device.finish()
    }

    @Test(
        "After a kill the messages in flight come again first, in order, and none twice without a higher attempt"
    )
    func killed() async throws {
        let server = MemoryServer()
        try server.fill("general", with: 50)
        server.faults.order = .streams(4, seed: 9)
        let first = try await MemoryDevice(server)
        let observer = Observer()
        try await first.general.read("inbox", options: Self.ordered) { message in
            observer.see(message)
            if message.seq == 23 { try await Task.sleep(for: .seconds(3_600)) }
        }
        first.start()
        try await eventually("it hangs at 23") { observer.sequences.last == 23 }
        let second = try await MemoryDevice(server, killing: first)
        let after = Observer()
        try await second.general.read("inbox", options: Self.ordered) { after.see($0) }
        second.start()
        try await eventually("it goes on to the end") { after.sequences.last == 50 }
        let sequences = after.sequences
        #expect(sequences == sequences.sorted())
        #expect(Set(observer.sequences + sequences) == Set(1...50))
        #expect(sequences.contains(23))
        for message in after.messages where observer.sequences.contains(message.seq) {
            #expect(message.attempt > 1)
        }
        try await second.finish()
    }

    @Test("A new epoch comes after everything of the former one")
    func newEpoch() async throws {
        let server = MemoryServer()
        try server.fill("general", with: 5)
        let device = try await MemoryDevice(server)
        let observer = Observer()
        try await device.general.read("inbox", options: Self.ordered) { observer.see($0) }
        device.start()
        try await within(.seconds(20)) { try await device.general.caughtUp() }
        try server.changeEpoch("general", keeping: 3)
        try server.publish("4", to: "general")
        try await eventually("what is new comes, and what was had does not") {
            observer.sequences == [1, 2, 3, 4, 5, 4]
        }
        try await device.finish()
    }

    @Test("A reader keeps the order with which it was begun")
    func keepsItsOrder() async throws {
        let server = MemoryServer()
        let first = try await MemoryDevice(server)
        try await first.general.read("inbox") { _ in }
        let second = try await MemoryDevice(server, killing: first)
        await #expect(throws: RepriseError.self) {
            try await second.general.read("inbox", options: Self.ordered) { _ in }
        }
        try await second.general.forget("inbox")
        try await second.general.read("inbox", options: Self.ordered) { _ in }
        try await second.finish()
    }
}
