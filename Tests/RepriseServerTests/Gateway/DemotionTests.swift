import Foundation
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Slow readers")
struct DemotionTests {
    @Test(
        "a client that stops reading costs no memory, and gets everything exactly once when it reads again",
        .limit("server.unsent")
    )
    func stopAndGoOn() async throws {
        var limits = ServerLimits()
        limits.unsentBytes = 262_144
        limits.unsentBytesToResume = 65_536
        try await RunningServer.with(limits) { server in
            let slow = try await server.client(receiveBuffer: 8_192)
            let quick = try await server.client()
            var (received, seen) = (ReceivedFrame(), ReceivedFrame())
            try await CatchUpTests.subscribe(slow)
            try await CatchUpTests.receive(slow, into: &received)
            try await CatchUpTests.subscribe(quick)
            try await CatchUpTests.receive(quick, into: &seen)
            let before = try residentBytes()
            // 60 MB that `slow` does not read; `quick` shows that they were fanned out.
            let total: Int64 = 3_000
            for _ in 0..<30 {
                try await server.fill(channel(), messages: 100, bytes: 20_000)
                let target = try await server.log.state(of: channel()).head
                while seen.events.last?.seq != target { seen.take(try await quick.nextFrame()) }
                seen.events.removeFirst(99)
            }
            #expect(seen.coverage == Coverage(through: total))
            // The log and the quick reader's own events are in this process too.
            #expect(try residentBytes() - before < 60_000_000 + 30_000_000)
            while received.completed.last?.through != total {
                received.take(try await slow.nextFrame())
            }
            #expect(received.coverage == Coverage(through: total))
            #expect(received.events.count == Int(total))
            #expect(received.subscribed.count >= 2, "it was demoted")
            #expect(received.completed.last?.through == total)
            try await server.fill(channel(), messages: 1)
            received.take(try await slow.nextFrame())
            #expect(received.events.last?.seq == total + 1, "it is live again")
        }
    }

    @Test(
        "a publisher beyond its publishes in flight is not read, and loses none",
        .limit("server.waitingRequests", "server.publishesInFlight"))
    func publishesInFlight() async throws {
        var limits = ServerLimits()
        limits.publishesInFlight = 8
        try await RunningServer.with(limits) { server in
            server.log.change { $0.appendDelay = .milliseconds(1) }
            let client = try await server.client()
            let count = 2_000
            let socket = client.socket
            async let sending: Void = {
                for _ in 0..<count {
                    let publish = ClientFrame.publish(
                        .init(channel: channel(), id: .random(), body: json(bytes: 200)))
                    try await socket.send(TestClient.frame(0x81, publish.encoded()))
                }
            }()
            var sequences: [Int64] = []
            while sequences.count < count {
                if case .published(let published) = try await client.nextFrame() {
                    sequences.append(published.seq)
                }
            }
            try await sending
            #expect(sequences == (1...Int64(count)).map { $0 })
        }
    }

    @Test(
        "publishes that wait for the user's rights are bounded by their bytes, too, and none is lost",
        .limit("server.waitingRequests"))
    func waitingBodies() async throws {
        try await RunningServer.withUsers { server, accounts in
            let client = try await server.client(as: "ada")
            accounts.change { $0.holdsAnswers = true }
            let count = 64
            let publish = ClientFrame.publish(
                .init(channel: channel(), id: .random(), body: json(bytes: 60_000)))
            let frame = TestClient.frame(0x81, publish.encoded())
            let socket = client.socket
            async let sending: Void = {
                for _ in 0..<count { try await socket.send(frame) }
                try await socket.send(TestClient.frame(0x89, []))
            }()
            let early = try? await client.next(within: .seconds(1))
            #expect(early == nil, "the ping behind 3.8 MB is not read")
            accounts.change { $0.holdsAnswers = false }
            var (published, pongs) = (0, 0)
            while published < count || pongs < 1 {
                switch try await client.next() {
                case .frame(.published): published += 1
                case .pong: pongs += 1
                case .close, .ended: throw PlainSocket.Failure(description: "ended")
                case .frame, .ping: continue
                }
            }
            try await sending
        }
    }

    @Test("a body beyond the limit is refused without waiting for the user's rights")
    func largeBody() async throws {
        try await RunningServer.withUsers { server, accounts in
            let client = try await server.client(as: "ada")
            accounts.change { $0.holdsAnswers = true }
            try await client.send(
                .publish(.init(channel: channel(), id: .random(), body: json(bytes: 65_537))))
            guard
                case .refused(let refused) = try await client.nextFrame(within: .seconds(20))
            else {
                Issue.record("not refused")
                return
            }
            #expect(refused.code == .tooLarge)
            accounts.change { $0.holdsAnswers = false }
        }
    }
}

/// What this process holds in memory (Linux).
func residentBytes() throws -> Int {
    #if os(Linux)
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return (Int(text.split(separator: " ")[1]) ?? 0) * 4_096
    #else
        return 0
    #endif
}
