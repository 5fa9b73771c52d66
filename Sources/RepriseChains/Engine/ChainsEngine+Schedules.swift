import RepriseCore
import RepriseJournal

/// Schedules: their commands, and corrections of their times.
extension ChainsEngine {
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
        delivery.end(
            as: .applied,
            alongside: { [journal, zone = configuration.zone] db in
                try ChainSchedules.came(delivery.entry.id, of: name, run, in: zone(), db, journal)
            },
            // A slot waits until nothing is left to do.
            written: { [budget] in budget.ring() })
    }

    /// A tool has asked for the removal of a schedule.
    func unschedule(_ name: String?, _ delivery: EntryDelivery) async throws {
        guard let name else {
            return fail(delivery, .permanent("malformed: It names no schedule."))
        }
        guard try await journal.read({ try ScheduleRow.read(name, $0) }) != nil else {
            return end(delivery, as: .ended(.superseded, reason: "No schedule has this name."))
        }
        delivery.end(
            as: .applied,
            alongside: { [journal] db in _ = try ChainSchedules.remove(name, db, journal) },
            // The time that a slot was asked for may be gone.
            written: { [budget] in budget.ring() })
    }

    /// The calendar, the zone or the app may have changed.
    nonisolated func reviewSchedules() async throws {
        guard try await journal.read({ try ChainSchedules.isAny($0) }) else { return }
        let zone = configuration.zone()
        try await journal.write { [journal] db in
            try ChainSchedules.review(in: zone, db, journal)
        }
    }

    /// As ``reviewSchedules()``; what cannot be written is tried again, as long as chains run.
    func lookAtSchedules() async {
        review.cancel()
        do {
            try await reviewSchedules()
            failedReviews = 0
        } catch {
            loop.note(error)
            failedReviews += 1
            let wait = ChainsLimits.reviewBackoff.delay(
                failures: failedReviews, jitter: configuration.jitter())
            review.set(clock.uptime() + wait) { [inbox] in inbox.put(.review) }
        }
    }
}
