import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// The failures of `case-catch-up` and its checklist, played by a server against a whole device.
@Suite("Case study catch-up: a bad server")
struct CaseStudyServerTests {
    static let orders: [MemoryServerFaults.Order] = [
        .sequence, .backwards, .shuffled(seed: 1), .streams(4, seed: 2), .streams(4, seed: 3),
    ]

    private func device(
        _ count: Int, isImpatient: Bool = false,
        _ change: (inout MemoryServerFaults) -> Void = { _ in }
    ) async throws -> MemoryDevice {
        let server = MemoryServer()
        try server.fill("general", with: count)
        change(&server.faults)
        return try await MemoryDevice(server) { if isImpatient { MemoryDevice.impatient(&$0) } }
    }

    /// Everything, each once, whatever happened on the way.
    private func complete(_ device: MemoryDevice, _ count: Int64) async throws {
        let seen = try await device.caughtUp()
        #expect(seen.sorted() == Array(1...count))
        #expect(device.general.state == .live)
        let ledger = try await device.journal.ledger()
        #expect(ledger.accepted == count)
        #expect(ledger.isBalanced)
        try await device.finish()
    }

    @Test(
        "Four parallel streams, backwards or shuffled: all is applied, each once", arguments: orders
    )
    func order(_ order: MemoryServerFaults.Order) async throws {
        try await complete(try await device(600) { $0.order = order }, 600)
    }

    @Test("Events that come three times are applied once, and counted as duplicates")
    func repeats() async throws {
        let device = try await device(200) {
            $0.repeats = 3
            $0.order = .shuffled(seed: 4)
        }
        try await complete(device, 200)
    }

    @Test(
        "A connection that ends in mid-catch-up: the next one asks for exactly the holes",
        arguments: [nil, CloseCode.unavailable.number])
    func closed(code: UInt16?) async throws {
        let device = try await device(300) {
            $0.order = .streams(4, seed: 5)
            $0.closesAfter = 120
            $0.closeCode = code
        }
        let server = device.server
        try await complete(device, 300)
        #expect(server.requests.count >= 2)
        #expect(server.requests[1].coverage.count > 0)
    }

    @Test(
        "A server that goes silent in mid-catch-up: asked again, then dialled again, never called complete"
    )
    func silent() async throws {
        let device = try await device(300, isImpatient: true) { $0.silentAfter = 100 }
        let server = device.server
        try await complete(device, 300)
        #expect(server.dialled >= 2)
    }

    @Test("sync_complete before the events: the device is live only once it has them")
    func earlyCompletion() async throws {
        try await complete(try await device(300) { $0.completion = .before }, 300)
    }

    @Test(
        "sync_complete never comes: silence is not completion, and once it comes the device is live"
    )
    func noCompletion() async throws {
        let device = try await device(50, isImpatient: true) { $0.completion = .never }
        let observer = Observer()
        try await device.general.read("inbox") { observer.see($0) }
        device.start()
        try await eventually("all is there") { observer.messages.count == 50 }
        try await eventually("it asks again") { device.server.requests.count >= 2 }
        #expect(device.general.state != .live)
        device.server.faults = MemoryServerFaults()
        try await within(.seconds(20)) { try await device.general.caughtUp() }
        try await device.finish()
    }

    @Test("A server that leaves events out: asked again for exactly those")
    func skipping() async throws {
        let device = try await device(100) { $0.skipsEach = 7 }
        let observer = Observer()
        try await device.general.read("inbox") { observer.see($0) }
        // How often it had asked whenever it was live.
        let asked = Seen<Int>()
        let states = device.general.states
        let watch = Task { [server = device.server] in
            for await state in states where state == .live { asked.add(server.requests.count) }
        }
        device.start()
        try await eventually("it asks again") { device.server.requests.count >= 2 }
        let coverage = device.server.requests[1].coverage
        #expect(coverage.complement(through: 100).first == SequenceRange(after: 6, through: 7))
        device.server.faults = MemoryServerFaults()
        try await within(.seconds(20)) { try await device.general.caughtUp() }
        #expect(observer.sequences.sorted() == Array(1...100))
        try await eventually("it was live") { asked.count > 0 }
        #expect(asked.all.allSatisfy { $0 >= 2 })
        watch.cancel()
        try await device.finish()
    }

    @Test(
        "A head that is too great: sequences that never come are shown as missing, not as complete")
    func headTooGreat() async throws {
        let device = try await device(20) { $0.headOffset = 5 }
        let observer = Observer()
        try await device.general.read("inbox") { observer.see($0) }
        device.start()
        try await eventually("it knows that something is missing") {
            await device.general.diagnostics.missing == 5 && observer.messages.count == 20
        }
        #expect(device.general.state != .live)
        try await device.finish()
    }

    @Test("A head that is too small: events beyond it are applied all the same")
    func headTooSmall() async throws {
        let device = try await device(20) { $0.headOffset = -5 }
        let observer = Observer()
        try await device.general.read("inbox") { observer.see($0) }
        device.start()
        try await eventually("all is there") { observer.messages.count == 20 }
        try await device.finish()
    }

    @Test(
        "Sequences that go backwards, overlap or reach the end of numbers trap nothing and lose nothing"
    )
    func badSequences() async throws {
        let device = try await device(10)
        let observer = Observer()
        try await device.general.read("inbox") { observer.see($0) }
        device.start()
        try await within(.seconds(20)) { try await device.general.caughtUp() }
        let channel = try ChannelName("general")
        let greatest = WireLimits.greatestSequence
        for (seq, prev) in [(5, 4), (5, 0), (12, 3), (greatest, greatest - 1), (11, 10)]
            as [(Int64, Int64)]
        {
            device.server.send(
                .event(
                    .init(
                        channel: channel, seq: seq, prev: prev, id: .random(),
                        time: WallTime(milliseconds: 0), body: Array("0".utf8))))
        }
        // (12, 3] overlaps: it accounts for 11, which then is a duplicate; the end of numbers
        // claims more than the server has.
        try await eventually("what is new is applied") { observer.sequences.contains(greatest) }
        #expect(Set(observer.sequences) == Set(Array(1...10) + [12, greatest]))
        try await device.finish()
    }

    // MARK: The checklist

    @Test(
        "The checklist: connects, catches up without freezing, goes on live, counts everything in the diagnostics"
    )
    func checklist() async throws {
        let device = try await device(250) { $0.order = .streams(4, seed: 6) }
        let observer = Observer()
        let states = device.general.states
        try await device.general.read("inbox") { observer.see($0) }
        device.start()
        try await within(.seconds(20)) { try await device.general.caughtUp() }
        try device.server.publish("251", to: "general")
        try await eventually("live events go on") { observer.messages.count == 251 }
        var seen: [ChannelState] = []
        for await state in states {
            seen.append(state)
            if state == .live { break }
        }
        #expect(seen.contains { if case .catchingUp = $0 { true } else { false } })
        let diagnostics = await device.general.diagnostics
        #expect(diagnostics.state == .live)
        #expect(diagnostics.received == 251)
        #expect(diagnostics.duplicates == 0)
        #expect(diagnostics.head == 251)
        #expect(diagnostics.missing == 0)
        #expect(diagnostics.requests == 1)
        #expect(diagnostics.coverage == Coverage(through: 251))
        #expect(diagnostics.sinceLastEvent != nil)
        let connection = await device.channels.diagnostics
        #expect(connection.state == .connected)
        #expect(connection.reconnects == 0)
        #expect(connection.framesRead >= 254)
        device.server.cut()
        try await eventually("it reconnects") { await device.channels.diagnostics.reconnects == 1 }
        try device.server.publish("252", to: "general")
        try await eventually("and goes on") { observer.messages.count == 252 }
        try await device.finish()
    }
}
