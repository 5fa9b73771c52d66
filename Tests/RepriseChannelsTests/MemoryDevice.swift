import Foundation
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// A device with a real journal and the system's clock, connected to a server in memory.
final class MemoryDevice: Sendable {
    let server: MemoryServer
    let folder: TemporaryFolder
    let journal: Journal
    let channels: Channels
    let general: Channel
    private let running = Mutex<Task<Void, any Error>?>(nil)

    /// `former` is a device on the same folder that is killed by this one's beginning.
    init(
        _ server: MemoryServer, killing former: MemoryDevice? = nil,
        configure: (inout Channels.Configuration) -> Void = { _ in }
    ) async throws {
        self.server = server
        folder = try former?.folder ?? TemporaryFolder()
        var journalConfiguration = Journal.Configuration()
        journalConfiguration.takeOver = former != nil
        journal = try await Journal.open(
            at: folder.appending("journal"), kinds: Channels.kinds,
            schemas: [Channels.schema(keeping: Bench.forEver), Bench.sink],
            configuration: journalConfiguration)
        var configuration = Channels.Configuration()
        configuration.reconnect = Backoff(base: .milliseconds(5), longest: .milliseconds(50))
        configuration.askAgain = Backoff(base: .milliseconds(5), longest: .milliseconds(50))
        configuration.snapshotAgain = Backoff(base: .milliseconds(5), longest: .milliseconds(50))
        configure(&configuration)
        channels = Channels(
            journal: journal, server: "http://memory", dialer: server,
            configuration: configuration)
        general = try channels.channel("general")
        former?.stop()
    }

    /// The seed's 30 s and 60 s, only faster.
    static func impatient(_ configuration: inout Channels.Configuration) {
        configuration.inactivity = .milliseconds(200)
        configuration.noProgress = .milliseconds(600)
    }

    deinit { stop() }

    func start() { running.withLock { $0 = Task { [channels] in try await channels.run() } } }

    func stop() { running.withLock { $0 }?.cancel() }

    func finish() async throws {
        stop()
        if let run = running.withLock({ $0 }) { try await result(of: run).get() }
        // It waits for handlers: for ever, if one waits for an answer that was forgotten.
        let closing = Task<Void, any Error> { [journal] in await journal.close() }
        try await result(of: closing, "close()").get()
    }

    /// Reads `general`, runs, and waits until it has everything.
    func caughtUp() async throws -> [Int64] {
        let observer = Observer()
        try await general.read("inbox") { observer.see($0) }
        start()
        try await within(.seconds(20)) { [general] in try await general.caughtUp() }
        return observer.sequences
    }
}

/// Does something, and fails if it takes longer.
func within(_ time: Duration, _ work: @escaping @Sendable () async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await work() }
        group.addTask {
            try await Task.sleep(for: time)
            throw RepriseError(.timedOut, "It takes longer than \(time).")
        }
        try await group.next()
        group.cancelAll()
    }
}
