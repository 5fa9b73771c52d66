import GRDB
import RepriseChains
import RepriseCore
import RepriseJournal

/// In virtual time what `ChainScheduler` is in real time: the shipping rows decide.
final class SimulatedScheduler {
    /// Called when it is time to review again what could not be written.
    var mustReview: () -> Void = {}
    private let simulation: Simulation
    private let app: SimulatedChainsApp
    private let journal: SimulatedJournal
    private var reviews: FailedReviews

    private var process: SimulatedProcess { app.process }
    private var checker: ChainsChecker { app.device.checker }
    private var mutation: Mutation? { simulation.mutation }

    init(_ simulation: Simulation, _ app: SimulatedChainsApp, _ journal: SimulatedJournal) {
        (self.simulation, self.app, self.journal) = (simulation, app, journal)
        reviews = FailedReviews(
            simulation.random("reviews of \(app.process.name) \(app.process.life)"))
    }

    /// The time of a schedule has come, perhaps.
    func cameDue(_ name: String?, _ delivery: SimulatedDelivery) {
        let ending = EntryDelivery.Ending.ended(
            .superseded, reason: "Its schedule waits for another time.")
        guard let schedules = app.device.schedules, let name else {
            return delivery.end(ending, nil)
        }
        schedules.runBegins(in: process)
        do {
            let found = try journal.read { try ScheduleRow.read(name, shipping($0).db) }
            guard let row = found, row.entry == delivery.entry.id.text else {
                return delivery.end(ending, nil)
            }
            let run: Result<NewChain, any Error> = Result {
                try row.newRun(app.definition, id: schedules.newRun()) { app.workers.contains($0) }
            }
            let command = Command(row: row, entry: delivery.entry.id, run: run)
            if mutation == .chainRunApart, case .success(let chain) = run,
                let next = row.next, next <= process.clock.wall()
            {
                return startApart(chain, command, delivery)
            }
            end(delivery, command)
        } catch {
            checker.violated(.recorded, "a schedule cannot be read: \(error)")
        }
    }

    /// The command of a schedule, with the run that it may begin.
    private struct Command {
        let row: ScheduleRow
        let entry: EntryID
        let run: Result<NewChain, any Error>
    }

    /// `started`: the mutation `chainRunApart` has begun this run.
    private func end(_ delivery: SimulatedDelivery, _ command: Command, started: String? = nil) {
        guard let schedules = app.device.schedules else { return }
        let (checks, mutation, chains) = (schedules.checker, mutation, checker)
        let name = command.row.name
        delivery.end(.applied) { transaction in
            let shipping = try shipping(transaction)
            let before = try Counted.read(name, shipping.db)
            try ChainSchedules.came(
                command.entry, of: name, command.run, in: schedules.zone, shipping.db,
                shipping.journal)
            let after = try Counted.read(name, shipping.db)
            if let started, let skipped = before?.skipped {
                try shipping.db.execute(
                    sql: """
                        UPDATE chainSchedule SET skipped = skipped - 1, run = ?
                        WHERE name = ? AND skipped > ?
                        """, arguments: [started, name, skipped])
            }
            if mutation == .chainClockReadingForgotten {
                try shipping.db.execute(
                    sql: "UPDATE chainSchedule SET last = NULL WHERE name = ?", arguments: [name])
            }
            if mutation == .chainTimeUnchecked, before == after,
                case .success(let chain) = command.run
            {
                try chain.insert(shipping.db, shipping.journal, isOwed: true)
            }
            if case .success(let chain) = command.run,
                let seq = try ChainReading.seq(of: chain.id, shipping.db)
            {
                chains.touched.insert(seq)
            }
            checks.performed(.commanded(name))
        }
    }

    /// What a schedule's row says of its times.
    private struct Counted: Equatable {
        let run: String?
        let skipped: Int

        static func read(_ name: String, _ db: Database) throws -> Counted? {
            try Row.fetchOne(
                db, sql: "SELECT run, skipped FROM chainSchedule WHERE name = ?", arguments: [name]
            ).map { Counted(run: $0[0], skipped: $0[1]) }
        }
    }

    /// The mutation `chainRunApart`.
    private func startApart(
        _ chain: NewChain, _ command: Command, _ delivery: SimulatedDelivery
    ) {
        journal.write(
            { [checker] transaction -> Bool in
                let shipping = try shipping(transaction)
                let id = try chain.insert(shipping.db, shipping.journal, isOwed: true)
                if let seq = try ChainReading.seq(of: id, shipping.db) {
                    checker.touched.insert(seq)
                }
                return id == chain.id
            },
            then: { [self] (result: Result<Bool, any Error>) in
                let isStarted = (try? result.get()) ?? false
                end(delivery, command, started: isStarted ? chain.id : nil)
            })
    }

    /// The calendar, the zone or the app may have changed; `then` hears whether it is written.
    func reviewSchedules(then: @escaping (Bool) -> Void) {
        guard let schedules = app.device.schedules else { return then(true) }
        let zone = schedules.zone
        journal.write(
            { transaction in
                let shipping = try shipping(transaction)
                try ChainSchedules.review(in: zone, shipping.db, shipping.journal)
            },
            then: { (result: Result<Void, any Error>) in
                if case .success = result { then(true) } else { then(false) }
            })
    }

    /// As ``reviewSchedules(then:)``; what cannot be written is tried again in this process.
    func lookAtSchedules(then: @escaping () -> Void = {}) {
        reviews.begins()
        reviewSchedules { [self] isWritten in
            if isWritten {
                reviews.succeeded()
            } else {
                let wait = reviews.failed()
                let number = reviews.number
                simulation.after(wait, on: process) { [self] in
                    if number == reviews.number { mustReview() }
                }
            }
            then()
        }
    }
}

/// Reviews that could not be written.
private struct FailedReviews {
    private var random: SeededRandom
    private var failures = 0
    /// Of the newest; the waits of former ones are over.
    private(set) var number = 0

    init(_ random: SeededRandom) { self.random = random }

    mutating func begins() { number += 1 }

    mutating func succeeded() { failures = 0 }

    /// - Returns: how long to wait.
    mutating func failed() -> Duration {
        failures += 1
        number += 1
        return ChainsLimits.reviewBackoff.delay(
            failures: failures, jitter: random.fraction())
    }
}
