public import RepriseCore
package import RepriseJournal

/// The door for chains: durable work in steps, which goes on where it was when the process died.
///
/// The facade makes one; see `Reprise`.
///
/// ```swift
/// let id = try await reprise.chains?.start(importPhotos, input: .init(folder: folder))  // durable when it returns
/// try await reprise.chains?.run()
/// ```
public final class Chains: Sendable {
    let journal: Journal
    let configuration: Configuration
    let engine: ChainsEngine
    /// Who gives time in the background; set by ``run(conditions:scheduler:)``.
    let slots = SlotRequests()
    let room = ChainRoom()

    /// What can be set about chains.
    public struct Configuration: Sendable {
        /// The definitions by which chains are started, and go on.
        public var chains: [any ChainDefinition] = []
        /// Who does the work.
        public var workers: [any Worker] = []
        /// The most tasks that run at the same time; 1 to 64.
        public var concurrency = 8
        /// How long a chain stays after its end.
        public var retention: Duration = .seconds(7 * 86_400)
        /// How long a worker that was told to stop may take before it is given up, when its chain
        /// was cancelled or has failed.
        public var cancelGrace: Duration = .seconds(10)
        /// How long one attempt to take an effect back may take before it counts as failed.
        public var undoDeadline: Duration = .seconds(600)
        /// How long ``Chains/run(conditions:scheduler:)`` waits for workers when it ends.
        public var stopGrace: Duration = .seconds(1)
        /// So long before the end of the time that the system gives, no task is started any more.
        public var margin: Duration = .seconds(2)
        /// The name of the request for time in the background.
        public var slotID = "reprise.chains"

        package var timekeeper: any Timekeeper = SystemTimekeeper()
        /// Draws from 0..<1.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }

        /// The defaults.
        public init() {}

        /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, `.duplicateChain`.
        package func check() throws {
            guard (1...64).contains(concurrency) else {
                throw RepriseError(.badConfiguration, "Between 1 and 64 tasks run at a time.")
            }
            _ = try WorkerRegistry(workers)
            var names: Set<String> = []
            for chain in chains {
                guard (1...ChainsLimits.nameBytes).contains(chain.name.utf8.count) else {
                    throw RepriseError(
                        .badConfiguration, "“\(chain.name.prefix(80))” is no name of a chain.",
                        remedy: "Names have 1 to \(ChainsLimits.nameBytes) bytes.")
                }
                guard names.insert(chain.name).inserted else {
                    throw RepriseError(
                        .duplicateChain, "Two chains are named \(chain.name).",
                        remedy: "Give each definition a name of its own.")
                }
            }
        }
    }

    /// The kinds of entries that this door records, for `Journal.open`.
    package static func kinds(_ configuration: Configuration = Configuration()) -> [EntryKind] {
        [
            EntryKind(
                kind, requires: [readiness, budgetReadiness], attemptLimit: .max,
                backoff: Backoff(base: .milliseconds(250), longest: .seconds(30)),
                // A chain that goes along with a sign-in writes its intents anew.
                beforeSignIn: .expire, parallel: configuration.concurrency),
            EntryKind(
                commandKind, requires: [readiness], attemptLimit: .max,
                backoff: Backoff(base: .milliseconds(250), longest: .seconds(30)), parallel: 64),
        ]
    }

    /// The kind of entry that stands for one task that should run.
    package static let kind = "chains"
    /// The kind of entry that says what is to be done about a chain.
    package static let commandKind = "chains-command"
    /// The engine runs.
    package static let readiness = Readiness("chains")
    /// There is time to start tasks.
    package static let budgetReadiness = Readiness("chains.time")

    /// Makes the door over a journal that was opened with ``kinds(_:)`` and ``schema``.
    package init(journal: Journal, configuration: Configuration = Configuration()) {
        self.journal = journal
        self.configuration = configuration
        engine = ChainsEngine(journal: journal, configuration: configuration)
    }

    // MARK: Running

    /// Does what is to be done, until the task is cancelled.
    ///
    /// What runs then is told to stop, and comes again with the next run.
    ///
    /// - Parameters:
    ///   - conditions: says what the device has to offer; nil: it always offers everything.
    ///   - scheduler: gives time in the background; nil: chains run while the app does.
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`, `.closed`; `.badConfiguration` if
    ///   it runs already. Cancellation is no error.
    public func run(
        conditions: (any DeviceStatus)? = nil, scheduler: (any BackgroundScheduler)? = nil
    ) async throws {
        slots.set(scheduler)
        await setGate()
        try await engine.run(conditions)
    }
}
