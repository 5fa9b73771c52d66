import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Outbox", .timeLimit(.minutes(1)))
struct OutboxTests {
    private static func published(_ publish: ClientFrame.Publish, seq: Int64) -> ServerFrame {
        .published(.init(channel: publish.channel, id: publish.id, seq: seq))
    }

    @Test(
        "Guarantee 1: messages published without a connection survive a kill and are sent in order")
    func offline() async throws {
        let before = try await Bench()
        for index in 1...5 { try await before.general.publish("\(index)") }
        let bench = try await Bench(killing: before)
        bench.start()
        let server = try await bench.accept()
        for index in 1...5 {
            let publish = try await server.publish()
            #expect(publish.body == Array("\(index)".utf8))
            server.push([Self.published(publish, seq: Int64(index))])
        }
        try await eventually("all are applied") {
            try await bench.journal.ledger().outcomes[.applied] == 5
        }
        try await bench.finish()
    }

    @Test("an unanswered message is sent again with the same id, and no other overtakes it")
    func unanswered() async throws {
        let bench = try await Bench()
        let id = try await bench.general.publish(#""first""#)
        try await bench.general.publish(#""second""#)
        bench.start()
        let first = try await bench.accept()
        #expect(try await first.publish().id == id)
        first.socket.cut()
        let second = try await bench.accept()
        try await eventually("it waits to be sent again") {
            // In small steps: a server that says nothing for 55 s is given up.
            bench.time.advance(by: .milliseconds(100))
            return try await bench.journal.entry(id)?.attempt == 2
        }
        let again = try await second.publish()
        #expect(again.id == id && again.body == Array(#""first""#.utf8))
        second.push([Self.published(again, seq: 1)])
        #expect(try await second.publish().body == Array(#""second""#.utf8))
        try await bench.finish()
    }

    @Test("a permanent refusal is a dead letter and does not hold up what follows")
    func permanent() async throws {
        let bench = try await Bench()
        let id = try await bench.general.publish("1")
        try await bench.general.publish("2")
        bench.start()
        let server = try await bench.accept()
        let first = try await server.publish()
        server.push([
            .refused(
                .init(
                    channel: "general", id: first.id.text, code: .forbidden, message: "Not yours."))
        ])
        let second = try await server.publish()
        #expect(second.body == Array("2".utf8))
        server.push([Self.published(second, seq: 1)])
        try await eventually("both have ended") { try await bench.journal.ledger().pending == 0 }
        let letters = try await bench.journal.deadLetters()
        #expect(letters.map(\.id) == [id])
        #expect(letters.first?.reason?.contains("Not yours.") == true)
        try await bench.finish()
    }

    @Test("a message refused before its channel was made is sent again, however late that is read")
    func beforeItsChannel() async throws {
        let bench = try await Bench()
        let general = try ChannelName("general")
        let made = try await bench.channels.record(ConversationChange(.make, general))
        let id = try await bench.general.publish("1")
        // The server has it; the list does not tell so yet.
        try await bench.journal.write { [journal = bench.journal] db in
            _ = try journal.end(made, as: .applied, in: db)
        }
        bench.start()
        let server = try await bench.accept()
        #expect(try await server.publish().id == id)
        // The channel is made; the next change says so to the outbox.
        try await bench.journal.write { db in
            try db.execute(sql: "UPDATE channelsConversation SET pending = 0")
        }
        _ = try await bench.channels.record(ConversationChange(.archive, general))
        server.push([
            .refused(
                .init(channel: "general", id: id.text, code: .forbidden, message: "Not yours."))
        ])
        try await eventually("it waits to be sent again") {
            bench.time.advance(by: .milliseconds(100))
            return try await bench.journal.entry(id)?.attempt == 2
        }
        let again = try await server.publish()
        #expect(again.id == id)
        server.push([Self.published(again, seq: 1)])
        try await eventually("it is applied") {
            try await bench.journal.entry(id)?.state == .finished(.applied)
        }
        try await bench.finish()
    }

    @Test("a recorded change of conversations is no error, even if its task is cancelled")
    func cancelledChange() async throws {
        let bench = try await Bench()
        let recording = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await bench.channels.record(
                ConversationChange(.make, try ChannelName("general")))
        }
        let id = try await recording.value
        #expect(try await bench.journal.entry(id)?.state == .pending)
        try await bench.finish()
    }

    @Test(
        "an attempted message older than the server's memory of ids is a dead letter, never sent again"
    )
    func tooOld() async throws {
        let bench = try await Bench()
        let id = try await bench.general.publish("1")
        bench.start()
        let server = try await bench.accept()
        _ = try await server.publish()
        server.socket.cut()
        _ = try? await server.next()
        bench.stop()
        bench.time.advance(by: .seconds(31 * 86_400))
        let after = try await Bench(killing: bench)
        after.start()
        _ = try await after.accept()
        try await eventually("it is dead") {
            try await after.journal.deadLetters().map(\.id) == [id]
        }
        try await after.finish()
    }

    @Test("a message that the server would refuse for its form is refused at once")
    func badInput() async throws {
        let bench = try await Bench()
        await expectError(.malformed) {
            try await bench.general.publish("{")
        }
        let large = #"""# + String(repeating: "a", count: WireLimits.bodyBytes) + #"""#
        await expectError(.tooLarge) {
            try await bench.general.publish(large)
        }
        expectError(.badChannelName) { try bench.channels.channel("a b") }
        let id = EntryID.random()
        try await bench.general.publish("1", id: id)
        try await bench.general.publish("1", id: id)
        #expect(try await bench.journal.ledger().accepted == 1)
    }
}
