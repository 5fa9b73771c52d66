import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Receipts, unread and typing", .timeLimit(.minutes(1)))
struct PresenceTests {
    private let general: ChannelName
    private let ada: UserID
    private let bob: UserID

    init() throws {
        general = try ChannelName("general")
        ada = try UserID("ada")
        bob = try UserID("bob")
    }

    /// A device of ada's that has ten messages of bob's.
    private func subscribed(
        _ bench: Bench, head: Int64 = 10, unread: Int64 = 10, epoch: String = "e1"
    )
        async throws -> ScriptedChannelServer
    {
        let server = try await bench.accept(as: ada)
        let request = try await server.request()
        try server.subscribed(head: head, epoch: epoch)
        server.push([
            .positions(
                .init(
                    channel: general,
                    positions: [
                        .init(user: ada, read: 0, delivered: 0),
                        .init(user: bob, read: 10, delivered: 10),
                    ], unread: Unread(count: unread, head: head)))
        ])
        let isSame = request.epoch == (try Epoch(epoch))
        for hole in (isSame ? request.coverage : Coverage()).complement(through: head) {
            try server.events(hole.after + 1...hole.through, prefix: epoch)
        }
        try server.syncComplete(through: head, epoch: epoch)
        return server
    }

    private func receipt(_ server: ScriptedChannelServer) async throws -> ClientFrame.Receipt {
        while true { if case .receipt(let receipt) = try await server.next() { return receipt } }
    }

    private func first<T: Sendable>(
        _ stream: AsyncStream<T>, where condition: (T) -> Bool
    ) async -> T? {
        for await value in stream where condition(value) { return value }
        return nil
    }

    @Test(
        "durable messages are sent as delivered and read ones as read, and the unread count follows at once"
    )
    func receipts() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        bench.start()
        let server = try await subscribed(bench)
        #expect(await first(bench.general.unread) { $0.head == 10 } == Unread(count: 10, head: 10))
        var delivered: Int64 = 0
        while delivered < 10 {
            bench.time.advance(by: .seconds(1))
            delivered = try await receipt(server).delivered ?? delivered
        }
        #expect(delivered == 10)
        try await bench.general.markRead(through: 7)
        try await bench.general.markRead(through: 4)
        #expect(await first(bench.general.unread) { $0.count < 10 } == Unread(count: 3, head: 10))
        #expect(try await receipt(server).read == 7)
        // Another device of hers has read further.
        server.push([.receipt(channel: general, .init(user: ada, read: 9, delivered: 10))])
        #expect(await first(bench.general.unread) { $0.count < 3 } == Unread(count: 1, head: 10))
        try await bench.finish()
    }

    @Test("positions that could not be written are written later, on the same connection")
    func writtenLater() async throws {
        let bench = try await Bench()
        let failures = Mutex(0)
        try await bench.journal.write { db in
            db.add(
                function: DatabaseFunction("failed", argumentCount: 0) { _ in
                    failures.withLock { $0 += 1 }
                    return 1
                })
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER broken BEFORE INSERT ON main.channelsPosition BEGIN
                    SELECT failed(); SELECT RAISE(ABORT, 'broken'); END
                    """)
        }
        try await bench.general.subscribe()
        bench.start()
        let server = try await subscribed(bench)
        try await eventually("it fails") { failures.withLock { $0 } > 0 }
        #expect(await first(bench.general.positions) { _ in true }?[bob] == nil)
        try await bench.journal.write { try $0.execute(sql: "DROP TRIGGER broken") }
        try await eventually("it is written") {
            bench.time.advance(by: .seconds(1))
            return await first(bench.general.positions) { _ in true }?[bob]?.read == 10
        }
        _ = server
        try await bench.finish()
    }

    @Test("a read position from without a connection survives a kill and is sent with the next one")
    func killed() async throws {
        let before = try await Bench()
        try await before.general.subscribe()
        before.start()
        _ = try await subscribed(before)
        _ = await first(before.general.unread) { $0 == Unread(count: 10, head: 10) }
        before.stop()
        try await before.general.markRead(through: 6)
        let bench = try await Bench(killing: before)
        #expect(await first(bench.general.unread) { _ in true } == Unread(count: 4, head: 10))
        #expect(await first(bench.general.positions) { _ in true }?[bob]?.read == 10)
        try await bench.general.subscribe()
        bench.start()
        let server = try await subscribed(bench)
        #expect(try await receipt(server).read == 6)
        try await bench.finish()
    }

    @Test("a new epoch voids all positions")
    func epoch() async throws {
        let before = try await Bench()
        try await before.general.subscribe()
        before.start()
        _ = try await subscribed(before)
        _ = await first(before.general.unread) { $0 == Unread(count: 10, head: 10) }
        try await before.general.markRead(through: 6)
        let bench = try await Bench(killing: before)
        try await bench.general.subscribe()
        bench.start()
        _ = try await subscribed(bench, head: 3, unread: 3, epoch: "e2")
        #expect(await first(bench.general.unread) { $0.head == 3 } == Unread(count: 3, head: 3))
        try await bench.finish()
    }

    @Test("the journal stores its user as soon as the server has welcomed, without a channel")
    func welcomed() async throws {
        let bench = try await Bench()
        try await bench.general.publish(#""mine""#)
        #expect(try await bench.general.messages().first?.from == nil)
        bench.start()
        _ = try await bench.accept(as: ada)
        try await eventually("it is ada's") {
            try await bench.general.messages().first?.from == ada
        }
        try await bench.finish()
    }

    @Test("on an open server a device recognises its own messages, also after a restart")
    func nameless() async throws {
        let before = try await Bench()
        try await before.general.subscribe()
        before.start()
        let server = try await before.accept()
        _ = try await server.request()
        try server.subscribed(head: 1)
        try server.events(1...1)
        try server.syncComplete(through: 1)
        let id = try await before.general.publish(#""mine""#)
        while try await server.publish().id != id {}
        server.push([.published(.init(channel: general, id: id, seq: 2))])
        var event = try ScriptedChannelServer.event(2)
        event.id = id
        server.push([.event(event)])
        func isWhole(_ bench: Bench) async throws -> Bool {
            let messages = try await bench.general.messages(limit: 20)
            return messages.map(\.seq) == [1, 2] && messages.map(\.isMine) == [false, true]
                && messages.last?.status == .sent
        }
        try await eventually("it is there, and one's own") { try await isWhole(before) }
        before.stop()
        let bench = try await Bench(killing: before)
        #expect(try await isWhole(bench))
        try await bench.finish()
    }

    @Test(
        "a user's own message is pending, sent, delivered and read, and in the list once all the time"
    )
    func status() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        bench.start()
        let server = try await subscribed(bench)
        _ = await first(bench.general.unread) { $0 == Unread(count: 10, head: 10) }
        let id = try await bench.general.publish(#""mine""#)
        func status() async throws -> ChannelMessage.Status? {
            let mine = try await bench.general.messages(limit: 20).filter { $0.id == id }
            #expect(mine.count == 1 && mine.first?.isMine == true)
            return mine.first?.status
        }
        #expect(try await status() == .pending)
        while try await server.publish().id != id {}
        server.push([.published(.init(channel: general, id: id, seq: 11))])
        try await eventually("it is sent") { try await status() == .sent }
        var event = try ScriptedChannelServer.event(11)
        (event.id, event.from) = (id, ada)
        server.push([.event(event)])
        try await eventually("its event has come") {
            #expect(try await status() == .sent)
            return try await bench.general.messages(limit: 20).filter { $0.seq == 11 }.count == 1
        }
        server.push([.receipt(channel: general, .init(user: bob, read: 10, delivered: 11))])
        try await eventually("it is delivered") { try await status() == .delivered }
        server.push([.receipt(channel: general, .init(user: bob, read: 11, delivered: 11))])
        try await eventually("it is read") { try await status() == .read }
        try await bench.finish()
    }

    @Test(
        "a typing user is shown until ten seconds have passed or the connection ends; the device's own typing is sent"
    )
    func typing() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        bench.start()
        let server = try await subscribed(bench)
        server.push([
            .typing(channel: general, user: ada, isTyping: true, expires: .seconds(10)),
            .typing(channel: general, user: bob, isTyping: true, expires: .seconds(10)),
        ])
        #expect(await first(bench.general.typists) { !$0.isEmpty } == [bob])
        bench.general.typing()
        func told() async throws -> Bool {
            while true {
                if case .typing(_, let isTyping) = try await server.next() { return isTyping }
            }
        }
        #expect(try await told())
        try await bench.general.publish("1")
        #expect(try await !told())
        try await eventually("nobody types any more") {
            bench.time.advance(by: .seconds(1))
            return await first(bench.general.typists) { _ in true } == []
        }
        try await bench.finish()
    }

    @Test("an open server is sent no receipts and no typing")
    func nobody() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept()
        try server.catchUp(try await server.request(), head: 3)
        try await bench.general.caughtUp()
        try await bench.general.markRead(through: 3)
        bench.general.typing()
        try await bench.general.publish("1")
        guard case .publish = try await server.next() else {
            Issue.record("something else came first")
            return
        }
        try await bench.finish()
    }
}
