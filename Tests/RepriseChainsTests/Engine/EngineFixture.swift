import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// Says what it is told to.
struct Say: Worker {
    struct Input: Codable, Sendable {
        var line: String
        /// How often it fails before.
        var failures = 0
        var isPermanent = false
        /// Waits until it is told to stop.
        var hangs = false
        /// Does not listen when it is told to stop.
        var isDeaf = false
        var bytes = 0
    }

    static let identifier = "say"
    let checker: Seen<String>

    func run(_ input: Input, _ work: WorkContext) async throws -> String {
        checker.add("\(input.line) \(work.attempt)")
        if input.isPermanent { throw DispatchFailure.permanent("No.") }
        if work.attempt <= input.failures { throw RepriseError(.unreachable, "Not yet.") }
        if input.isDeaf {
            // For longer than a test waits.
            try? await Task.detached { try await Task.sleep(for: .seconds(60)) }.value
        }
        if input.hangs { try await Task.sleep(for: .seconds(600)) }
        return input.line + String(repeating: "x", count: input.bytes)
    }
}

/// A journal with chains in a folder of its own.
final class EngineFixture: Sendable {
    let folder: TemporaryFolder
    let time: ManualClock?
    let checker = Seen<String>()
    private let current = Mutex<(journal: Journal, chains: Chains, run: Task<Void, any Error>)?>(
        nil)

    init(manualTime: Bool = false) throws {
        folder = try TemporaryFolder()
        time = manualTime ? ManualClock() : nil
    }

    /// Opens the journal and runs.
    @discardableResult
    func open(
        _ definitions: [any ChainDefinition], workers: [any Worker]? = nil,
        conditions: (any DeviceStatus)? = nil, scheduler: (any BackgroundScheduler)? = nil,
        notifications: (any UserNotifications)? = nil,
        others: [EntryKind] = [], runs: Bool = true,
        _ change: (inout Chains.Configuration) -> Void = { _ in },
        journal limits: (inout Journal.Configuration) -> Void = { _ in }
    ) async throws -> Chains {
        var configuration = Chains.Configuration()
        configuration.chains = definitions
        configuration.workers = workers ?? [Say(checker: checker)]
        configuration.jitter = { 0 }
        configuration.stopGrace = .milliseconds(200)
        var settings = Journal.Configuration()
        settings.closeGrace = .zero
        if let time {
            configuration.timekeeper = time
            settings.timekeeper = time
        }
        change(&configuration)
        limits(&settings)
        let journal = try await Journal.open(
            at: folder.url, kinds: Chains.kinds(configuration) + others,
            schemas: [Chains.schema], configuration: settings)
        let chains = Chains(journal: journal, configuration: configuration)
        let run = Task {
            guard runs else { return }
            try await chains.run(
                conditions: conditions, scheduler: scheduler, notifications: notifications)
        }
        current.withLock { $0 = (journal, chains, run) }
        return chains
    }

    var journal: Journal? { current.withLock { $0?.journal } }

    func close() async {
        guard let (journal, _, run) = current.withLock({ $0.take() }) else { return }
        run.cancel()
        _ = await run.result
        await journal.close()
    }

    /// The database as another program sees it.
    func sqlite(_ sql: String) throws { try Self.sqlite(sql, folder) }
}

extension Chains {
    /// Waits until a chain is in a state.
    func wait(
        _ id: ChainID, for state: ChainState, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await eventually("the chain is \(state)", sourceLocation: sourceLocation) {
            try await status(id)?.state == state
        }
    }
}
