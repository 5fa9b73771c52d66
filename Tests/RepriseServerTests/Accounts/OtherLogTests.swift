import Foundation
import Logging
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import ServiceLifecycle
import Testing

/// Accounts whose log was replaced by another one.
@Suite("Accounts beside another log", .timeLimit(.minutes(1)))
struct OtherLogTests {
    /// Starts a server, and stops it once it is ready.
    private func start(_ folder: TemporaryFolder, isRestored: Bool = false) async throws {
        var configuration = ServerConfiguration(port: 0, data: folder.path)
        configuration.isRestored = isRestored
        let (ready, isReady) = AsyncStream<Void>.makeStream()
        let server = Server(
            configuration: configuration, logger: RunningServer.logger,
            onReady: { _ in isReady.yield() })
        let group = ServiceGroup(services: [server], logger: RunningServer.logger)
        async let running: Void = {
            defer { isReady.finish() }
            try await group.run()
        }()
        for await _ in ready { await group.triggerGracefulShutdown() }
        try await running
    }

    @Test(
        "a server refuses to start with the accounts of another log, and accepts them with --restored"
    )
    func refuses() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        try await start(folder)
        try await start(folder)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
        where name.hasPrefix("messages.sqlite") {
            try FileManager.default.removeItem(atPath: folder.path + "/" + name)
        }
        let error = await #expect(throws: RepriseError.self) { try await start(folder) }
        #expect(error?.code == .badConfiguration)
        #expect(error?.remedy?.contains("--restored") == true)
        // Nothing was changed by that.
        await #expect(throws: RepriseError.self) { try await start(folder) }
        try await start(folder, isRestored: true)
        try await start(folder)
    }

    @Test("a restored backup starts with its log")
    func restored() async throws {
        let (folder, backup, place) = (
            try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder()
        )
        defer { for folder in [folder, backup, place] { folder.remove() } }
        try await start(folder)
        try Backup.make(of: folder.path, to: backup.path)
        try Backup.restore(from: backup.path, to: place.path)
        try await start(place)
    }
}
