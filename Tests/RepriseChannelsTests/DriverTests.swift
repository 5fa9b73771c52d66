import Foundation
import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Channels over a connection", .timeLimit(.minutes(1)))
struct DriverTests {
    @Test(
        "Guarantee 1, recorded before handled: every arrived message is on the disk when the channel is live"
    )
    func catchUp() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept()
        let request = try await server.request()
        #expect(request.epoch == nil && request.coverage.isEmpty)
        try server.catchUp(request, head: 2_500)
        try await bench.general.caughtUp()
        let sum = try await bench.journal.ledger()
        #expect(sum.accepted == 2_500 && sum.pending == 2_500 && sum.isBalanced)
        try await bench.finish()

        let again = try await Bench(in: bench.folder)
        try await again.general.subscribe()
        again.start()
        let next = try await again.accept().request()
        #expect(next.coverage == Coverage(through: 2_500))
        #expect(next.epoch == (try Epoch("e1")))
        try await again.finish()
    }

    @Test("a connection that is cut in a catch-up costs nothing but the rest")
    func cut() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        bench.start()
        let first = try await bench.accept()
        _ = try await first.request()
        try first.subscribed(head: 300)
        try first.events([1, 2, 3, 200, 180])
        try await eventually("five are stored") { try await bench.journal.ledger().accepted == 5 }
        first.socket.cut()
        let second = try await bench.accept()
        let request = try await second.request()
        #expect(request.coverage.description == "[[0,3],[179,180],[199,200]]")
        try second.catchUp(request, head: 300)
        try await bench.general.caughtUp()
        let sum = try await bench.journal.ledger()
        #expect(sum.accepted == 300 && sum.duplicates == 0)
        try await bench.finish()
    }

    @Test("a hole in live traffic is asked for exactly, and filled")
    func repair() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept()
        try server.catchUp(try await server.request(), head: 10)
        try await bench.general.caughtUp()
        try server.events([11, 14])
        let request = try await server.request()
        #expect(request.coverage.description == "[[0,11],[13,14]]")
        try server.catchUp(request, head: 14)
        try await bench.general.caughtUp()
        #expect(try await bench.journal.ledger().accepted == 14)
        try await bench.finish()
    }

    @Test("a sync_complete that comes too early is answered with a request, not with live")
    func earlySyncComplete() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept()
        _ = try await server.request()
        try server.subscribed(head: 3)
        try server.events([1, 3])
        try server.syncComplete(through: 3)
        let request = try await server.request()
        #expect(request.coverage.description == "[[0,1],[2,3]]")
        #expect(bench.general.state != .live)
        try server.catchUp(request, head: 3)
        try await bench.general.caughtUp()
        try await bench.finish()
    }

    @Test("who waits until a channel is caught up hears of the end of its journal")
    func closedBeforeCaughtUp() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        let waiting = Task { try await bench.general.caughtUp() }
        await bench.journal.close()
        let ending = try await result(of: waiting, "caughtUp()")
        expectError(.closed) { try ending.get() }
    }

    @Test("Guarantee 5: duplicates are counted beside the sum, whatever their order")
    func duplicates() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept()
        _ = try await server.request()
        try server.subscribed(head: 5)
        try server.events([3, 1, 3, 2, 5, 1, 4])
        try server.syncComplete(through: 5)
        try await bench.general.caughtUp()
        let sum = try await bench.journal.ledger()
        #expect(sum.accepted == 5 && sum.duplicates == 2 && sum.isBalanced)
        try await bench.finish()
    }

    @Test("Guarantee 5: messages that retention removed are counted as lost in the ledger")
    func retention() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept()
        _ = try await server.request()
        try server.subscribed(head: 10, floor: 6)
        let range = try #require(SequenceRange(after: 0, through: 6))
        server.push([
            .gone(channel: try ChannelName("general"), Gone(range: range, reason: .retention))
        ])
        try server.events(7...10)
        try server.syncComplete(through: 10)
        try await bench.general.caughtUp()
        let sum = try await bench.journal.ledger()
        #expect(sum.lost == [.init(channel: "general", reason: "retention", count: 6)])
        #expect(sum.accepted == 4 && sum.isBalanced)
        try await bench.finish()
    }

    @Test("Guarantee 4: in a new epoch a message that is there already is recognised by its id")
    func epoch() async throws {
        let bench = try await Bench()
        let observer = Observer()
        try await bench.general.read("inbox") { observer.see($0) }
        bench.start()
        let first = try await bench.accept()
        try first.catchUp(try await first.request(), head: 5)
        try await bench.general.caughtUp()
        first.socket.cut()
        let second = try await bench.accept()
        #expect(try await second.request().coverage == Coverage(through: 5))
        // The server was restored from a backup: m1 to m3 are there at other positions, then
        // something new.
        try second.subscribed(head: 4, epoch: "e2")
        try second.events(1...3)
        try second.events([4], prefix: "new")
        try second.syncComplete(through: 4, epoch: "e2")
        try await bench.general.caughtUp()
        #expect(observer.messages.map(\.id.text) == ["m1", "m2", "m3", "m4", "m5", "new4"])
        let sum = try await bench.journal.ledger()
        #expect(sum.accepted == 6 && sum.duplicates == 3 && sum.isBalanced)
        #expect(sum.lost == [.init(channel: "general", reason: "epoch", count: nil)])
        try await bench.finish()
    }

    @Test(
        "memory is never ahead of the disk: after a failed commit the request has the disk's coverage"
    )
    func commitFails() async throws {
        let bench = try await Bench { _, journal in journal.busyTimeout = .milliseconds(20) }
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept()
        try server.catchUp(try await server.request(), head: 3)
        try await bench.general.caughtUp()

        // Somebody else holds the database for longer than anybody waits.
        let path = bench.folder.appending("journal/journal.sqlite").path
        var configuration = GRDB.Configuration()
        configuration.allowsUnsafeTransactions = true
        configuration.busyMode = .timeout(5)  // what the client still commits comes first
        let other = try DatabaseQueue(path: path, configuration: configuration)
        try await other.writeWithoutTransaction { db in try db.execute(sql: "BEGIN IMMEDIATE") }
        try server.events(4...9)
        let request = try await server.request()
        #expect(request.coverage == Coverage(through: 3))
        #expect(bench.general.state != .live)
        try server.events([10])  // of the former attachment: nobody may claim it
        try await other.writeWithoutTransaction { db in try db.execute(sql: "ROLLBACK") }
        try server.catchUp(request, head: 10)
        try await bench.general.caughtUp()
        let sum = try await bench.journal.ledger()
        #expect(sum.accepted == 10 && sum.isBalanced)
        try await bench.finish()
    }

    @Test(
        "a message whose text looks like a completion completes nothing; malformed frames and those of other channels are skipped"
    )
    func foreignFrames() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept()
        _ = try await server.request()
        try server.subscribed(head: 2)
        let text = #"{"type":"sync_complete","channelId":"general","catchUpComplete":true}"#
        server.push([.event(try ScriptedChannelServer.event(1, body: text))])
        server.socket.push([
            Array("{".utf8), Array(#"{"type":"party"}"#.utf8), [0xff, 0xfe], [],
            Array(
                #"{"type":"event","channelId":"general","seq":-4,"id":"x","timestamp":1,"body":1}"#
                    .utf8),
            Array(
                #"{"type":"event","channelId":"other","seq":4,"id":"x","timestamp":1,"body":1}"#
                    .utf8),
            Array(#"{"type":"heartbeat","timestamp":1,"heads":{"other":9,"general":1}}"#.utf8),
            Array(#"{"type":"published","channelId":"general","id":"nobody","seq":1}"#.utf8),
        ])
        try await eventually("the event is stored") {
            try await bench.journal.ledger().accepted == 1
        }
        #expect(bench.general.state == .catchingUp(received: 1, total: 2))
        try server.events([2])
        try server.syncComplete(through: 2)
        try await bench.general.caughtUp()
        try await bench.finish()
    }

    @Test("Guarantee 2, never a sleep: silence asks again, then reconnects, and completes nothing")
    func silence() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept()
        _ = try await server.request()
        try server.subscribed(head: 3)
        try server.events([1])
        try await eventually("it has arrived") { try await bench.journal.ledger().accepted == 1 }
        try await eventually("the timer is set") { !bench.time.sleepers.isEmpty }
        bench.time.advance(by: .seconds(30))
        #expect(try await server.request().coverage == Coverage(through: 1))
        #expect(bench.general.state == .stalled(missing: 2))
        server.push([.heartbeat(time: bench.time.wall(), heads: [:])])
        try await eventually("the heartbeat is read") { server.socket.isDrained }
        bench.time.advance(by: .seconds(30))
        let next = try await bench.accept()
        #expect(server.socket.clientCloseCode == CloseCode.idle.number)
        try next.catchUp(try await next.request(), head: 3)
        try await bench.general.caughtUp()
        try await bench.finish()
    }

    @Test("a server that cannot be reached is dialled again; a close code for good ends the run")
    func dialling() async throws {
        let bench = try await Bench()
        bench.dialer.refuse(RepriseError(.unreachable, "Nothing answers."))
        bench.dialer.refuse(RepriseError(.notReprise, "This is a printer."))
        let states = bench.channels.connectionStates
        let seen = Seen<ConnectionState>()
        let watcher = Task { for await state in states { seen.add(state) } }
        defer { watcher.cancel() }
        bench.start()
        let server = try await bench.accept()
        #expect(bench.dialer.count == 3)
        server.socket.end(code: CloseCode.unauthorized.number)
        try await eventually("the run is stopped: \(seen.all)") {
            if case .stopped(let because) = seen.all.last {
                return because.closeCode == .unauthorized
            }
            return false
        }
        let reasons = seen.all.compactMap { state -> RepriseError.Code? in
            if case .waiting(_, let because) = state { because.error?.code } else { nil }
        }
        #expect(reasons == [.unreachable, .notReprise])
        await expectError(.refused) { try await bench.outcome?.get() }
    }

    @Test("Guarantee 5: a message that vanishes from the journal unbalances the ledger")
    func ledgerCanFail() async throws {
        let bench = try await Bench()
        try await bench.general.read("inbox") { _ in }
        bench.start()
        let server = try await bench.accept()
        try server.catchUp(try await server.request(), head: 5)
        try await bench.general.caughtUp()
        #expect(try await bench.journal.ledger().isBalanced)
        try await bench.journal.write { db in
            try db.execute(sql: "DELETE FROM channelsMessage WHERE seq = 3")
        }
        #expect(try await !bench.journal.ledger().isBalanced)
        try await bench.finish()
    }

    @Test("a disk that fails when a run begins is tried again, and does not end it")
    func failingDisk() async throws {
        let lines = LoggedLines()
        let bench = try await Bench { channels, _ in channels.logger = lines.logger() }
        let (database, away) = (
            bench.folder.appending("journal/journal.sqlite"), bench.folder.appending("away")
        )
        try FileManager.default.moveItem(at: database, to: away)
        bench.start()
        try await eventually("it has failed") {
            lines.all.contains { $0.contains("is tried again") }
        }
        try FileManager.default.moveItem(at: away, to: database)
        _ = try await bench.accept()
        try await bench.finish()
    }

    @Test("a directory whose subscription has failed is subscribed to by the next try")
    func directoryAgain() async throws {
        let server = try MemoryServer(users: ["ada"])
        let ada = try UserID("ada")
        try server.publish(
            #"{"conversation":"team","role":"member","since":1}"#,
            to: ChannelName.directory(of: ada).text)
        let device = try await MemoryDevice(server) { configuration in
            configuration.identity = Identity(user: ada) { _ in
                try AccessToken(server.token(for: "ada"))
            }
        }
        func rename(_ table: String, _ name: String) async throws {
            try await device.journal.write { db in
                try db.execute(sql: "ALTER TABLE \(table) RENAME TO \(name)")
            }
        }
        // What the journal has of a channel cannot be read.
        try await rename("channelsLog", "hidden")
        let first = Task { [channels = device.channels] in try await channels.run() }
        let ended = try await result(of: first)
        #expect(throws: (any Error).self) { try ended.get() }
        try await rename("hidden", "channelsLog")
        device.start()
        try await eventually("its conversations are followed") {
            server.requests.contains { $0.channel.text == "team" }
        }
        try await device.finish()
    }

    @Test("a run that is cancelled at any moment of it throws nothing")
    func cancelledAnywhere() async throws {
        let server = MemoryServer()
        try server.fill("general", with: 10)
        let device = try await MemoryDevice(server)
        try await device.general.read("inbox") { _ in }
        for round in 0..<200 {
            let run = Task { [channels = device.channels] in try await channels.run() }
            try await Task.sleep(for: .microseconds(round * 37 % 3_000))
            run.cancel()
            try await result(of: run, "run() of round \(round)").get()
        }
        try await device.finish()
    }
}
