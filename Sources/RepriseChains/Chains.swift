public import Foundation
package import Logging
public import RepriseCore
package import RepriseJournal

/// The chains feature: durable work in steps, continued after a kill.
///
/// `RepriseClient` makes one for each account.
///
/// ```swift
/// // durable when it returns
/// let id = try await client.chains.start(importPhotos, input: .init(folder: folder))
/// for await progress in try await client.chains.progress(of: id) { bar.show(progress) }
/// ```
public final class Chains: Sendable {
    let journal: Journal
    let configuration: Configuration
    let engine: ChainsEngine
    /// The background scheduler; set by `run`.
    let slots = SlotRequests()
    let room = ChainCapacity()

    /// Options of chains.
    public struct Configuration: Sendable {
        /// The definitions of all chains.
        public var chains: [any ChainDefinition] = []
        /// The workers of all tasks, one for each identifier.
        public var workers: [any Worker] = []
        /// The most tasks that run at the same time; 1 to 64.
        public var concurrency = 8
        /// How long a chain stays after its end.
        public var retention: Duration = .seconds(7 * 86_400)
        /// How long a cancelled worker may take before it is abandoned, when its chain was
        /// cancelled or has failed.
        public var cancelGrace: Duration = .seconds(10)
        /// How long one attempt to take an effect back may take before it counts as failed.
        public var compensationDeadline: Duration = .seconds(600)
        /// How long the client's `run()` waits for workers when it ends.
        public var stopGrace: Duration = .seconds(1)
        /// No task starts within this time before the end of granted background time.
        public var margin: Duration = .seconds(2)
        /// The name of the request for time in the background.
        public var slotID = "reprise.chains"

        package var logger = Logger.silent
        /// The clocks; a test sets a `ManualClock` of RepriseTesting.
        public var timekeeper: any Timekeeper = SystemTimekeeper()
        /// Draws from 0..<1.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }
        /// The zone of schedules that have the device's; called when a time comes, and when the app
        /// begins, comes to the foreground or gets time in the background.
        public var zone: @Sendable () -> TimeZone = { DeviceZone.now }

        /// - Parameters:
        ///   - workers: perform the tasks.
        ///   - chains: the definitions of all chains that the app starts, or may have started.
        public init(workers: [any Worker] = [], chains: [any ChainDefinition] = []) {
            (self.workers, self.chains) = (workers, chains)
        }

        /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, `.duplicateChain`.
        package func check() throws {
            guard (1...ChainsLimits.concurrency).contains(concurrency) else {
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

    /// The kinds of entries that this feature records, for `Journal.open`.
    package static func kinds(_ configuration: Configuration = Configuration()) -> [EntryKind] {
        [
            EntryKind(
                kind, requires: [readiness, budgetReadiness], attemptLimit: .max,
                backoff: Backoff(base: .milliseconds(250), longest: .seconds(30)),
                // A chain that moves into an account at sign-in writes its intents again.
                beforeSignIn: .expire, parallel: configuration.concurrency),
            EntryKind(
                commandKind, requires: [readiness], attemptLimit: .max,
                backoff: Backoff(base: .milliseconds(250), longest: .seconds(30)), parallel: 64),
        ]
    }

    /// The kind of entry for one task that should run.
    package static let kind = "chains"
    /// The kind of entry for a command to a chain.
    package static let commandKind = "chains-command"
    /// The engine runs.
    package static let readiness = Readiness("chains")
    /// Tasks may start.
    package static let budgetReadiness = Readiness("chains.time")

    /// Makes the feature over a journal that was opened with ``kinds(_:)`` and ``schema``.
    package init(journal: Journal, configuration: Configuration = Configuration()) {
        self.journal = journal
        self.configuration = configuration
        engine = ChainsEngine(journal: journal, configuration: configuration)
    }

    // MARK: Running

    /// Runs chains until the task is cancelled.
    ///
    /// Running tasks are cancelled then, and run again with the next call.
    ///
    /// - Parameters:
    ///   - conditions: the device's conditions; nil: always met.
    ///   - scheduler: grants background time; nil: chains run only while the app does.
    ///   - notifications: shows the chains whose definitions say how; nil: none.
    /// - Throws: ``RepriseCore/RepriseError`` `.ownershipLost`, `.closed`; `.badConfiguration` if
    ///   it runs already. Cancellation is no error.
    package func run(
        conditions: (any DeviceStatus)? = nil, scheduler: (any BackgroundScheduler)? = nil,
        notifications: (any UserNotifications)? = nil
    ) async throws {
        slots.set(scheduler)
        await setGate()
        let showing = notifications.map { system in
            Task { [engine] in await engine.notifications.run(system) }
        }
        let result: Result<Void, any Error>
        do { result = .success(try await engine.run(conditions)) } catch {
            result = .failure(error)
        }
        showing?.cancel()
        await showing?.value
        try result.get()
    }
}
