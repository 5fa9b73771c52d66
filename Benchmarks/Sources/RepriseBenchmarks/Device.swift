import Foundation
import Reprise
import RepriseNIO
import Synchronization

/// A whole device: socket, machines, journal on disk.
///
/// A message counts when it and the coverage that counts it are durable, and
/// a reader whose effect shares the journal's transaction has had it.
enum Device {
    /// - Returns: messages per second, from the start of the client until it is caught up and its
    ///   reader has had all.
    static func catchUp(
        _ count: Int, channel name: String, server: ServerProcess.Address
    ) async throws -> Double {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("reprise-bench-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let reprise = try await AccountClient.open(
            at: folder, server: "http://\(server.host):\(server.port)", dialer: NIODialer())
        let channel = try reprise.channel(name)
        let handled = Mutex(0)
        try await channel.read(
            "count",
            inTransaction: { _, messages in handled.withLock { $0 += messages.count } })
        let clock = ContinuousClock()
        let start = clock.now
        let run = Task { try await reprise.run() }
        try await channel.caughtUp()
        let seconds = (clock.now - start).inSeconds
        run.cancel()
        _ = try? await run.value
        let ledger = try await reprise.ledger()
        await reprise.close()
        let effects = handled.withLock { $0 }
        guard ledger.isBalanced, ledger.accepted == Int64(count), effects == count else {
            throw BenchmarkError(
                "the device accepted \(ledger.accepted) and handled \(effects) of \(count)")
        }
        return Double(count) / seconds
    }
}
