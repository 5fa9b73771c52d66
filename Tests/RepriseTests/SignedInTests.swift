import Foundation
import Reprise
import RepriseTestSupport
import RepriseTesting
import Testing

/// Accounts against a server that asks for tokens, as a real one does.
@Suite("Accounts and a server that asks for tokens", .timeLimit(.minutes(1)))
struct SignedInTests {
    private static let ada = UserID(unchecked: "ada")
    private static let bob = UserID(unchecked: "bob")

    private static func token(_ user: UserID) throws -> AccessToken {
        try AccessToken("\(user.text).Yg.1")
    }

    private static func server() throws -> MemoryServer {
        MemoryServer(tokens: [try token(ada): ada, try token(bob): bob])
    }

    private static func open(_ folder: TemporaryFolder, _ server: MemoryServer) async throws
        -> DeviceAccounts
    {
        var configuration = AccountClient.Configuration()
        configuration.channels.reconnect = Backoff(
            base: .milliseconds(1), longest: .milliseconds(5))
        return try await DeviceAccounts.open(
            at: folder.appending("home"), server: "http://memory", dialer: server,
            configuration: configuration, tokens: { request in try token(request.user) },
            prepare: { reprise in try await reprise.channel("general").subscribe() })
    }

    private static func isLive(_ home: DeviceAccounts) async throws -> Bool {
        try await home.current.channel("general").state == .live
    }

    /// Time in which a client of nobody would be refused, if it dialled.
    private static func settle(_ server: MemoryServer) async throws {
        for _ in 0..<30 where server.refused == 0 {
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    @Test("While nobody is signed in nothing is dialled; one run goes on at every sign-in")
    func oneRun() async throws {
        let folder = try TemporaryFolder()
        let server = try Self.server()
        let home = try await Self.open(folder, server)
        let running = Task { try await home.run() }
        try await Self.settle(server)
        #expect(server.dialled == 0)
        #expect(try await Self.state(of: home) == .idle)
        for user in [Self.ada, Self.bob, Self.ada] {
            try await home.signIn(as: user)
            try await eventually("\(user) is live") { try await Self.isLive(home) }
        }
        #expect(server.greeted == [Self.ada, Self.bob, Self.ada] && server.refused == 0)
        running.cancel()
        try await running.value
        await home.close()
    }

    private static func state(of home: DeviceAccounts) async throws -> ConnectionState? {
        for await state in try await home.current.channels.connectionStates { return state }
        return nil
    }

    @Test("Signed out and in again, ten times: each goes on, in the same run")
    func signedOut() async throws {
        let folder = try TemporaryFolder()
        let server = try Self.server()
        let home = try await Self.open(folder, server)
        let running = Task { try await home.run() }
        for round in 0..<10 {
            try await home.signIn(as: Self.ada)
            try await eventually("round \(round) is live") { try await Self.isLive(home) }
            try await home.signOut()
            // At another moment after the change each time.
            try await Task.sleep(for: .milliseconds(round * 3))
        }
        #expect(server.greeted.count == 10 && server.refused == 0)
        running.cancel()
        try await running.value
        await home.close()
    }

    @Test(
        "An account that the server refuses for good stops, says so, and the run goes on with the next"
    )
    func refused() async throws {
        let folder = try TemporaryFolder()
        let server = try Self.server()
        let home = try await Self.open(folder, server)
        let running = Task { try await home.run() }
        let ada = try await home.signIn(as: Self.ada)
        try await eventually("it is live") { try await Self.isLive(home) }
        server.end(code: CloseCode.unsupportedVersion.number)
        try await eventually("it has stopped") {
            if case .stopped = try await Self.state(of: home) { true } else { false }
        }
        // The same again, as after an update of the server; then somebody else.
        #expect(try await home.signIn(as: Self.ada) === ada)
        try await eventually("it goes on") { try await Self.isLive(home) }
        server.end(code: CloseCode.unsupportedVersion.number)
        try await eventually("it has stopped again") {
            if case .stopped = try await Self.state(of: home) { true } else { false }
        }
        try await home.signIn(as: Self.bob)
        try await eventually("the other is live") { try await Self.isLive(home) }
        #expect(server.greeted == [Self.ada, Self.ada, Self.bob])
        running.cancel()
        try await running.value
        await home.close()
    }

    @Test("A sign-in at the moment of a refusal goes on, thirty times")
    func refusedMeanwhile() async throws {
        let folder = try TemporaryFolder()
        let server = try Self.server()
        let home = try await Self.open(folder, server)
        let running = Task { try await home.run() }
        try await home.signIn(as: Self.ada)
        let states = try await home.current.channels.connectionStates
        for round in 0..<30 {
            try await eventually("round \(round) is live") { try await Self.isLive(home) }
            server.end(code: CloseCode.unsupportedVersion.number)
            for await state in states { if case .stopped = state { break } }
            // At another moment after it each time.
            for _ in 0..<round { await Task.yield() }
            try await home.signIn(as: Self.ada)
        }
        try await eventually("it goes on") { try await Self.isLive(home) }
        running.cancel()
        try await running.value
        await home.close()
    }

    @Test(
        "A token that the server does not know stops the client; a fresh one after a sign-in goes on"
    )
    func unknownToken() async throws {
        let folder = try TemporaryFolder()
        let server = MemoryServer(tokens: [:])
        let home = try await Self.open(folder, server)
        let running = Task { try await home.run() }
        try await home.signIn(as: Self.ada)
        try await eventually("it has stopped") {
            guard case .stopped(let why) = try await Self.state(of: home) else { return false }
            return why.error?.code == .unauthorized
        }
        #expect(server.refused == 2 && server.greeted.isEmpty)
        server.tokens = [try Self.token(Self.ada): Self.ada]
        try await home.signIn(as: Self.ada)
        try await eventually("it is live") { try await Self.isLive(home) }
        running.cancel()
        try await running.value
        await home.close()
    }
}
