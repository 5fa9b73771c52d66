import GRDB
import RepriseCore
import RepriseJournal

/// Starts the runs of schedules when they are due, removes schedules, and corrects their times.
actor ChainScheduler {
    private let journal: Journal
    private let configuration: Chains.Configuration
    private let definitions: [String: any ChainDefinition]
    private let registry: WorkerRegistry?
    private let loop: FeatureLoop<ChainsEvent>
    private let changes: ConditionVariable
    /// Reviews again what could not be written, after so many failures.
    private let again: Alarm
    private var failures = 0

    init(
        _ journal: Journal, _ configuration: Chains.Configuration,
        _ definitions: [String: any ChainDefinition], _ registry: WorkerRegistry?,
        _ loop: FeatureLoop<ChainsEvent>, _ changes: ConditionVariable
    ) {
        (self.journal, self.configuration, self.loop) = (journal, configuration, loop)
        (self.definitions, self.registry, self.changes) = (definitions, registry, changes)
        again = Alarm(configuration.timekeeper)
    }

    /// Ends an entry, with what is written in the same transaction.
    ///
    /// A slot waits until nothing is left to do, perhaps until the time that changes here.
    private func end(
        _ delivery: EntryDelivery, as ending: EntryDelivery.Ending,
        alongside: (@Sendable (Database) throws -> Void)? = nil
    ) {
        delivery.end(
            as: ending, alongside: alongside, written: { [changes] in changes.notifyAll() })
    }

    /// The time of a schedule has come.
    func cameDue(_ name: String?, _ delivery: EntryDelivery) async throws {
        guard let name, let row = try await journal.read({ try ScheduleRow.read(name, $0) }),
            row.entry == delivery.entry.id.text
        else {
            return end(
                delivery, as: .ended(.superseded, reason: "Its schedule waits for another time."))
        }
        let run: Result<NewChain, any Error> = Result {
            try row.newRun(definitions[row.definition]) { [registry] in registry?[$0] != nil }
        }
        // The zone is asked for by each try to write it: between two the device may have travelled.
        end(delivery, as: .applied) { [journal, zone = configuration.zone] db in
            try ChainSchedules.came(delivery.entry.id, of: name, run, in: zone(), db, journal)
        }
    }

    /// A tool has asked for the removal of a schedule.
    func unschedule(_ name: String?, _ delivery: EntryDelivery) async throws {
        guard let name else {
            return end(
                delivery,
                as: .failed(DispatchFailure.permanent("malformed: It names no schedule.")))
        }
        guard try await journal.read({ try ScheduleRow.read(name, $0) }) != nil else {
            return end(delivery, as: .ended(.superseded, reason: "No schedule has this name."))
        }
        end(delivery, as: .applied) { [journal] db in
            _ = try ChainSchedules.remove(name, db, journal)
        }
    }

    /// The calendar, the zone or the app may have changed.
    func review() async throws {
        guard try await journal.read({ try ChainSchedules.isAny($0) }) else { return }
        let zone = configuration.zone()
        try await journal.write { [journal] db in
            try ChainSchedules.review(in: zone, db, journal)
        }
    }

    /// As ``review()``; what cannot be written is tried again, as long as chains run.
    func reviewUntilWritten() async {
        again.cancel()
        do {
            try await review()
            failures = 0
        } catch {
            loop.note(error)
            failures += 1
            let wait = ChainsLimits.reviewBackoff.delay(
                failures: failures, jitter: configuration.jitter())
            again.set(configuration.timekeeper.uptime() + wait) { [loop] in
                loop.mailbox.put(.review)
            }
        }
    }

    /// Chains run no more.
    nonisolated func stop() { again.cancel() }
}
