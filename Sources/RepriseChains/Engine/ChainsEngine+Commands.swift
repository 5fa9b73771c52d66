import Foundation
import GRDB
import RepriseCore
import RepriseJournal

/// Commands: of the app, of a tool through the spool, and of the engine to itself.
extension ChainsEngine {
    func obey(_ delivery: EntryDelivery) async {
        guard let command = try? ChainCommand(delivery.entry.payload) else {
            return delivery.end(DispatchFailure.permanent("malformed: It is no command."))
        }
        do {
            let seq = try await journal.read { try ChainReading.seq(of: command.chain, $0) }
            guard let seq, let chain = try await chainOrQuarantine(seq, delivery) else {
                return delivery.end(DispatchFailure.permanent("No chain has this id."))
            }
            if let name = chain.nameWanted(for: command.command),
                try await isTaken(name, chain)
            {
                let reason = "Another chain of its name goes on."
                return delivery.end(
                    as: .ended(command.command == .begin ? .superseded : .dead, reason: reason))
            }
            await carryOut(.obey(command, chain, facts), delivery)
        } catch {
            loop.note(error)
            delivery.end(DispatchFailure.notReady("The chain cannot be read: \(error)"))
        }
    }

    private func isTaken(_ name: String, _ chain: LiveChain) async throws -> Bool {
        let seq = chain.row.seq
        let others = try await journal.read {
            try ChainReading.goingOn(named: name, but: seq, $0)
        }
        return chain.isTaken(name, by: others, live)
    }

    private func chainOrQuarantine(_ seq: Int64, _ delivery: EntryDelivery) async throws
        -> LiveChain?
    {
        do {
            return try await chain(seq)
        } catch let error as ChainRow.Broken {
            quarantine(seq, error.description, delivery)
            return nil
        }
    }

    // MARK: Waits

    func heard(_ news: JournalEvent) async {
        switch news {
        case .opened(let readiness):
            await release(where: "t.hold = ?", ["readiness:\(readiness.name)"])
        case .closed, .lost: break
        case .recorded(let newest):
            for (kind, seq) in newest where awaited.contains(kind) {
                await release(where: "t.hold = ? AND t.after < ?", ["entry:\(kind)", seq])
            }
        case .calendarMoved: await readDeadlines(of: Array(live.keys))
        }
    }

    /// The rows have moved with the calendar: reads their deadlines into memory.
    func readDeadlines(of chains: [Int64]) async {
        do {
            let found = try await journal.read { db in
                try chains.map { try ChainReading.deadlines($0, db) }
            }
            for (seq, deadlines) in zip(chains, found) { live[seq]?.calendarSet(deadlines) }
        } catch {
            loop.note(error)
        }
    }

    func changed(_ conditions: DeviceConditions) async {
        self.conditions = conditions
        for key in Array(running.keys) {
            guard let chain = live[key.chain], !chain.row.constraints.areMet(by: conditions) else {
                continue
            }
            stop(key, .conditions)
        }
        await release(
            where: "t.hold = 'conditions' AND c.needs & ? = 0 AND c.needsBytes <= ?",
            [ChainConstraints.missing(conditions), conditions.freeBytes])
    }

    /// Releases held tasks a page at a time, so that ten thousand waiting chains do not fill the
    /// memory.
    func release(where condition: String, _ arguments: StatementArguments) async {
        do {
            while true {
                let count = try await journal.write { [journal] db in
                    try ChainReleases.page(where: condition, arguments, journal, db)
                }
                guard count == 500 else { return }
            }
        } catch {
            loop.note(error)
        }
    }

    /// Releases a wait of a chain in memory whose event came before its row.
    func release(_ id: String, _ task: String) async {
        do {
            try await journal.write { [journal] db in
                try ChainReleases.record(id, task, journal, db)
            }
        } catch {
            loop.note(error)
        }
    }

    /// Applies changes from before this run: conditions, entries, a newer version of the app,
    /// finished tasks.
    func lookAround() async throws {
        let holds = try await journal.read { try ChainReleases.holds($0) }
        for hold in holds {
            if hold.hasPrefix("readiness:") {
                let name = String(hold.dropFirst("readiness:".count))
                if journal.isOpen(Readiness(name)) {
                    await heard(.opened(Readiness(name)))
                }
            } else if hold.hasPrefix("entry:") {
                let kind = String(hold.dropFirst("entry:".count))
                awaited.insert(kind)
                let newest = try await journal.read { db in
                    try Int64.fetchOne(
                        db, sql: "SELECT MAX(seq) FROM entry WHERE kind = ?", arguments: [kind])
                }
                if let newest { await heard(.recorded([kind: newest])) }
            } else if hold == "conditions" {
                await changed(conditions)
            }
        }
        try await journal.write { [journal] db in try ChainReleases.lookAgain(journal, db) }
    }
}
