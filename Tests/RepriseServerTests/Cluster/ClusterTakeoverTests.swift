import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import ServiceLifecycle
import Testing

/// Two whole servers over one journal in the process.
@Suite("A device that connects at another gateway", .timeLimit(.minutes(1)))
struct ClusterTakeoverTests {
    let general = channel()

    private func withGateways(
        admission: Admission? = nil,
        _ body: (RunningServer, RunningServer, MemoryJournal) async throws -> Void
    ) async throws {
        let journal = MemoryJournal(
            seed: 3, readers: 2, stamps: SystemTimekeeper(), faults: ClusterStore.faults)
        defer { journal.close() }
        let shared = SharedJournal(journal: journal)
        try await RunningServer.with(admission: admission, journal: shared) { first in
            try await RunningServer.with(admission: admission, journal: shared) { second in
                try await body(first, second, journal)
            }
        }
    }

    @Test("Its older connection ends with 4104, and later publishes on it are not stored")
    func replaced() async throws {
        try await withGateways { first, second, _ in
            let device = EntryID.random()
            let older = try await first.client(device: device)
            let newer = try await second.client(device: device)
            try await older.send(AccessTests.publish(id: try EntryID("stuck")))
            try await newer.send(AccessTests.publish(id: try EntryID("fresh")))
            guard case .published(let published) = try await newer.nextFrame() else {
                Issue.record("not stored")
                return
            }
            #expect(published.id.text == "fresh" && published.seq == 1)
            var (told, code) = try await older.ending()
            #expect(told == .replaced && code == 4104)
            // And back, where it was first.
            let back = try await first.client(device: device)
            (told, code) = try await newer.ending()
            #expect(told == .replaced && code == 4104)
            #expect(try await back.everythingSoFar().isEmpty, "it goes on")
            try await eventually("the older one is counted out") { first.connections == 1 }
        }
    }

    @Test("Of many connections to both gateways at the same moment one is left")
    func crowd() async throws {
        try await withGateways { first, second, _ in
            let device = EntryID.random()
            try await withThrowingTaskGroup(of: UInt16?.self) { group in
                for index in 0..<32 {
                    group.addTask {
                        let server = index.isMultiple(of: 2) ? first : second
                        let client = try await server.client(hello: false)
                        try await client.send(.hello(.init(device: device, client: "test")))
                        while true {
                            switch try await client.next(within: .seconds(50)) {
                            case .close(let code): return code
                            case .ended: return nil
                            case .frame, .ping, .pong: continue
                            }
                        }
                    }
                }
                var codes: [UInt16?] = []
                while codes.count < 31, let code = try await group.next() { codes.append(code) }
                #expect(codes == Array(repeating: 4104, count: 31))
                try await eventually("one is left") {
                    first.connections + second.connections == 1
                }
                await first.group.triggerGracefulShutdown()
                await second.group.triggerGracefulShutdown()
            }
        }
    }

    @Test("A typing user is shown at the other gateway too, and not to himself")
    func typing() async throws {
        let admission = Admission(
            authenticator: TrustingAuthenticator(), accounts: ScriptedAccounts())
        try await withGateways(admission: admission) { first, second, journal in
            let ada = try await first.client(as: "ada")
            let tablet = try await second.client(as: "ada")
            let ben = try await second.client(as: "ben")
            for client in [ada, tablet, ben] { try await client.subscribe(general) }
            journal.say([9, 9], on: .typing)  // what no version says
            for isTyping in [true, false] {
                try await ada.send(.typing(general, isTyping: isTyping))
                let told = try #require(TypingTests.typing(try await ben.nextFrame()))
                #expect(told == ("ada", isTyping))
            }
            #expect(try await tablet.everythingSoFar().isEmpty)
            #expect(try await ada.everythingSoFar().isEmpty)
        }
    }

    @Test(
        "A client of a gateway that stopped at an entry of a later version is sent away, and readiness says why"
    )
    func leftBehind() async throws {
        try await withGateways { first, _, journal in
            let client = try await first.client()
            try await client.subscribe(general)
            journal.change {
                $0.faults = .none
                $0.send(ClusterEntryTests.later, at: SystemTimekeeper().uptime())
            }
            let (told, code) = try await client.ending()
            #expect(told == .goingAway && code == 4100)
            let ready = try await Command.run(
                "curl", ["-s", "-i", "http://127.0.0.1:\(first.port)/readyz"]
            ).words
            #expect(ready.contains(" 503 ") && ready.contains("Upgrade this gateway."), "\(ready)")
            // It keeps nobody who comes all the same.
            let late = try await first.client(hello: false)
            try await late.send(.hello(.init(device: .random(), client: "test")))
            #expect(try await late.ending().0 == .unavailable)
        }
    }

    @Test(
        "No client is welcomed while the journal is unreachable; waiting clients are welcomed afterwards"
    )
    func waits() async throws {
        try await withGateways { first, _, journal in
            journal.change { $0.faults.lost = 100 }
            let client = try await first.client(hello: false)
            try await client.send(.hello(.init(device: .random(), client: "test")))
            await #expect(throws: (any Error).self) {
                _ = try await client.next(within: .milliseconds(500))
            }
            journal.change { $0.faults = .none }
            guard case .welcome = try await client.nextFrame() else {
                Issue.record("not welcomed")
                return
            }
        }
    }
}
