import Foundation
import Reprise
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// How a client ends: closed by its app, or taken over by another process.
@Suite("The end of a client", .timeLimit(.minutes(1)))
struct EndingTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(
        _ dialer: any SocketDialer, takeOver: Bool = false
    ) async throws -> AccountClient {
        var configuration = AccountClient.Configuration()
        configuration.journal.takeOver = takeOver
        configuration.journal.closeGrace = .milliseconds(50)
        configuration.channels.reconnect = Backoff(
            base: .milliseconds(1), longest: .milliseconds(5))
        return try await AccountClient.open(
            at: folder.appending("account"), server: "http://memory", dialer: dialer,
            configuration: configuration)
    }

    /// Every state of the connection from now on.
    private final class States: Sendable {
        private let seen = Mutex<[ConnectionState]>([])
        private let task: Task<Void, Never>

        init(_ reprise: AccountClient) {
            let states = reprise.channels.connectionStates
            let (stream, heard) = AsyncStream.makeStream(of: ConnectionState.self)
            task = Task { for await state in states { heard.yield(state) } }
            self.stream = stream
        }

        private let stream: AsyncStream<ConnectionState>
        var all: [ConnectionState] { seen.withLock { $0 } }

        /// Takes in what was said, until it is one that ends the list.
        func take(until isLast: (ConnectionState) -> Bool) async -> [ConnectionState] {
            for await state in stream {
                seen.withLock { $0.append(state) }
                if isLast(state) { break }
            }
            task.cancel()
            return all
        }
    }

    /// A server that never answers a dial.
    private struct DeafDialer: SocketDialer {
        func dial(url: String, protocol: String, maximumFrameBytes: Int) async throws -> any Socket
        {
            try await Task.sleep(for: .seconds(3_600))
            throw RepriseError(.unreachable, "never")
        }
    }

    @Test(
        "Closing ends the run and tells of no failure, whatever the connection is at",
        arguments: ["dialling", "greeting", "connected"])
    func closing(at moment: String) async throws {
        let dialer: any SocketDialer =
            switch moment {
            case "dialling": DeafDialer()
            case "greeting": MemoryDialer()
            default: MemoryServer()
            }
        let reprise = try await open(dialer)
        let states = States(reprise)
        let running = Task { try await reprise.run() }
        var now = reprise.channels.connectionStates.makeAsyncIterator()
        let wanted: ConnectionState = moment == "connected" ? .connected : .connecting
        while let state = await now.next(), state != wanted {}
        if let dialer = dialer as? MemoryDialer { _ = try await dialer.accept() }
        await reprise.close()
        let result = await running.result
        expectError(.closed) { try result.get() }
        var isFirst = true
        let all = await states.take { state in
            defer { isFirst = false }
            return state == .idle && !isFirst
        }
        #expect(
            all == [.idle, .connecting] + (moment == "connected" ? [.connected] : []) + [.idle])
        // It does not begin again.
        await expectError(.closed) { try await reprise.run() }
    }

    @Test(
        "Closing from a handler of a reader does not wait for that handler", .limit("channels.stop")
    )
    func closingInHandler() async throws {
        let server = MemoryServer()
        try server.publish("1", to: "general")
        let reprise = try await open(server)
        let (closed, tell) = AsyncStream.makeStream(of: Duration.self)
        try await reprise.channel("general").read("inbox") { _ in
            let start = ContinuousClock.now
            await reprise.close()
            tell.yield(ContinuousClock.now - start)
        }
        await expectError(.closed) { try await reprise.run() }
        var took = closed.makeAsyncIterator()
        let time = try #require(await took.next())
        #expect(time < .seconds(15), "\(time)")
    }

    @Test(
        "Closing a client over accounts from a handler of a reader does not wait for it either",
        .limit("channels.stop"))
    func closingAccountsInHandler() async throws {
        let server = MemoryServer()
        try server.publish("1", to: "general")
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.appending("home")
        configuration.dialer = server
        configuration.connectsAnonymously = true
        let client = RepriseClient(configuration)
        let (closed, tell) = AsyncStream.makeStream(of: Duration.self)
        try await client.channel("general", of: Int.self).consume(as: "inbox") { _ in
            let start = ContinuousClock.now
            await client.close()
            tell.yield(ContinuousClock.now - start)
        }
        let running = Task { try await client.run() }
        var took = closed.makeAsyncIterator()
        let time = try #require(await took.next())
        #expect(time < .seconds(15), "\(time)")
        _ = await running.result
    }

    @Test("A run that is cancelled tells of no failure either")
    func cancelled() async throws {
        let reprise = try await open(MemoryServer())
        let states = States(reprise)
        let running = Task { try await reprise.run() }
        var now = reprise.channels.connectionStates.makeAsyncIterator()
        while let state = await now.next(), state != .connected {}
        running.cancel()
        try await running.value
        var isFirst = true
        let all = await states.take { state in
            defer { isFirst = false }
            return state == .idle && !isFirst
        }
        #expect(all == [.idle, .connecting, .connected, .idle])
        await reprise.close()
    }

    @Test(
        "A client whose journal is taken over stops by itself, though it has nothing to write, and reports it",
        .limit("journal.ownership"))
    func takenOver() async throws {
        let server = MemoryServer()
        let former = try await open(server)
        let running = Task { try await former.run() }
        var now = former.channels.connectionStates.makeAsyncIterator()
        while let state = await now.next(), state != .connected {}
        let owner = try await open(server, takeOver: true)
        let limit = Task {
            try await Task.sleep(for: .seconds(60))
            running.cancel()
        }
        let result = await running.result
        limit.cancel()
        expectError(.ownershipLost) { try result.get() }
        while let state = await now.next() {
            guard case .stopped(let why) = state else { continue }
            #expect(why.error?.code == .ownershipLost)
            break
        }
        await former.close()
        await owner.close()
    }

    @Test(
        "A client whose journal is taken over while it has no connection dials no more",
        .limit("journal.ownership"))
    func takenOverBeforeDial() async throws {
        let dialer = MemoryDialer()
        let former = try await open(dialer)
        let owner = try await open(MemoryServer(), takeOver: true)
        await expectError(.ownershipLost) { try await former.run() }
        #expect(dialer.count == 0)
        await former.close()
        await owner.close()
    }

    @Test("A client that the server refuses for good says so still when its run has ended")
    func refused() async throws {
        let server = MemoryServer(tokens: [:])
        let reprise = try await open(server)
        await expectError(.refused) { try await reprise.run() }
        var now = reprise.channels.connectionStates.makeAsyncIterator()
        guard case .stopped(let why)? = await now.next() else {
            Issue.record("it does not say so")
            return
        }
        #expect(why.closeCode == .unauthorized)
        await reprise.close()
    }
}
