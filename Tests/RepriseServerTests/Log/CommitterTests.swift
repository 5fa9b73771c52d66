import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("The committer")
struct CommitterTests {
    let room: ChannelName

    init() throws { room = try ChannelName("room") }

    @Test("sends events to subscribers before it answers, and neither before the commit")
    func order() async throws {
        let log = ScriptedLog()
        let record = Seen<String>()
        let committer = Committer(log: log) { events in record.add("out \(events.map(\.seq))") }
        log.hold()
        let running = Task { await committer.run() }
        committer.submit([message(room), message(room)]) { result in
            record.add("reply \((try? result.get())?.count ?? -1)")
        }
        try await eventually("a commit is held") { log.heldCount == 1 }
        #expect(record.all.isEmpty)
        log.letThrough()
        committer.shutdown()
        await running.value
        #expect(record.all == ["out [1, 2]", "reply 2"])
    }

    @Test("stores the submissions that arrived during a commit in the next one, and answers each")
    func groupCommit() async throws {
        let log = ScriptedLog()
        let record = Seen<String>()
        let committer = Committer(log: log) { _ in }
        log.hold()
        let running = Task { await committer.run() }
        committer.submit([message(room)]) { _ in record.add("first") }
        try await eventually("a commit is held") { log.heldCount == 1 }
        for size in [2, 1, 3] {
            committer.submit((0..<size).map { _ in message(room) }) { result in
                let seqs = (try? result.get())?.compactMap { $0.event?.seq } ?? []
                record.add("\(seqs)")
            }
        }
        log.letThrough()
        committer.shutdown()
        await running.value
        #expect(log.batches.map(\.count) == [1, 6])
        #expect(record.all == ["first", "[2, 3]", "[4]", "[5, 6, 7]"])
    }

    @Test(
        "keeps a transaction within its bounds and never splits a submission",
        .limit("log.transaction"))
    func batchBounds() async throws {
        var limits = Committer.Limits()
        limits.batchMessages = 3
        limits.batchBytes = 100
        let log = ScriptedLog()
        let committer = Committer(log: log, limits: limits) { _ in }
        let long = "\"" + String(repeating: "x", count: 88) + "\""
        for batch in [["1", "1"], ["1"], ["1"], ["1", "1", "1", "1"], [long], ["1"], [long]] {
            committer.submit(batch.map { message(room, body: $0) }) { _ in }
        }
        committer.shutdown()
        await committer.run()
        #expect(log.batches.map(\.count) == [3, 1, 4, 2, 1])
    }

    @Test(
        "keeps submissions more than a second apart in separate commits, if the answer has a limit")
    func span() async throws {
        let (log, clock) = (ScriptedLog(), ManualClock())
        let committer = Committer(log: log, clock: clock, timesSubmissions: true) { _ in }
        for wait in [0, 1_000, 1, 900] {
            clock.advance(by: .milliseconds(wait))
            committer.submit([message(room)]) { _ in }
        }
        committer.shutdown()
        await committer.run()
        #expect(log.batches.map(\.count) == [2, 2])
    }

    @Test(
        "refuses a submission at once while its queue is full, and accepts the next after that",
        .limit("log.queue"))
    func fullQueue() async throws {
        var limits = Committer.Limits()
        limits.waitingMessages = 2
        limits.waitingBytes = 50
        let log = ScriptedLog()
        let committer = Committer(log: log, limits: limits) { _ in }
        let record = Seen<String>()
        let submit = { (name: String, body: String) in
            committer.submit([message(room, body: body)]) { result in
                switch result {
                case .success: record.add(name)
                case .failure(let error): record.add("\(name) \(error.code)")
                }
            }
        }
        submit("a", "1")
        submit("b", "1")
        submit("c", "1")
        #expect(record.all == ["c full"])
        log.hold()
        let running = Task { await committer.run() }
        try await eventually("a commit is held") { log.heldCount == 1 }
        submit("d", "\"" + String(repeating: "x", count: 60) + "\"")
        submit("e", "1")
        log.letThrough()
        committer.shutdown()
        await running.value
        #expect(record.all == ["c full", "d full", "a", "b", "e"])
    }

    @Test(
        "fans nothing out and tells every publisher \"unavailable\" when a commit fails, then goes on"
    )
    func failedCommit() async throws {
        let (log, clock) = (ScriptedLog(), ManualClock())
        let record = Seen<String>()
        let committer = Committer(log: log, clock: clock) { events in
            record.add("out \(events.count)")
        }
        let running = Task { await committer.run() }
        log.fail(with: RepriseError(.diskFull, "full"))
        await expectError(.unavailable) {
            try await committer.commit([message(room)])
        }
        #expect(record.all.isEmpty)
        #expect(await committer.isReady() == false)
        log.fail(with: nil)
        clock.advance(by: .seconds(1))
        #expect(await committer.isReady())
        #expect(try await committer.commit([message(room)]).count == 1)
        #expect(record.all == ["out 1"])
        committer.shutdown()
        await running.value
        #expect(await committer.isReady() == false)
    }

    @Test(
        "probes a failing log once a second, however many ask whether it is ready",
        .limit("log.probe"))
    func probes() async throws {
        let (log, clock) = (ScriptedLog(), ManualClock())
        let committer = Committer(log: log, clock: clock) { _ in }
        let running = Task { await committer.run() }
        func ask() async -> Set<Bool> {
            await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<50 { group.addTask { await committer.isReady() } }
                var answers: Set<Bool> = []
                for await answer in group { answers.insert(answer) }
                return answers
            }
        }
        #expect(await ask() == [true])
        #expect(log.probeCount == 0)
        log.fail(with: RepriseError(.diskFull, "full"))
        await expectError(.unavailable) { try await committer.commit([message(room)]) }
        #expect(await ask() == [false])
        #expect(log.probeCount == 1)
        log.fail(with: nil)
        clock.advance(by: .milliseconds(999))
        #expect(await ask() == [false])
        #expect(log.probeCount == 1)
        clock.advance(by: .milliseconds(1))
        #expect(await ask() == [true])
        #expect(log.probeCount == 2)
        committer.shutdown()
        await running.value
    }

    @Test(
        "answers all accepted submissions before it ends, and refuses later ones",
        arguments: [true, false])
    func shutdown(byCancelling: Bool) async throws {
        let log = ScriptedLog()
        let record = Seen<String>()
        let committer = Committer(log: log) { _ in }
        log.hold()
        let running = Task { await committer.run() }
        for name in ["a", "b"] {
            committer.submit([message(room)]) { result in
                record.add("\(name) \((try? result.get())?.count ?? -1)")
            }
        }
        try await eventually("a commit is held") { log.heldCount == 1 }
        if byCancelling { running.cancel() } else { committer.shutdown() }
        await expectError(.closed) {
            try await committer.commit([message(room)])
        }
        log.letThrough()
        await running.value
        #expect(record.all == ["a 1", "b 1"])
    }

    @Test("reads the heads again after a failed commit: no sequence is lost, none is used twice")
    func headsAfterFailure() async throws {
        let store = try SQLiteStore { $0.maximumBytes = 400_000 }
        try await store.reopen()
        let record = Mutex<[Int64]>([])
        let committer = Committer(log: store.log) { events in
            record.withLock { $0 += events.map(\.seq) }
        }
        let running = Task { await committer.run() }
        let body = "\"" + String(repeating: "x", count: 30_000) + "\""
        var isFull = false
        while !isFull {
            do {
                _ = try await committer.commit([message(room, body: body)])
            } catch {
                #expect(error.code == .unavailable)
                isFull = true
            }
        }
        let head = try await store.log.state(of: room).head
        #expect(record.withLock { $0 } == Array(1...head))
        _ = try await store.log.trim(room, through: head - 2)
        let next = try await committer.commit([message(room)])
        #expect(next[0].event?.seq == head + 1)
        #expect(next[0].event?.prev == head)
        #expect(await committer.isReady())
        committer.shutdown()
        await running.value
        try await store.reopen()
        #expect(
            try await store.everything(in: room).events.map(\.seq) == Array(head - 1...head + 1))
        await store.remove()
    }
}
