import Foundation
import Logging
import RepriseCluster
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// Two gateways over the journal of a real nats-server: what one stores the other must have too.
final class NatsStore: GatewaysUnderTest {
    let folder: TemporaryFolder
    let server: NatsServer
    private let clock: ManualClock
    private let configuration: ClusterView.Configuration
    private let stamps = Stamps()
    private let open = Mutex<[(gateway: ClusterStore.Gateway, journal: NatsJournal)]>([])

    init(
        clock: ManualClock, _ configuration: ClusterView.Configuration = ClusterStore.configuration
    ) async throws {
        self.clock = clock
        self.configuration = configuration
        folder = try TemporaryFolder()
        server = try await NatsServer.start(in: folder.url.appending(path: "nats"))
    }

    var gateways: [ClusterStore.Gateway] { open.withLock { $0.map(\.gateway) } }

    var log: any MessageLog { gateways[0].log }

    func reopen() async throws {
        await close()
        for index in 0..<2 {
            let journal = try await Self.journal(server.url)
            let gateway = try ClusterStore.Gateway(
                at: folder.path + "/\(index)",
                journal: RestampedJournal(journal: journal, stamps: stamps, clock: clock),
                clock: clock, configuration)
            open.withLock { $0.append((gateway, journal)) }
        }
    }

    static func journal(
        _ url: String, rules: Int64 = ClusterRules.newest
    ) async throws -> NatsJournal {
        var settings = NatsJournal.Settings()
        settings.rules = rules
        settings.implicitChannels = true
        settings.maxBytes = 256 << 20
        return try await NatsJournal.open(
            NatsConfiguration(url), cluster: ClusterName("tests"), settings,
            logger: Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() })
    }

    func close() async {
        let open = open.withLock { open in
            defer { open = [] }
            return open
        }
        for (gateway, journal) in open {
            await gateway.stop()
            await journal.close()
        }
    }

    func widenLast(by count: Int64, in channel: ChannelName) async throws -> Bool { false }

    func remove() async {
        if gateways.count == 2 {
            do {
                try await eventually("both have applied the same") { [gateways] in
                    gateways[0].view.position == gateways[1].view.position
                }
                #expect(try gateways[0].view.dump() == gateways[1].view.dump())
            } catch {
                Issue.record(error)
            }
        }
        await close()
        server.kill()
        folder.remove()
    }
}

/// The time at which an entry was first seen, by the test's clock.
final class Stamps: Sendable {
    private let known = Mutex<[Int64: WallTime]>([:])

    func stamped(_ entry: StoredEntry, by clock: any Timekeeper) -> StoredEntry {
        var entry = entry
        entry.stamp = known.withLock { known in
            let stamp = known[entry.sequence] ?? clock.wall()
            known[entry.sequence] = stamp
            return stamp
        }
        return entry
    }
}

/// A journal whose entries have the test's times instead of the server's.
struct RestampedJournal: ClusterJournal {
    let journal: NatsJournal
    let stamps: Stamps
    let clock: any Timekeeper

    var epoch: Epoch { journal.epoch }

    func send(_ bytes: [UInt8]) async { await journal.send(bytes) }

    func follow(_ heard: @escaping @Sendable (StoredEntry?) -> Void) {
        journal.follow { heard($0.map { stamps.stamped($0, by: clock) }) }
    }

    func read(after sequence: Int64) async throws -> (entries: [StoredEntry], last: Int64) {
        let found = try await journal.read(after: sequence)
        return (found.entries.map { stamps.stamped($0, by: clock) }, found.last)
    }

    func status() async throws -> JournalStatus { try await journal.status() }

    var connectionNumber: UInt64? { journal.connectionNumber }
    var skipped: Set<SkippedEntry> { journal.skipped }

    func close() async { await journal.close() }
}
