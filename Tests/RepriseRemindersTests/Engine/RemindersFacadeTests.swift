import Foundation
import Reprise
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@Suite("Reminders through the facade")
struct RemindersFacadeTests {
    /// There is no network.
    private struct NoDialer: SocketDialer {
        func dial(url: String, protocol: String, maximumFrameBytes: Int) async throws -> any Socket
        {
            throw RepriseError(.unreachable, "No network.")
        }
    }

    @Test("A sign-out removes the user's reminders, and the next user has only his own")
    func accounts() async throws {
        let stage = try RemindersFixture()
        let running = Mutex<[Task<Void, any Error>]>([])
        var configuration = AccountClient.Configuration()
        var reminders = Reminders.Configuration()
        reminders.timekeeper = stage.time
        reminders.zone = { .gmt }
        configuration.reminders = reminders
        let home = try await DeviceAccounts.open(
            at: stage.folder.appending("home"), server: "http://127.0.0.1:1", dialer: NoDialer(),
            configuration: configuration,
            tokens: { _ in throw RepriseError(.unauthorized, "None.") },
            prepare: { reprise in
                guard let feature = reprise.reminders else { return }
                let connection = stage.system.connect()
                let task = Task {
                    try await feature.run(store: stage.store, notifications: connection)
                }
                running.withLock { $0.append(task) }
            })
        stage.store.put("a", [.daily("x", 9, 0, title: "Ada's")], owner: "ada")
        let ada = try await home.signIn(as: UserID("ada"))
        let feature = try #require(ada.reminders)
        while feature.state != .ready { await Task.yield() }
        #expect(stage.system.pending.count == 60)
        // The app empties its store with the account.
        stage.store.change(.everything) { $0.things = [:] }
        stage.system.refuse { _ in RepriseError(.refused, "Nothing may be added any more.") }
        try await home.signOut()
        #expect(stage.system.pending.isEmpty)
        #expect(feature.state == .idle)
        stage.system.refuse { _ in nil }
        stage.store.put("b", [.daily("x", 9, 0, title: "Bob's")], owner: "bob")
        let bob = try await home.signIn(as: UserID("bob"))
        while bob.reminders?.state != .ready { await Task.yield() }
        #expect(stage.system.pending.count == 60)
        #expect(stage.system.pending.allSatisfy { $0.content.title == "Bob's" })
        await home.close()
        for task in running.withLock({ $0 }) { try await task.value }
        // Closing is not leaving: what should ring rings on.
        #expect(stage.system.pending.count == 60)
    }

    @Test("A sign-out while nothing runs removes the user's reminders, too")
    func signOutWithoutRun() async throws {
        let stage = try RemindersFixture()
        var configuration = AccountClient.Configuration()
        var reminders = Reminders.Configuration()
        reminders.timekeeper = stage.time
        reminders.zone = { .gmt }
        configuration.reminders = reminders
        let connection = stage.system.connect()
        configuration.notifications = connection
        let home = try await DeviceAccounts.open(
            at: stage.folder.appending("home"), server: "http://127.0.0.1:1", dialer: NoDialer(),
            configuration: configuration,
            tokens: { _ in throw RepriseError(.unauthorized, "None.") })
        stage.store.put("a", [.daily("x", 9, 0)], owner: "ada")
        let ada = try await home.signIn(as: UserID("ada"))
        let feature = try #require(ada.reminders)
        let running = Task {
            try await feature.run(store: stage.store, notifications: connection)
        }
        while feature.state != .ready { await Task.yield() }
        #expect(stage.system.pending.count == 60)
        running.cancel()
        try await running.value
        try await home.signOut()
        #expect(stage.system.pending.isEmpty)
        await home.close()
    }

    @Test("Reminders that have ended are released, with their journal")
    func released() async throws {
        let fixture = try RemindersFixture()
        fixture.store.put("a", [.daily("x", 9, 0)])
        weak var reminders: Reminders?
        weak var journal: Journal?
        do {
            let process = try await fixture.open()
            (reminders, journal) = (process.reminders, process.journal)
            try await process.quiet()
            await process.close()
        }
        try await eventually("nobody has them any more") {
            reminders == nil && journal == nil
        }
    }

    @Test(
        "A configuration that makes no sense is refused before anything is opened",
        arguments: ["sort", "refresh", "life", "patience"])
    func configuration(what: String) async throws {
        let folder = try TemporaryFolder()
        var configuration = AccountClient.Configuration()
        var reminders = Reminders.Configuration()
        switch what {
        case "sort": reminders.sort = ""
        case "refresh": reminders.refreshTask = ""
        case "life": reminders.timeToLive = .zero
        default: reminders.storeTimeout = .zero
        }
        configuration.reminders = reminders
        await expectError(.badConfiguration) {
            _ = try await AccountClient.open(
                at: folder.appending("journal"), server: "http://127.0.0.1:1",
                dialer: NoDialer(), configuration: configuration)
        }
    }
}
