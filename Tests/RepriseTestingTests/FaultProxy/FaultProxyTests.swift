import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Fault proxy", .timeLimit(.minutes(1)))
struct FaultProxyTests {
    @Test("without a fault every byte arrives in both directions, and each end by itself")
    func transparent() async throws {
        let wire = try Wire()
        let (device, server) = try wire.pair()
        let (question, answer) = (counting(300_000), counting(200_000, from: 5))
        let sending = Task.detached {
            try device.send(question)
            device.endSending()
        }
        #expect(server.receiveAll() == (question, .finished))
        try await sending.value
        let answering = Task.detached {
            try server.send(answer)
            server.endSending()
        }
        #expect(device.receiveAll() == (answer, .finished))
        try await answering.value
        let report = wire.proxy.report
        #expect(report.met.isEmpty && report.connections == 1)
        #expect(report.bytes == [.toServer: 300_000, .toClient: 200_000])
    }

    @Test(
        "a truncated stream ends in the middle, by FIN, for both sides",
        arguments: FaultProxy.Direction.allCases)
    func truncates(_ direction: FaultProxy.Direction) async throws {
        let wire = try Wire(.init([.init([.init(.truncate, direction, afterBytes: 1_234)])]))
        let (device, server) = try wire.pair()
        let (from, to) = direction == .toServer ? (device, server) : (server, device)
        try from.send(counting(5_000))
        #expect(to.receiveAll() == (counting(1_234), .finished))
        #expect(from.receiveAll() == ([], .finished))
        #expect(wire.proxy.report.met == [.truncated: 1])
    }

    @Test("a planned reset takes the connection away from both sides, and the next one lives")
    func resets() async throws {
        let wire = try Wire(.init([.init([.init(.reset, .toServer, afterBytes: 10)])]))
        let (device, server) = try wire.pair()
        try device.send(counting(11))
        #expect(device.receiveAll().1 == .reset)
        #expect(server.receiveAll().1 == .reset)
        let (again, there) = try wire.pair()
        try again.send(counting(11))
        #expect(there.receive(11).0 == counting(11))
        #expect(wire.proxy.report[.reset] == 1)
    }

    @Test("a fault waits for the byte behind its place")
    func place() async throws {
        let wire = try Wire(.init([.init([.init(.reset, .toServer, afterBytes: 10)])]))
        let (device, server) = try wire.pair()
        try device.send(counting(10))
        #expect(server.receive(10).0 == counting(10))
        #expect(wire.proxy.report.met.isEmpty)
        try device.send([1])
        #expect(server.receiveAll().1 == .reset)
    }

    @Test("a half-open connection carries nothing and does not end when the other side does")
    func halfOpens() async throws {
        let wire = try Wire()
        let (device, server) = try wire.pair()
        try device.send([1])
        #expect(server.receive(1).0 == [1])
        await wire.proxy.halfOpen()
        try device.send([2])
        device.endSending()
        try server.send([3])
        #expect(server.receiveAll(within: .milliseconds(150)) == ([], .silent))
        #expect(device.receiveAll(within: .milliseconds(50)) == ([], .silent))
        let (again, there) = try wire.pair()
        try again.send([4])
        #expect(there.receive(1).0 == [4])
        #expect(wire.proxy.report.met == [.halfOpened: 2])
        await wire.proxy.cut()
        #expect(server.receiveAll().1 == .reset)
    }

    @Test("half of half open: one direction is silent, the other goes on")
    func halfOfHalfOpen() async throws {
        let wire = try Wire(
            .init([.init([.init(.halfOpen(both: false), .toClient, afterBytes: 2)])]))
        let (device, server) = try wire.pair()
        try server.send([1, 2, 3])
        #expect(device.receive(2).0 == [1, 2])
        #expect(device.receiveAll(within: .milliseconds(100)) == ([], .silent))
        try device.send([4])
        #expect(server.receive(1).0 == [4])
    }

    @Test("a held connection is overtaken by a later one, and arrives although its sender is gone")
    func overtakes() async throws {
        let wire = try Wire()
        let (device, server) = try wire.pair()
        await wire.proxy.hold()
        do {
            let gone = device
            try gone.send(counting(1_000))
            gone.endSending()
        }
        let (later, there) = try wire.pair()
        try later.send([9])
        #expect(there.receive(1).0 == [9])
        #expect(server.receiveAll(within: .milliseconds(50)) == ([], .silent))
        await wire.proxy.release()
        #expect(server.receiveAll() == (counting(1_000), .finished))
    }

    @Test("splits: many small reads, and every byte in its place")
    func splits() async throws {
        let wire = try Wire(.init([.init([.init(.split(bytes: 3), .toServer)])]))
        let (device, server) = try wire.pair()
        // A piece each millisecond; one that is read late comes together with those behind it.
        try device.send(counting(1_000))
        var (reads, bytes) = (0, 0)
        while bytes < 1_000 {
            let count = server.receiveOnce()
            guard count > 0 else { break }
            reads += 1
            bytes += count
        }
        #expect(bytes == 1_000 && reads > 10, "\(reads) reads")
        #expect(wire.proxy.report[.split] == 1)
    }

    @Test("a delay lets everything arrive later, a throttle slowly, and both keep every byte")
    func delaysAndThrottles() async throws {
        let wire = try Wire()
        await wire.proxy.delay(.milliseconds(120))
        let (device, server) = try wire.pair()
        let clock = ContinuousClock()
        let late = try clock.measure {
            try device.send([1])
            #expect(server.receive(1).0 == [1])
        }
        #expect(late >= .milliseconds(115))
        await wire.proxy.delay(.zero)
        await wire.proxy.throttle(bytesPerSecond: 100_000)
        let slow = try clock.measure {
            try device.send(counting(30_000))
            #expect(server.receive(30_000).0 == counting(30_000))
        }
        #expect(slow >= .milliseconds(250))
        #expect(wire.proxy.report[.delayed] == 2 && wire.proxy.report[.throttled] == 2)
    }

    @Test("the proxy keeps no more than 64 KiB and one read of unread bytes")
    func bounded() async throws {
        let wire = try Wire()
        let (device, server) = try wire.pair()
        await wire.proxy.hold()
        let bytes = counting(1_000_000)
        let sending = Task.detached { try device.send(bytes) }
        try await eventually("it is full") { wire.proxy.report.mostWaiting >= 65_536 }
        #expect(wire.proxy.report.mostWaiting <= 65_536 + 16_384)
        await wire.proxy.release()
        #expect(server.receive(1_000_000).0 == bytes)
        try await sending.value
        #expect(wire.proxy.report.mostWaiting <= 65_536 + 16_384)
    }

    @Test("refuses by plan and by hand, until it is healed")
    func refuses() async throws {
        let wire = try Wire(.init([.refused]))
        #expect(try wire.dial().receiveAll().1 == .reset)
        let (device, server) = try wire.pair()
        await wire.proxy.refuse()
        #expect(try wire.dial().receiveAll().1 == .reset)
        try device.send([1])
        #expect(server.receive(1).0 == [1])
        await wire.proxy.heal()
        _ = try wire.pair()
        #expect(wire.proxy.report.met == [.refused: 2])
    }

    @Test("healing ends what was still planned for open connections, too")
    func heals() async throws {
        let wire = try Wire(.init([.init([.init(.truncate, .toServer, afterBytes: 5)]), .refused]))
        let (device, server) = try wire.pair()
        try device.send([1])
        #expect(server.receive(1).0 == [1])
        await wire.proxy.heal()
        try device.send(counting(100))
        #expect(server.receive(100).0 == counting(100))
        _ = try wire.pair()
        #expect(wire.proxy.report.met.isEmpty)
    }

    @Test("bytes can be lost from the middle, which no network does")
    func loses() async throws {
        let wire = try Wire()
        let (device, server) = try wire.pair()
        await wire.proxy.lose(3, .toServer)
        try device.send(counting(10))
        #expect(server.receive(7).0 == Array(counting(10).dropFirst(3)))
        #expect(wire.proxy.report.met == [.lost: 1])
    }

    @Test(
        "a dial through the proxy without a server fails; a server that ends, ends the connection")
    func noServer() async throws {
        let proxy = try { try Wire().proxy }()  // the listener behind it is closed
        let wire = try Wire()
        let (device, _) = try wire.pair()  // the server's end goes at once
        #expect(device.receiveAll().1 == .finished)
        await wire.proxy.stop()
        #expect(throws: Wire.Failure.self) { try wire.dial() }
        await proxy.stop()
        await proxy.cut()  // does nothing, and returns
    }
}
