import Foundation
import Reprise
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// What the system does with the app, said so quickly that nothing of it has ended when the next
/// comes.
@Suite("The app's life", .timeLimit(.minutes(2)))
struct AppLifeTests {
    @Test(
        "The last of many quick changes holds in every feature, and after a last foreground chains run"
    )
    @MainActor
    func quick() async throws {
        let folder = try TemporaryFolder()
        let reprise = try await AccountClient.open(
            at: folder.appending("account"), server: "http://127.0.0.1:1", dialer: MemoryDialer(),
            configuration: Self.allFeatures)
        let running = try await Self.run(reprise)
        for round in 0..<12 {
            let endsInFront = !round.isMultiple(of: 2)
            // Tasks of one actor begin in the order in which they were made.
            let calls = (0..<(8 + round % 3)).reversed().map { after in
                let isFront = after.isMultiple(of: 2) == endsInFront
                return Task { @MainActor in
                    if isFront {
                        await reprise.foreground()
                    } else {
                        await reprise.background(granted: .milliseconds(after))
                    }
                }
            }
            for call in calls { await call.value }
            try await Self.expect(reprise, isInFront: endsInFront, "round \(round)")
        }
        for task in running { task.cancel() }
        for task in running { try? await task.value }
        await reprise.close()
    }

    @Test(
        "Time in the background is not over before the client has dialled, thirty times",
        arguments: ["opening", "open"])
    func early(journal: String) async throws {
        let folder = try TemporaryFolder()
        for round in 0..<30 {
            let dialer = MemoryDialer()
            var configuration = RepriseConfiguration(server: "http://127.0.0.1:1")
            configuration.folder = folder.appending("home")
            configuration.dialer = dialer
            configuration.connectsAnonymously = true
            let client = RepriseClient(configuration)
            let running = Task { try await client.run() }
            if journal == "open" {
                _ = try await client.journal
            } else {
                for await state in client.states where state != .idle { break }
            }
            let isOver = Mutex(false)
            let background = Task {
                await client.background(granted: .seconds(20))
                isOver.withLock { $0 = true }
            }
            let socket = try await dialer.accept()
            #expect(await socket.sent() != nil)
            #expect(!isOver.withLock { $0 }, "round \(round)")
            await client.foreground()
            await background.value
            running.cancel()
            try await running.value
            await client.close()
        }
    }

    @Test("A work that ends does not close the connection of another that the app was woken for")
    func worksAtOnce() async throws {
        let folder = try TemporaryFolder()
        let reprise = try await AccountClient.open(
            at: folder.appending("account"), server: "http://127.0.0.1:1", dialer: MemoryDialer(),
            configuration: Self.allFeatures)
        await reprise.background(granted: .zero)
        let (begins, ends) = (Signal(), Signal())
        let first = Task {
            await reprise.whileAwake {
                begins.raise()
                await ends.wait()
            }
        }
        await begins.wait()
        await reprise.whileAwake {}
        #expect(await !reprise.channels.isAsleep)
        ends.raise()
        await first.value
        #expect(await reprise.channels.isAsleep)
        await reprise.close()
    }

    @Test("An account that begins while the app comes and goes is told what was said last")
    @MainActor
    func accounts() async throws {
        let folder = try TemporaryFolder()
        let home = try await DeviceAccounts.open(
            at: folder.appending("home"), server: "http://127.0.0.1:1", dialer: MemoryDialer(),
            configuration: Self.allFeatures,
            tokens: { _ in throw RepriseError(.unavailable, "none") })
        for round in 0..<8 {
            let endsInFront = !round.isMultiple(of: 2)
            await home.background(granted: .zero)
            let change = Task { @MainActor in
                try await home.signIn(as: try UserID("user-\(round % 3)"))
            }
            // Somewhere in the change, at another place each time.
            try await Task.sleep(for: .milliseconds(round * 3))
            let call = Task { @MainActor in
                if endsInFront {
                    await home.foreground()
                } else {
                    await home.background(granted: .zero)
                }
            }
            await call.value
            let reprise = try await change.value
            #expect(reprise.notices?.isForeground == endsInFront, "round \(round)")
            let isAwake = await reprise.channels.isAwake
            #expect(isAwake == endsInFront, "round \(round)")
        }
        await home.close()
    }

    private static func expect(
        _ reprise: AccountClient, isInFront: Bool, _ comment: Comment
    ) async throws {
        #expect(reprise.notices?.isForeground == isInFront, comment)
        let isAwake = await reprise.channels.isAwake
        #expect(isAwake == isInFront, comment)
        // These two have what was said in their inboxes, and get to it.
        try await eventually("the forms know it") { await reprise.forms?.isAsleep == !isInFront }
        try await eventually("the reminders know it") {
            await reprise.reminders?.isAsleep == !isInFront
        }
        guard isInFront, let chains = reprise.chains else { return }
        let id = try await chains.start(trivial, input: 1)
        try await eventually("a chain runs") { try await chains.status(id)?.state == .succeeded }
    }

    // MARK: An app of all doors

    private static let trivial = Chain<Int>("trivial") { number in
        Work("one", TrivialWorker.self) { _ in .init(number: number) }
    }

    private static var allFeatures: AccountClient.Configuration {
        var configuration = AccountClient.Configuration()
        configuration.forms = Forms.Configuration()
        configuration.reminders = Reminders.Configuration()
        configuration.chains = Chains.Configuration()
        configuration.chains?.chains = [trivial]
        configuration.chains?.workers = [TrivialWorker()]
        configuration.notices = Notices.Configuration()
        return configuration
    }

    /// Runs every door, and returns when they do.
    private static func run(_ reprise: AccountClient) async throws -> [Task<Void, any Error>] {
        let system = MemoryNotifications(clock: ManualClock())
        let (forms, reminders) = (try #require(reprise.forms), try #require(reprise.reminders))
        let (chains, notices) = (try #require(reprise.chains), try #require(reprise.notices))
        let running = [
            Task { try await reprise.run() },
            Task {
                try await forms.run(
                    webViews: NoWebViews(),
                    catalogue: .init(server: "http://127.0.0.1:1", transport: NoServer()))
            },
            Task { try await reminders.run(store: EmptyStore(), notifications: system.connect()) },
            Task { try await chains.run() },
            Task { try await notices.run(notifications: system.connect()) },
        ]
        // A door that does not run yet is not told; asked in turn until each has taken in a change.
        for isAsleep in [true, false] {
            try await eventually("the features run") {
                if isAsleep {
                    await reprise.background(granted: .zero)
                } else {
                    await reprise.foreground()
                }
                let forms = await forms.isAsleep
                return await reminders.isAsleep == isAsleep && forms == isAsleep
            }
        }
        return running
    }
}

private struct TrivialWorker: Worker {
    struct Input: Codable, Sendable { var number: Int }
    static let identifier = "trivial"

    func run(_ input: Input, _ work: WorkContext) async throws -> Int { input.number }
}

struct NoWebViews: WebViewHost {
    func open(_ page: HostedWebPage) async throws -> any HostedWebView {
        throw RepriseError(.unavailable, "There is no web view.")
    }
}

struct NoServer: HTTPTransport {
    func exchange(
        _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        throw RepriseError(.unreachable, "There is no server.")
    }
}

private struct EmptyStore: ReminderStore {
    var changes: AsyncStream<ReminderChange> { AsyncStream { _ in } }

    func load() async throws {}
    func find(_ route: Route) async throws -> EntityFinding { .unknown }
    func reminded() async throws -> [RemindedEntity] { [] }
    func reminded(_ ids: Set<String>) async throws -> [RemindedEntity] { [] }
    func apply(_ command: ReminderCommand) async throws {}
    func isApplied(_ id: EntryID) async throws -> Bool { false }
}
