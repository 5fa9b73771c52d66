import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// A server that stores what it is sent by the log's rules: an id once, nothing before its
/// predecessor.
final class StoringServer: Sendable {
    private struct State {
        var stored: [ClientFrame.Publish] = []
        /// Where each is in `stored`, and how often each came.
        var places: [EntryID: Int] = [:]
        var times: [EntryID: Int] = [:]
        var received: [ClientFrame.Publish] = []
        var isSilent = false
    }

    typealias Judge = @Sendable (ClientFrame.Publish, _ times: Int) -> RefusalCode?

    private let state = Mutex(State())
    private let judge: Judge

    init(_ judge: @escaping Judge = { _, _ in nil }) { self.judge = judge }

    var stored: [ClientFrame.Publish] { state.withLock { $0.stored } }
    var bodies: [String] { stored.map { String(decoding: $0.body, as: UTF8.self) } }
    var count: Int { state.withLock { $0.stored.count } }
    var received: [ClientFrame.Publish] { state.withLock { $0.received } }

    /// Stores, and says nothing any more.
    func fallSilent() { state.withLock { $0.isSilent = true } }

    /// Serves connections of a device until the task is cancelled.
    func serve(_ bench: Bench) async throws {
        while !Task.isCancelled {
            let server = try await bench.accept()
            while let publish = try? await server.publish() {
                if let answer = answer(publish) { server.push([answer]) }
            }
        }
    }

    private func answer(_ publish: ClientFrame.Publish) -> ServerFrame? {
        state.withLock { state in
            state.received.append(publish)
            state.times[publish.id, default: 0] += 1
            func refused(_ code: RefusalCode) -> ServerFrame {
                .refused(
                    .init(
                        channel: publish.channel.text, id: publish.id.text, code: code,
                        message: "no",
                        retryAfter: code.isTemporary ? .seconds(1) : nil))
            }
            if state.places[publish.id] == nil {
                let times = state.times[publish.id] ?? 0
                if let code = judge(publish, times) { return refused(code) }
                if let after = publish.after, state.places[after] == nil {
                    return refused(.predecessorMissing)
                }
                state.places[publish.id] = state.stored.count
                state.stored.append(publish)
            }
            let seq = state.places[publish.id] ?? 0
            guard !state.isSilent else { return nil }
            return .published(
                .init(channel: publish.channel, id: publish.id, seq: Int64(seq) + 1))
        }
    }
}

@Suite("Sending many at a time", .timeLimit(.minutes(1)))
struct PipelineTests {
    private func running(
        _ server: StoringServer, messages: ClosedRange<Int>, on bench: Bench
    ) async throws -> Task<Void, any Error> {
        for index in messages { try await bench.general.publish("\(index)") }
        bench.start()
        return Task { try await server.serve(bench) }
    }

    private func settled(_ bench: Bench) async throws {
        try await eventually("all have ended") {
            bench.time.advance(by: .milliseconds(500))
            return try await bench.journal.ledger().pending == 0
        }
    }

    @Test(
        "64 of a channel are sent before the first is answered, each naming the one before it",
        .limit("channels.inFlight"))
    func window() async throws {
        let bench = try await Bench()
        for index in 1...100 { try await bench.general.publish("\(index)") }
        bench.start()
        let server = try await bench.accept()
        var before: EntryID?
        for index in 1...OutboxLimits.inFlightOfChannel {
            let publish = try await server.publish()
            #expect(publish.body == Array("\(index)".utf8) && publish.after == before)
            before = publish.id
        }
        #expect(try await bench.general.outbox.waiting() == 100)
        try await bench.finish()
    }

    @Test(
        "a refusal in the middle changes no order",
        arguments: [RefusalCode.rateLimited, .overloaded, .unavailable])
    func temporary(_ code: RefusalCode) async throws {
        let bench = try await Bench()
        let server = StoringServer { publish, times in
            // Each tenth is refused twice.
            publish.body.last == UInt8(ascii: "7") && times < 3 ? code : nil
        }
        let serving = try await running(server, messages: 1...200, on: bench)
        try await settled(bench)
        #expect(server.bodies == (1...200).map { "\($0)" })
        serving.cancel()
        try await bench.finish()
    }

    @Test("a message that is refused for good is a dead letter, and those behind it go on in order")
    func permanent() async throws {
        let bench = try await Bench()
        let server = StoringServer { publish, _ in
            publish.body.last == UInt8(ascii: "7") ? .forbidden : nil
        }
        let serving = try await running(server, messages: 1...200, on: bench)
        try await settled(bench)
        #expect(server.bodies == (1...200).filter { $0 % 10 != 7 }.map { "\($0)" })
        let letters = try await bench.general.outbox.deadLetters()
        #expect(letters.map(\.json) == (1...200).filter { $0 % 10 == 7 }.map { "\($0)" })
        #expect(letters.allSatisfy { $0.code == .forbidden && $0.reason == "no" })
        #expect(letters.allSatisfy { $0.refusedAt != nil })
        serving.cancel()
        try await bench.finish()
    }

    @Test("kills with many messages in flight lose none, repeat none and change no order")
    func kills() async throws {
        let server = StoringServer { publish, times in
            publish.body.last == UInt8(ascii: "3") && times < 2 ? .rateLimited : nil
        }
        var bench = try await Bench()
        for index in 1...300 { try await bench.general.publish("\(index)") }
        for round in 1...5 {
            bench.start()
            let (device, goal) = (bench, server.stored.count + 40)
            let serving = Task { try await server.serve(device) }
            try await eventually("some are stored") {
                device.time.advance(by: .milliseconds(200))
                return server.stored.count >= goal || round == 5
            }
            serving.cancel()
            bench = try await Bench(killing: device)
        }
        bench.start()
        let serving = Task { [bench] in try await server.serve(bench) }
        try await settled(bench)
        #expect(server.bodies == (1...300).map { "\($0)" })
        #expect(server.received.count > 300)
        serving.cancel()
        try await bench.finish()
    }

    @Test("at the limit publishing is refused as full, and a repeated id is not")
    func full() async throws {
        let bench = try await Bench { channels, _ in channels.outboxLimit = 3 }
        let id = try await bench.general.publish("1")
        for index in 2...3 { try await bench.general.publish("\(index)") }
        await expectError(.full) { try await bench.general.publish("4") }
        await expectError(.full) { try await bench.general.edit(id, "4") }
        try await bench.general.publish("1", id: id)
        #expect(try await bench.channels.outbox.waiting() == 3)
        await bench.journal.close()
    }

    @Test(
        "ten thousand wait, the next is refused as full, and all are sent in the order recorded",
        .limit("channels.outbox"))
    func tenThousand() async throws {
        let bench = try await Bench()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<10_000 {
                group.addTask { try await bench.general.publish("\(index)") }
            }
            try await group.waitForAll()
        }
        #expect(try await bench.channels.outbox.waiting() == 10_000)
        await expectError(.full) { try await bench.general.publish("0") }
        let recorded = try await bench.journal.read { db in
            try String.fetchAll(db, sql: "SELECT id FROM entry ORDER BY seq")
        }
        bench.start()
        let server = StoringServer()
        let serving = Task { try await server.serve(bench) }
        try await eventually("all are sent", within: .seconds(40)) { server.count == 10_000 }
        try await eventually("and have ended") {
            try await bench.channels.outbox.waiting() == 0
        }
        #expect(server.stored.map(\.id.text) == recorded)
        #expect(Set(server.bodies).count == 10_000)
        let late = try await bench.general.publish(#""late""#)
        try await settled(bench)
        #expect(server.stored.last?.id == late)
        serving.cancel()
        try await bench.finish()
    }

    @Test("a dead letter that is tried again keeps its id; one that is withdrawn is gone")
    func deadLetters() async throws {
        let bench = try await Bench()
        let server = StoringServer { publish, times in times < 2 ? .forbidden : nil }
        let serving = try await running(server, messages: 1...2, on: bench)
        try await settled(bench)
        let letters = try await bench.general.outbox.deadLetters()
        try await bench.general.outbox.retry(letters[0].id)
        try await bench.general.outbox.withdraw(letters[1].id)
        try await settled(bench)
        #expect(server.stored.map(\.id) == [letters[0].id])
        #expect(try await bench.channels.outbox.deadLetters().isEmpty)
        await expectError(.noSuchEntry) {
            try await bench.general.outbox.retry(letters[1].id)
        }
        #expect(try await bench.journal.ledger().isBalanced)
        serving.cancel()
        try await bench.finish()
    }

    @Test(
        "a message that was never sent is withdrawn at once; for a sent one a deletion is published"
    )
    func withdraw() async throws {
        let bench = try await Bench()
        let first = try await bench.general.publish("1")
        try await bench.general.outbox.withdraw(first)
        #expect(try await bench.journal.ledger().outcomes[.superseded] == 1)
        let second = try await bench.general.publish("2")
        bench.start()
        let silent = try await bench.accept()
        #expect(try await silent.publish().id == second)
        try await bench.general.outbox.withdraw(second)
        try await bench.general.publish("3")
        silent.socket.cut()
        let server = StoringServer()
        let serving = Task { try await server.serve(bench) }
        try await settled(bench)
        #expect(server.stored.map(\.change) == [nil, .deletes(second), nil])
        #expect(server.bodies == ["2", "null", "3"])
        serving.cancel()
        try await bench.finish()
    }

    @Test("the edits of a message that was never sent are withdrawn with it")
    func withdrawEdited() async throws {
        let bench = try await Bench()
        let (first, second) = (
            try await bench.general.publish("1"), try await bench.general.publish("2")
        )
        try await bench.general.edit(first, "3")
        try await bench.general.edit(second, "4")
        try await bench.general.delete(first)
        #expect(try await bench.journal.ledger().outcomes[.superseded] == 2)
        bench.start()
        let server = StoringServer()
        let serving = Task { try await server.serve(bench) }
        try await settled(bench)
        #expect(server.bodies == ["2", "4"])
        #expect(try await bench.journal.deadLetters().isEmpty)
        serving.cancel()
        try await bench.finish()
    }

    @Test("edits and deletions go behind what they change")
    func changes() async throws {
        let bench = try await Bench()
        let id = try await bench.general.publish("1")
        try await bench.general.edit(id, "2")
        try await bench.general.delete(try EntryID("elsewhere"))
        let server = StoringServer()
        let serving = try await running(server, messages: 3...3, on: bench)
        try await settled(bench)
        #expect(
            server.stored.map(\.change)
                == [nil, .edits(id), .deletes(try EntryID("elsewhere")), nil])
        #expect(server.bodies == ["1", "2", "null", "3"])
        serving.cancel()
        try await bench.finish()
    }

    @Test(
        "a user's own message is pending, then sent until its event comes, and never missing in between"
    )
    func standing() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept()
        try server.catchUp(try await server.request(), head: 0)
        // Before the journal knows the channel's log, what is sent is in no list until its event
        // comes.
        try await eventually("it is live") { bench.general.state == .live }
        let id = try await bench.general.publish("1")
        let general = bench.general.name
        func pending() async throws -> [OutboxRows.Pending] {
            try await bench.journal.read { try OutboxRows.pending(in: general, limit: 10, $0) }
        }
        #expect(try await pending().map(\.standing) == [.pending])
        let publish = try await server.publish()
        server.push([.published(.init(channel: publish.channel, id: id, seq: 1))])
        try await eventually("it is sent") {
            let rows = try await pending()
            #expect(rows.map(\.id) == [id])
            return rows.map(\.standing) == [.sent(seq: 1)]
        }
        var event = try ScriptedChannelServer.event(1)
        event.id = id
        server.push([.event(event)])
        try await eventually("its event has come") { try await pending().isEmpty }
        try await bench.finish()
    }
}
