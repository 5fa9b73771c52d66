import Foundation
import GRDB
import Reprise
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// Says what it did, with its key.
private struct Noting: Worker {
    static let identifier = "noting"
    let seen: Seen<String>

    func run(_ input: String, _ work: WorkContext) async throws -> String {
        seen.add("\(work.key) \(input)")
        return input
    }
}

/// Its work does not end by itself, and its cleaning up not before the gate opens.
private struct Stuck: Worker {
    static let identifier = "stuck"
    let seen: Seen<String>
    let gate: AsyncStream<Void>

    func run(_ input: String, _ work: WorkContext) async throws -> String {
        seen.add("run")
        let (stream, end) = AsyncStream.makeStream(of: Void.self)
        defer { end.finish() }
        for await _ in stream {}
        throw CancellationError()
    }

    func onAbandon(_ input: String, key: String) async {
        seen.add("abandoned \(input)")
        await Task { [gate] in for await _ in gate {} }.value
    }
}

@Suite("Chains and accounts", .timeLimit(.minutes(1)))
struct AccountChainsTests {
    private static let ada = UserID(unchecked: "ada")

    private static let upload = Chain<String>("upload") { name in
        let prepare = Work("prepare", Noting.self) { _ in "prepare \(name)" }
        prepare
        WaitFor(for: .session)
        Work("send", Noting.self) { done in "send, after \(try done[prepare])" }
    }

    @Test(
        "a chain that was started before sign-in goes on in the account that signs in, where it was, with its keys; signing out ends it"
    )
    func adoption() async throws {
        let folder = try TemporaryFolder()
        let seen = Seen<String>()
        var configuration = AccountClient.Configuration()
        configuration.chains = Chains.Configuration()
        configuration.chains?.chains = [Self.upload]
        configuration.chains?.workers = [Noting(seen: seen)]
        let home = try await DeviceAccounts.open(
            at: folder.appending("home"), server: "http://127.0.0.1:1", dialer: MemoryDialer(),
            configuration: configuration, tokens: { _ in try AccessToken("YWRh.Yg.1") })
        let before = try #require(try await home.current.chains)
        let id = try await before.start(Self.upload, input: "1.jpg", name: "1.jpg")
        let other = try await before.start(Self.upload, input: "2.jpg")
        var running = Task { try await before.run() }
        try await eventually("both wait for the session") {
            var holds: [String?] = []
            for id in [id, other] { holds.append(try await before.status(id)?.tasks[1].hold) }
            return holds == ["readiness:session", "readiness:session"]
        }
        running.cancel()
        _ = await running.result

        let reprise = try await home.signIn(as: Self.ada)
        let after = try #require(reprise.chains)
        #expect(try await after.list().count == 2)
        running = Task { try await after.run() }
        try await eventually("it waits there, too") {
            try await after.status(id)?.tasks[1].hold == "readiness:session"
        }
        #expect(try await after.status(id)?.name == "1.jpg")
        await reprise.setReady(.session)
        try await eventually("both are done") {
            var states: [ChainState?] = []
            for id in [id, other] { states.append(try await after.status(id)?.state) }
            return states == [.succeeded, .succeeded]
        }
        running.cancel()
        _ = await running.result
        let expected = [(id, "1.jpg"), (other, "2.jpg")].flatMap { id, name in
            [
                "\(id)/prepare prepare \(name)", "\(id)/send send, after prepare \(name)",
            ]
        }
        #expect(Set(seen.all) == Set(expected) && seen.all.count == 4)
        #expect(try await reprise.ledger().isBalanced)
        try await home.signOut()
        let empty = try #require(try await home.current.chains)
        #expect(try await empty.list().isEmpty)
        await home.close()
    }

    @Test("a chain whose number of attempts is damaged ends in the account that signs in")
    func damagedAttempts() async throws {
        let (gate, letGo) = AsyncStream.makeStream(of: Void.self)
        let seen = Seen<String>()
        let chain = Chain<String>("stuck") { text in Work("stuck", Stuck.self) { _ in text } }
        var configuration = AccountClient.Configuration()
        configuration.chains = Chains.Configuration(
            workers: [Stuck(seen: seen, gate: gate)], chains: [chain])
        let folder = try TemporaryFolder()
        let home = try await Self.open(folder, configuration)
        let anonymous = try await home.current
        let before = try #require(anonymous.chains)
        let id = try await before.start(chain, input: "it")
        var running = Task { try await before.run() }
        try await eventually("it runs") { seen.all == ["run"] }
        running.cancel()
        _ = await running.result
        try await anonymous.journal.write { db in
            try db.execute(sql: "UPDATE chainTask SET attempts = 9223372036854775807")
            try db.execute(sql: "UPDATE entry SET attempt = 1 WHERE kind = 'chains'")
        }
        let after = try #require(try await home.signIn(as: Self.ada).chains)
        running = Task { try await after.run() }
        try await eventually("it is quarantined") {
            try await after.status(id)?.state == .quarantined
        }
        running.cancel()
        _ = await running.result
        letGo.finish()
        await home.close()
    }

    @Test(
        "a schedule that was made before sign-in goes on in the account; signing out ends it"
    )
    func schedules() async throws {
        let folder = try TemporaryFolder()
        let seen = Seen<String>()
        let clock = ManualClock()
        var configuration = AccountClient.Configuration()
        configuration.chains = Chains.Configuration()
        configuration.chains?.chains = [Self.noting]
        configuration.chains?.workers = [Noting(seen: seen)]
        configuration.set(clock)
        let home = try await DeviceAccounts.open(
            at: folder.appending("home"), server: "http://127.0.0.1:1", dialer: MemoryDialer(),
            configuration: configuration, tokens: { _ in try AccessToken("YWRh.Yg.1") })
        let before = try #require(try await home.current.chains)
        let hourly = ChainSchedule.every(.seconds(3_600))
        try await before.schedule(Self.noting, input: "before", name: "note", runs: hourly)
        let next = try #require(try await before.schedules().first?.next)

        let reprise = try await home.signIn(as: Self.ada)
        let after = try #require(reprise.chains)
        let adopted = try await after.schedules()
        #expect(adopted.map { $0.next } == [next])
        let change = try await after.schedule(
            Self.noting, input: "before", name: "note", runs: hourly)
        #expect(change == .kept)
        let running = Task { try await after.run() }
        clock.advance(by: .seconds(3_570))
        try await clock.advance(by: .seconds(20)) { seen.count > 0 }
        let runs = try await after.list()
        #expect(runs.map { $0.name } == ["note"])
        running.cancel()
        _ = await running.result
        try await home.signOut()
        let empty = try #require(try await home.current.chains)
        #expect(try await empty.schedules().isEmpty)
        await home.close()
    }

    private static let sending = Chain<String>("sending") { name in
        Work("send", TransferWorker.self) { _ in
            TransferWorker.Input(
                .upload(SandboxPath("home", name)), url: "http://127.0.0.1/photos")
        }
    }

    @Test(
        "a sign-out cancels the upload that the system goes on with; one that was killed does it at the next opening",
        arguments: [false, true])
    func transfers(isKilled: Bool) async throws {
        let folder = try TemporaryFolder()
        try Data("photo".utf8).write(to: folder.appending("photo"))
        let system = try MemoryTransfers()
        let standard = StandardWorkers(
            sandbox: Sandbox(["home": folder.url]), guard: AddressGuard(allowed: ["127.0.0.1:80"]),
            transfers: system)
        var configuration = AccountClient.Configuration()
        configuration.chains = Chains.Configuration(
            workers: standard.all, chains: [Self.sending])
        var home = try await Self.open(folder, configuration)
        let chains = try #require(try await home.signIn(as: Self.ada).chains)
        try await chains.start(Self.sending, input: "photo")
        let running = Task { try await chains.run() }
        try await eventually("the system has it") { system.requests.count == 1 }
        running.cancel()
        _ = await running.result
        #expect(try await system.transfers().map(\.state) == [.running])
        if isKilled {
            await home.close()
            try Data(#"{"version":1,"leaving":"ada"}"#.utf8)
                .write(to: folder.appending("home/account.json"))
            home = try await Self.open(folder, configuration)
        } else {
            try await home.signOut()
        }
        #expect(await home.user == nil)
        #expect(try await system.transfers().isEmpty)
        await home.close()
    }

    private static let returning = Chain<String>("returning") { name in
        Work("note", Noting.self) { _ in name }
            .compensation(with: TransferWorker.self) { _ in
                .init(.upload(SandboxPath("home", name)), url: "http://127.0.0.1/returned")
            }
        WaitFor(for: Readiness("never"))
    }

    @Test("a sign-out cancels the upload of a compensation, too")
    func compensation() async throws {
        let folder = try TemporaryFolder()
        try Data("photo".utf8).write(to: folder.appending("photo"))
        let system = try MemoryTransfers()
        let standard = StandardWorkers(
            sandbox: Sandbox(["home": folder.url]), guard: AddressGuard(allowed: ["127.0.0.1:80"]),
            transfers: system)
        var configuration = AccountClient.Configuration()
        configuration.chains = Chains.Configuration(
            workers: standard.all + [Noting(seen: Seen<String>())], chains: [Self.returning])
        let home = try await Self.open(folder, configuration)
        let chains = try #require(try await home.signIn(as: Self.ada).chains)
        let id = try await chains.start(Self.returning, input: "photo")
        let running = Task { try await chains.run() }
        try await eventually("it waits") { try await chains.status(id)?.tasks[1].hold != nil }
        try await chains.cancel(id)
        try await eventually("the system has it") { system.requests.count == 1 }
        running.cancel()
        _ = await running.result
        #expect(try await system.transfers().map(\.state) == [.running])
        try await home.signOut()
        #expect(try await system.transfers().isEmpty)
        await home.close()
    }

    @Test(
        "a worker that does not end cleaning up keeps a sign-out for 10 s", .limit("chains.leave"))
    func stuck() async throws {
        let (gate, letGo) = AsyncStream.makeStream(of: Void.self)
        let (seen, clock) = (Seen<String>(), ManualClock())
        let chain = Chain<String>("stuck") { text in Work("stuck", Stuck.self) { _ in text } }
        var configuration = AccountClient.Configuration()
        configuration.chains = Chains.Configuration(
            workers: [Stuck(seen: seen, gate: gate)], chains: [chain])
        configuration.chains?.timekeeper = clock
        let home = try await Self.open(try TemporaryFolder(), configuration)
        let chains = try #require(try await home.signIn(as: Self.ada).chains)
        try await chains.start(chain, input: "it")
        let running = Task { try await chains.run() }
        try await eventually("it runs") { seen.all == ["run"] }
        running.cancel()
        _ = await running.result
        let leaving = Task { try await home.signOut() }
        let due = clock.uptime() + .seconds(10)
        try await eventually("it cleans up") {
            seen.all == ["run", "abandoned it"] && clock.sleepers.contains(due)
        }
        clock.advance(by: .seconds(10))
        _ = try await leaving.value
        #expect(await home.user == nil)
        letGo.finish()
        await home.close()
    }

    @Test("a slot whose time is over before the account is open is given back, and requested again")
    func slotBeforeOpening() async throws {
        let folder = try TemporaryFolder()
        let (gate, letGo) = AsyncStream.makeStream(of: Void.self)
        let seen = Seen<String>()
        let chain = Chain<String>("stuck") { text in Work("stuck", Stuck.self) { _ in text } }
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.appending("home")
        configuration.dialer = MemoryServer()
        configuration.clock = ManualClock()
        configuration.tokens = { request in try AccessToken("\(request.user.text).Yg.1") }
        configuration.chains = Chains.Configuration(
            workers: [Stuck(seen: seen, gate: gate)], chains: [chain])
        let first = RepriseClient(configuration)
        try await first.signIn("ada", tokens: nil)
        try await first.chains.start(chain, input: "it")
        let running = Task { try await first.run() }
        try await eventually("it runs") { seen.all == ["run"] }
        running.cancel()
        _ = await running.result
        await first.close()
        // As if the process had been killed during a sign-out, which the opening finishes.
        try Data(#"{"version":1,"leaving":"ada"}"#.utf8)
            .write(to: folder.appending("home/account.json"))
        let scheduler = MemoryScheduler()
        configuration.scheduler = scheduler
        let client = RepriseClient(configuration)
        let slot = MemorySlot("reprise.chains")
        let use = Task { await client.use(slot) }
        try await eventually("the account is being opened") { seen.all.last == "abandoned it" }
        slot.expire()
        try await becomes("it is given back", [false]) { slot.completed }
        #expect(scheduler.asked.map(\.id) == ["reprise.chains"])
        await use.value
        letGo.finish()
        await client.close()
    }

    private static func open(
        _ folder: TemporaryFolder, _ configuration: AccountClient.Configuration
    ) async throws -> DeviceAccounts {
        try await DeviceAccounts.open(
            at: folder.appending("home"), server: "http://127.0.0.1:1", dialer: MemoryDialer(),
            configuration: configuration, tokens: { _ in try AccessToken("YWRh.Yg.1") })
    }

    private static let noting = Chain<String>("noting") { text in
        Work("note", Noting.self) { _ in text }
    }
}
