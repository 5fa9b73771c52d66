import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// Two gateways of one cluster.
protocol GatewaysUnderTest: LogUnderTestStore {
    var folder: TemporaryFolder { get }
    var gateways: [ClusterStore.Gateway] { get }
    func close() async
}

/// Two gateways over one faulty journal: what one stores the other must have too.
final class ClusterStore: GatewaysUnderTest {
    /// A gateway's view, and what brings it on.
    final class Gateway: Sendable {
        let view: ClusterView
        let replica: ClusterReplica
        let log: ClusterLog
        let accounts: Accounts
        private let task: Task<Void, any Error>

        init(
            at path: String, journal: any ClusterJournal, clock: any Timekeeper,
            _ configuration: ClusterView.Configuration
        ) throws {
            view = try ClusterView.open(at: path, epoch: journal.epoch, configuration)
            let replica = ClusterReplica(view: view, journal: journal, clock: WallOf(clock))
            self.replica = replica
            let accounts = Accounts(view) { try await replica.submit($0) }
            self.accounts = accounts
            log = ClusterLog(view) { try await replica.submit($0) }
            task = Task { try await replica.run { entry, _ in accounts.applied(entry) } }
        }

        /// How ``ClusterReplica/run(_:)`` ended, once it is told to.
        @discardableResult
        func stop() async -> (any Error)? {
            task.cancel()
            let result = await task.result
            await view.close()
            if case .failure(let error) = result { return error }
            return nil
        }

        func ended() async -> (any Error)? {
            if case .failure(let error) = await task.result { return error }
            return nil
        }
    }

    static let faults = FaultyJournal.Faults(
        lost: 1, doubled: 20, late: 20, longest: .milliseconds(20), clock: .zero)

    let journal: MemoryJournal
    let folder: TemporaryFolder
    private let clock: ManualClock
    private let open = Mutex<[Gateway]>([])
    private let configuration: ClusterView.Configuration

    static var configuration: ClusterView.Configuration {
        var configuration = ClusterView.Configuration()
        configuration.implicitChannels = true
        return configuration
    }

    init(
        clock: ManualClock = ManualClock(), seed: UInt64 = 1,
        faults: FaultyJournal.Faults = ClusterStore.faults,
        _ configuration: ClusterView.Configuration = ClusterStore.configuration
    ) throws {
        self.clock = clock
        self.configuration = configuration
        folder = try TemporaryFolder()
        journal = MemoryJournal(seed: seed, readers: 2, stamps: clock, faults: faults)
    }

    var gateways: [Gateway] { open.withLock { $0 } }

    var log: any MessageLog { gateways[0].log }

    func path(_ index: Int) -> String { folder.path + "/\(index)" }

    func reopen() async throws {
        await close()
        let gateways = try (0..<2).map { try open($0) }
        open.withLock { $0 = gateways }
    }

    /// Another one, for the test to stop.
    func open(_ index: Int) throws -> Gateway {
        try Gateway(
            at: path(index), journal: journal, clock: clock, configuration)
    }

    /// Lets the journal's time go on.
    func advance(by duration: Duration) { clock.advance(by: duration) }

    func close() async {
        let gateways = open.withLock { open in
            defer { open = [] }
            return open
        }
        for gateway in gateways { await gateway.stop() }
    }

    func widenLast(by count: Int64, in channel: ChannelName) async throws -> Bool { false }

    /// Moves a channel's last message on in both views, as no journal does.
    func widenInViews(by count: Int64, in channel: ChannelName) async throws {
        try await expectEqual()
        await close()
        for index in 0..<2 {
            try ClosedLog.widenLast(by: count, in: channel, at: path(index) + "/view.sqlite")
        }
        try await reopen()
    }

    /// Waits until both have applied all that the journal holds, and compares them.
    func expectEqual(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        var dumps: [[String]] = []
        try await eventually("both have applied everything") {
            // An entry may come while they are read.
            let last = Int64(journal.entries.count)
            let areThere = { [self] in
                gateways.allSatisfy { $0.view.position.sequence == last }
            }
            guard areThere() else { return false }
            dumps = try gateways.map { try $0.view.dump() }
            return areThere()
        }
        #expect(dumps[0] == dumps[1], sourceLocation: sourceLocation)
    }

    func remove() async {
        if gateways.count == 2 {
            do { try await expectEqual() } catch { Issue.record(error) }
        }
        await close()
        journal.close()
        folder.remove()
    }
}
