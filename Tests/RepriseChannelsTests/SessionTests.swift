import Foundation
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// An app that returns tokens as it is told.
private final class TokenBackendInMemory: Sendable {
    private struct State {
        var requests: [TokenRequest] = []
        var failure: (any Error)?
        var hangs = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    var requests: [TokenRequest] { state.withLock { $0.requests } }
    func fail(_ error: (any Error)?) { state.withLock { $0.failure = error } }
    func hang() { state.withLock { $0.hangs = true } }

    func release() {
        let waiting = state.withLock { state in
            state.hangs = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    static func token(_ number: Int) throws -> AccessToken {
        try AccessToken("c2VjcmV0.Ym9keQ.\(number)")
    }

    func identity(_ user: UserID = UserID(unchecked: "ada")) -> Identity {
        Identity(user: user) { request in
            let (number, hangs) = self.state.withLock { state in
                state.requests.append(request)
                return (state.requests.count, state.hangs)
            }
            if hangs {
                await withCheckedContinuation { continuation in
                    let isReleased = self.state.withLock { state in
                        if state.hangs { state.waiting.append(continuation) }
                        return !state.hangs
                    }
                    if isReleased { continuation.resume() }
                }
            }
            if let failure = self.state.withLock({ $0.failure }) { throw failure }
            return try Self.token(number)
        }
    }
}

/// Network news in the hand of a test.
private final class Network: NetworkStatus {
    private let source = AsyncStream.makeStream(
        of: NetworkPath.self, bufferingPolicy: .bufferingNewest(1_000))
    var paths: AsyncStream<NetworkPath> { source.stream }
    func set(_ isUsable: Bool) { source.continuation.yield(NetworkPath(isUsable: isUsable)) }
}

@Suite("Sessions over a connection", .timeLimit(.minutes(1)))
struct SessionTests {
    private static let ada = UserID(unchecked: "ada")

    private static func bench(_ backend: TokenBackendInMemory, network: Network? = nil) async throws
        -> Bench
    {
        try await Bench { channels, _ in
            channels.identity = backend.identity()
            channels.network = network
        }
    }

    /// Takes the hello of the next connection, and welcomes whoever it is as `user`.
    private static func accept(
        _ bench: Bench, as user: UserID = ada, lasting: Duration = .seconds(1_000)
    ) async throws -> (server: ScriptedChannelServer, token: AccessToken?) {
        let server = ScriptedChannelServer(socket: try await bench.dialer.accept())
        guard case .hello(let hello) = try await server.next() else {
            throw RepriseError(.malformed, "hello comes first")
        }
        server.push([
            .welcome(
                .init(
                    version: 1, time: bench.time.wall(), heartbeat: .seconds(25), server: "s",
                    session: .init(user: user, expires: bench.time.wall().advanced(by: lasting))))
        ])
        return (server, hello.token)
    }

    private static func state(
        _ bench: Bench, _ what: Comment, _ isReached: @escaping @Sendable (ConnectionState) -> Bool
    ) async throws {
        for await state in bench.channels.connectionStates where isReached(state) { return }
        Issue.record(what)
    }

    @Test(
        "a token that nears its end in a catch-up is replaced on the open connection, and the catch-up goes on"
    )
    func refreshInCatchUp() async throws {
        let backend = TokenBackendInMemory()
        let bench = try await Self.bench(backend)
        try await bench.general.subscribe()
        bench.start()
        let (server, token) = try await Self.accept(bench, lasting: .seconds(50))
        #expect(token == (try TokenBackendInMemory.token(1)))
        _ = try await server.request()
        try server.subscribed(head: 4)
        try server.events([1, 2])
        try await eventually("two are stored") { try await bench.journal.ledger().accepted == 2 }
        bench.time.advance(by: .seconds(25))
        guard case .authenticate(let fresh) = try await server.next() else {
            Issue.record("the fresh token goes over the open connection")
            return
        }
        #expect(fresh == (try TokenBackendInMemory.token(2)))
        server.push([
            .authenticated(
                .init(user: Self.ada, expires: bench.time.wall().advanced(by: .seconds(1_000))))
        ])
        try server.events([3, 4])
        try server.syncComplete(through: 4)
        try await bench.general.caughtUp()
        #expect(bench.dialer.count == 1)
        #expect(backend.requests.map(\.reason) == [.first, .expires])
        try await bench.finish()
    }

    @Test(
        "an app that fails keeps the connection, shows why, and is asked again after the token's end"
    )
    func failingApp() async throws {
        let backend = TokenBackendInMemory()
        let bench = try await Self.bench(backend)
        bench.start()
        let (server, _) = try await Self.accept(bench, lasting: .seconds(100))
        try await Self.state(bench, "connected") { $0 == .connected }
        struct Secretive: Error { let token = "c2VjcmV0" }
        backend.fail(Secretive())
        bench.time.advance(by: .seconds(50))
        let shown = Mutex("")
        try await Self.state(bench, "expiring") {
            guard case .expiring(let error) = $0 else { return false }
            shown.withLock { $0 = "\(error)" }
            return true
        }
        #expect(!shown.withLock { $0 }.contains("c2VjcmV0"))
        #expect(!server.socket.hasEnded)
        backend.fail(nil)
        server.push([.error(code: .tokenExpired, message: "The token has ended.")])
        server.socket.end(code: CloseCode.tokenExpired.number)
        let (_, token) = try await Self.accept(bench)
        #expect(token != nil && backend.requests.last?.reason == .expires)
        try await bench.finish()
    }

    @Test(
        "a refused token is replaced once; then the client stops without ending its run, until somebody signs in"
    )
    func refused() async throws {
        let backend = TokenBackendInMemory()
        let bench = try await Self.bench(backend)
        bench.start()
        for _ in 0..<2 {
            let server = ScriptedChannelServer(socket: try await bench.dialer.accept())
            _ = try await server.next()
            server.push([.error(code: .unauthorized, message: "It is not signed by us.")])
            server.socket.end(code: CloseCode.unauthorized.number)
        }
        try await Self.state(bench, "stopped") {
            guard case .stopped(let because) = $0 else { return false }
            return because.error?.code == .unauthorized
        }
        #expect(backend.requests.map(\.reason) == [.first, .refused])
        await bench.channels.reconnect()
        let (_, token) = try await Self.accept(bench)
        #expect(token == (try TokenBackendInMemory.token(3)))
        try await Self.state(bench, "connected") { $0 == .connected }
        try await bench.finish()
    }

    @Test(
        "a token of another user is refused on this side, and nothing of that connection is stored")
    func stranger() async throws {
        let backend = TokenBackendInMemory()
        let bench = try await Self.bench(backend)
        try await bench.general.subscribe()
        bench.start()
        for _ in 0..<2 {
            let (server, _) = try await Self.accept(bench, as: try UserID("bob"))
            try server.subscribed(head: 1)
            try server.events([1])
            try await eventually("it is closed") {
                server.socket.clientCloseCode == CloseCode.unauthorized.number
            }
        }
        try await Self.state(bench, "stopped") {
            guard case .stopped(let because) = $0 else { return false }
            return because.error?.code == .wrongUser
        }
        #expect(try await bench.journal.ledger().accepted == 0)
        try await bench.finish()
    }

    @Test(
        "an app that hangs is given up after its time, asked again, and its late answer is not used"
    )
    func hanging() async throws {
        let backend = TokenBackendInMemory()
        backend.hang()
        let bench = try await Self.bench(backend)
        bench.start()
        try await eventually("it is asked") { backend.requests.count == 1 }
        try await eventually("its time is taken") { !bench.time.sleepers.isEmpty }
        bench.time.advance(by: .seconds(30))
        try await eventually("it is asked again") { backend.requests.count == 2 }
        #expect(bench.dialer.count == 0)
        backend.release()
        let (_, token) = try await Self.accept(bench)
        #expect(token == (try TokenBackendInMemory.token(2)))
        try await bench.finish()
    }

    @Test(
        "in the background a catch-up goes on, then all is closed with 1000 and durable; the foreground goes on from there"
    )
    func background() async throws {
        let backend = TokenBackendInMemory()
        let bench = try await Self.bench(backend)
        try await bench.general.subscribe()
        bench.start()
        let (server, _) = try await Self.accept(bench)
        _ = try await server.request()
        try server.subscribed(head: 6)
        try server.events([1, 2])
        let left = Task { await bench.channels.background(granted: .seconds(20)) }
        try await eventually("the background has begun") { await !bench.channels.isAwake }
        try server.events([3])
        try await eventually("it goes on") { try await bench.journal.ledger().accepted == 3 }
        bench.time.advance(by: .seconds(18))
        await left.value
        #expect(server.socket.clientCloseCode == CloseCode.normal.number)
        #expect(try await bench.journal.ledger().accepted == 3)
        try await Self.state(bench, "suspended") { $0 == .suspended }
        bench.time.advance(by: .seconds(600))
        #expect(bench.dialer.count == 1)

        await bench.channels.foreground()
        let (next, _) = try await Self.accept(bench)
        let request = try await next.request()
        #expect(request.coverage == Coverage(through: 3))
        try next.catchUp(request, head: 6)
        try await bench.general.caughtUp()
        try await bench.finish()
    }

    @Test(
        "time in the background that comes before the run does is not over early",
        arguments: [true, false])
    func expected(comes: Bool) async throws {
        let bench = try await Self.bench(TokenBackendInMemory())
        let isOver = Mutex(false)
        bench.channels.expectRun(true)
        let left = Task {
            await bench.channels.background(granted: .seconds(20))
            isOver.withLock { $0 = true }
        }
        try await eventually("the background has begun") { await !bench.channels.isAwake }
        if comes {
            bench.start()
            _ = try await Self.accept(bench)
            try await Self.state(bench, "connected") { $0 == .connected }
            #expect(!isOver.withLock { $0 })
            bench.time.advance(by: .seconds(18))
        } else {
            bench.channels.expectRun(false)
        }
        await left.value
        #expect(bench.dialer.count == (comes ? 1 : 0))
        try await bench.finish()
    }

    @Test(
        "a socket that died in the sleep is found out five seconds after the foreground, and replaced at once"
    )
    func halfOpen() async throws {
        let backend = TokenBackendInMemory()
        let bench = try await Self.bench(backend)
        bench.start()
        let (server, _) = try await Self.accept(bench)
        try await Self.state(bench, "connected") { $0 == .connected }
        let left = Task { await bench.channels.background(granted: .seconds(40)) }
        try await eventually("the background has begun") { await !bench.channels.isAwake }
        bench.time.advance(by: .seconds(20))
        server.socket.fallSilent()
        await bench.channels.foreground()
        await left.value
        try await eventually("the ping has its deadline") {
            bench.time.sleepers.contains { $0 == .seconds(1_025) }
        }
        bench.time.advance(by: .seconds(5))
        let (_, token) = try await Self.accept(bench)
        #expect(token == (try TokenBackendInMemory.token(1)), "the token is good still")
        #expect(server.socket.clientCloseCode == CloseCode.idle.number)
        try await bench.finish()
    }

    @Test(
        "a network that comes and goes a hundred times in a minute makes few dials, and ends connected"
    )
    func flapping() async throws {
        let network = Network()
        let bench = try await Self.bench(TokenBackendInMemory(), network: network)
        let accepting = Task {
            while !Task.isCancelled { _ = try? await Self.accept(bench) }
        }
        bench.dialer.refuse(RepriseError(.unreachable, ""))
        let began = bench.time.uptime()
        bench.start()
        for _ in 0..<100 {
            network.set(false)
            bench.time.advance(by: .milliseconds(300))
            await Task.yield()
            network.set(true)
            bench.time.advance(by: .milliseconds(300))
            await Task.yield()
        }
        let deadline = ContinuousClock.now + .seconds(20)
        let connected = Mutex(false)
        let watching = Task {
            for await state in bench.channels.connectionStates where state == .connected {
                connected.withLock { $0 = true }
                return
            }
        }
        while !connected.withLock({ $0 }), ContinuousClock.now < deadline {
            bench.time.advance(by: .milliseconds(100))
            try await Task.sleep(for: .milliseconds(2))
        }
        watching.cancel()
        #expect(connected.withLock { $0 })
        // More time passes where the client is late to hear of the network.
        let minutes = (bench.time.uptime() - began) / .seconds(60)
        #expect(Double(bench.dialer.count) <= 32 * max(1, minutes))
        accepting.cancel()
        try await bench.finish()
    }

    @Test("a run that is cancelled while the app hangs, or waits for the network, ends at once")
    func cancelled() async throws {
        let backend = TokenBackendInMemory()
        backend.hang()
        let bench = try await Self.bench(backend)
        bench.start()
        try await eventually("it is asked") { backend.requests.count == 1 }
        try await bench.finish()
        backend.release()

        let network = Network()
        let other = try await Self.bench(TokenBackendInMemory(), network: network)
        network.set(false)
        other.start()
        try await Self.state(other, "offline") { $0 == .offline }
        try await other.finish()
    }

    @Test("no description of a token's state or error contains the token")
    func secrets() throws {
        let token = try TokenBackendInMemory.token(1)
        let hello = ClientFrame.Hello(device: try EntryID("d"), client: "c", token: token)
        for text in [
            "\(token)", "\(hello)", String(reflecting: hello),
            "\(TokenMachine.Action.authenticate(token))", "\(ClientFrame.authenticate(token))",
        ] {
            #expect(!text.contains("c2VjcmV0"), "\(text)")
        }
    }
}
