import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

/// Each case on a raw socket of its own, against a server on a real port.
@Suite("RFC 6455, case by case")
struct RFC6455Tests {
    @Test(
        "each case of the Autobahn test suite has the expected outcome",
        arguments: RFC6455Cases.sections.map(\.name))
    func section(_ name: String) async throws {
        let cases = RFC6455Cases(name).cases
        #expect(!cases.isEmpty)
        var limits = ServerLimits()
        limits.closeHandshake = .seconds(8)  // what waits for its end is told apart
        try await RunningServer.with(limits) { server in
            for one in cases {
                do {
                    try await Self.play(one, against: server)
                } catch {
                    Issue.record("\(one.number) \(one.what): \(error)")
                }
            }
        }
    }

    private static func play(_ one: RFC6455Case, against server: RunningServer) async throws {
        let client = try await server.client()
        let place: Comment = "\(one.number) \(one.what)"
        for bytes in one.writes {
            do {
                try await client.socket.send(bytes)
            } catch {
                break  // the server has had enough
            }
        }
        var answers: [RFC6455Case.Answer] = []
        var next: TestClient.Incoming?
        while answers.count < one.answers.count, next == nil {
            let incoming = try await client.next()
            if let answer = answer(incoming) { answers.append(answer) } else { next = incoming }
        }
        if case .closed = one.ending {
            #expect(one.answers.starts(with: answers), place)
        } else {
            #expect(answers == one.answers, place)
        }
        try await end(one.ending, client, next, place)
    }

    private static func answer(_ incoming: TestClient.Incoming) -> RFC6455Case.Answer? {
        switch incoming {
        case .frame(.published): .published
        case .frame(.refused(let refused)): .refused(refused.code)
        case .pong(let payload): .pong(payload)
        case .frame, .ping, .close, .ended: nil
        }
    }

    /// `next` is what was read already.
    private static func end(
        _ ending: RFC6455Case.Ending, _ client: TestClient, _ next: TestClient.Incoming?,
        _ place: Comment
    ) async throws {
        func first() async throws -> TestClient.Incoming {
            if let next { return next }
            return try await client.next()
        }
        switch ending {
        case .stays:
            try await client.socket.send(RFC6455Cases.frame(RFC6455Cases.ping, [0x3f]))
            #expect(try await first() == .pong([0x3f]), place)
            try await client.socket.send(RFC6455Cases.closeFrame(1_000))
            #expect(try await client.next() == .close(1_000), place)
        case .closed(let code):
            guard case .frame(.error(code, _)) = try await first() else {
                Issue.record("no error frame: \(place)")
                return
            }
            #expect(try await client.next() == .close(code.number), place)
            try? await client.socket.send(RFC6455Cases.closeFrame(code.number))
        case .echoed(let code):
            #expect(try await first() == .close(code), place)
        }
        let closed = ContinuousClock.now
        #expect(try await client.next() == .ended, place)
        #expect(ContinuousClock.now - closed < .seconds(4), place)
    }
}
